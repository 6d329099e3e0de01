#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/datasets/pictures/picture.h"
#include "npzoo/engine/exception.h"
#include "tools/plot/cairo.h"
#include "tools/plot/canvas.h"
#include "tools/plot/plain_png.h"

// Tests of the Canvas without cairo, which pages in a browser use.
namespace npzoo::tools::plot {
namespace {

int count(std::string_view text, std::string_view part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST_CASE("svg canvas: an element for each call, and no broken number") {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  Canvas canvas("a.svg", 100, 50);
  const std::vector<Point> line{{0, 0}, {10, 10}, {kNaN, 5}, {20, 1e300}, {30, 0}};
  canvas.stroke(line, {.color = kBlack, .width = 2, .dashed = true});
  canvas.fill(std::span(line).first(2), Color{1, 0, 0}.with_alpha(0.25));
  canvas.clip({0, 0, 10, 10});
  canvas.circle({5, 5}, 2, kClear, {});
  canvas.circle({kNaN, 5}, 2, kClear, {});
  canvas.unclip();
  canvas.text({1, 2}, "a < b & \"c\"\n", {.align = Align::kRight, .bold = true, .upright = true});
  canvas.draw({2, 1, {kBlack, kWhite}}, {1, 2, 3, 4});
  const std::string svg = canvas.finish();
  CHECK(
      svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"50\" viewBox=\"0 0 100 50\""));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(svg.find("<path d=\"M0,0L10,10M20,100000L30,0\" fill=\"none\" stroke=\"rgb(0%,0%,0%)\" stroke-width=\"2\" "
                 "stroke-dasharray=\"7 4.4\"/>") != svg.npos);
  CHECK(svg.find("<polygon points=\"0,0 10,10 \" fill=\"rgb(100%,0%,0%)\" fill-opacity=\"0.25\"/>") != svg.npos);
  CHECK(svg.find("<g clip-path=\"url(#c0)\">\n<circle cx=\"5\" cy=\"5\" r=\"2\" fill=\"none\"") != svg.npos);
  CHECK(count(svg, "<circle") == 1);
  CHECK(svg.find("rotate(-90)") != svg.npos);
  CHECK(svg.find("text-anchor=\"end\" font-weight=\"bold\"") != svg.npos);
  CHECK(svg.find(">a &lt; b &amp; \"c\" </text>") != svg.npos);
  CHECK(svg.find("href=\"data:image/png;base64,iVBORw0KGgo") != svg.npos);
  CHECK(count(svg, "nan") == 0);
  CHECK(count(svg, "inf") == 0);
}

TEST_CASE("svg canvas: refuses a PNG and a page without a size") {
  CHECK_THROWS_WITH_AS(Canvas("a.png", 10, 10),
                       "[a.png] cannot be drawn: this build of npzoo has no cairo, expected .svg", Error);
  CHECK_THROWS_WITH_AS(Canvas("a.svg", 0, 10), "[a.svg] has a size of 0 by 10 units, expected 1 to 16000", Error);
}

TEST_CASE("svg canvas: texts are as wide as cairo's") {
  Canvas canvas("a.svg", 10, 10);
  cairo_surface_t* surface = cairo().image_surface_create(CAIRO_FORMAT_RGB24, 10, 10);
  cairo_t* context = cairo().create(surface);
  for (const bool bold : {false, true}) {
    cairo().select_font_face(context, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                             bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo().set_font_size(context, 1000);
    for (char c = ' '; c <= '~'; ++c) {
      cairo_text_extents_t extents;
      const std::string text(1, c);
      cairo().text_extents(context, text.c_str(), &extents);
      CAPTURE(text);
      CHECK(std::abs(canvas.text_width(text, {.size = 1000, .bold = bold}) - extents.x_advance) < 8);
    }
  }
  cairo().destroy(context);
  cairo().surface_destroy(surface);
  CHECK(canvas.text_width("aé", {.size = 100}) == doctest::Approx(61 + 62));
}

TEST_CASE("plain png: libpng reads the same pixels") {
  constexpr std::size_t kColumns = 301, kRows = 67;  // more bytes than one block has
  Image image{kColumns, kRows, {}};
  for (std::size_t i = 0; i < kColumns * kRows; ++i)
    image.pixels.push_back({static_cast<double>(i % 256) / 255, static_cast<double>(i / 256 % 256) / 255, 0.5, 1});
  const std::string file = plain_png(image);
  const Picture read = decode_picture({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, "plain", 3);
  REQUIRE(read.height == kRows);
  REQUIRE(read.width == kColumns);
  for (std::size_t i = 0; i < kColumns * kRows; ++i) {
    CHECK(read.bytes[3 * i] == i % 256);
    CHECK(read.bytes[3 * i + 1] == i / 256 % 256);
    CHECK(read.bytes[3 * i + 2] == 128);
  }
}

TEST_CASE("base64: the vectors of RFC 4648") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foob") == "Zm9vYg==");
  CHECK(base64("\xff\xfe\xfd") == "//79");
}

}  // namespace
}  // namespace npzoo::tools::plot
