// Canvas without cairo, for pages in a browser. It writes SVG with texts as text.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "npzoo/engine/error.h"
#include "tools/plot/page.h"
#include "tools/plot/plain_png.h"

namespace npzoo::tools::plot {

namespace {

/// Widths of the characters from the space to ~ in hundredths of the size: DejaVu Sans, then its bold form. Verdana,
/// which systems without DejaVu have, is as wide.
constexpr std::array<std::array<std::uint8_t, 95>, 2> kWidths{
    {{32, 40, 46, 84, 64, 95, 78, 27, 39,  39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
      64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79,
      60, 79, 69, 63, 61, 73, 68, 99, 69,  61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63,
      63, 28, 28, 58, 28, 97, 63, 61, 63,  63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84},
     {35, 46, 52, 84, 70, 100, 87, 31,  46,  46, 52, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70,  70, 70,
      70, 70, 40, 40, 84, 84,  84, 58,  100, 77, 76, 73, 83, 68, 68, 82, 84, 37, 37, 77, 64, 100, 84, 85,
      73, 85, 77, 72, 68, 81,  77, 110, 77,  72, 73, 46, 37, 46, 84, 50, 50, 67, 72, 59, 72, 68,  44, 72,
      71, 34, 34, 67, 34, 104, 71, 69,  72,  72, 49, 60, 48, 71, 65, 92, 65, 65, 58, 71, 37, 71,  84}}};
constexpr int kUsualWidth = 62;  // of other characters

std::string coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string rgb(Color color) {
  const auto percent = [](double share) { return coordinate(100 * share) + "%"; };
  return fmt::format("rgb({},{},{})", percent(color.red), percent(color.green), percent(color.blue));
}

std::string filled(Color color) {
  const std::string opacity = color.alpha < 1 ? fmt::format(" fill-opacity=\"{}\"", coordinate(color.alpha)) : "";
  return color.alpha > 0 ? fmt::format(" fill=\"{}\"{}", rgb(color), opacity) : " fill=\"none\"";
}

std::string stroked(const Stroke& stroke) {
  if (!(stroke.width > 0) || !(stroke.color.alpha > 0)) return "";
  std::string text = fmt::format(" stroke=\"{}\" stroke-width=\"{}\"", rgb(stroke.color), coordinate(stroke.width));
  if (stroke.color.alpha < 1) text += fmt::format(" stroke-opacity=\"{}\"", coordinate(stroke.color.alpha));
  if (stroke.dashed)
    text += fmt::format(" stroke-dasharray=\"{} {}\"", coordinate(3.5 * stroke.width), coordinate(2.2 * stroke.width));
  return text;
}

std::string corners(const Rectangle& r) {
  return fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", coordinate(r.x), coordinate(r.y),
                     coordinate(std::max(r.width, 0.0)), coordinate(std::max(r.height, 0.0)));
}

/// Text as XML; characters that it must not have become spaces.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += ' ';
    else
      out += c;
  }
  return out;
}

}  // namespace

struct Canvas::Page {
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(bytes), format, std::forward<Args>(args)...);
    bytes += '\n';
  }

  std::string bytes{};
  int clips = 0;  // so far
};

Canvas::Canvas(const std::filesystem::path& path, double width, double height) : page_(new Page) {
  check(format_of(path) == Format::kSvg, "[{}] cannot be drawn: this build of npzoo has no cairo, expected .svg",
        path.string());
  check_page_size(path, width, height);
  page_->add(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"'DejaVu Sans', Verdana, sans-serif\" stroke-linejoin=\"round\">",
      coordinate(width), coordinate(height));
  fill(Rectangle{0, 0, width, height}, kWhite);
}

Canvas::~Canvas() = default;

void Canvas::fill(std::span<const Point> polygon, Color color) {
  std::string points;
  for (const Point& point : polygon)
    if (is_finite(point)) points += coordinate(bounded(point).x) + "," + coordinate(bounded(point).y) + " ";
  if (!points.empty()) page_->add("<polygon points=\"{}\"{}/>", points, filled(color));
}

void Canvas::fill(const Rectangle& rectangle, Color color) {
  page_->add("<rect {}{}/>", corners(rectangle), filled(color));
}

void Canvas::stroke(std::span<const Point> line, const Stroke& stroke) {
  std::string path;
  bool drawing = false;
  for (const Point& point : line) {
    if (is_finite(point))
      path += (drawing ? "L" : "M") + coordinate(bounded(point).x) + "," + coordinate(bounded(point).y);
    drawing = is_finite(point);
  }
  if (!path.empty()) page_->add("<path d=\"{}\" fill=\"none\"{}/>", path, stroked(stroke));
}

void Canvas::stroke(const Rectangle& rectangle, const Stroke& stroke) {
  page_->add("<rect {} fill=\"none\"{}/>", corners(rectangle), stroked(stroke));
}

void Canvas::circle(Point center, double radius, Color fill, const Stroke& outline) {
  if (!is_finite(center)) return;
  const Point at = bounded(center);
  page_->add("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{}{}/>", coordinate(at.x), coordinate(at.y), coordinate(radius),
             filled(fill), stroked(outline));
}

void Canvas::draw(const Image& image, const Rectangle& rectangle) {
  if (image.pixels.empty()) return;
  page_->add(
      "<image {} preserveAspectRatio=\"none\" image-rendering=\"pixelated\" "
      "href=\"data:image/png;base64,{}\"/>",
      corners(rectangle), base64(plain_png(image)));
}

double Canvas::text_width(const std::string& text, const TextStyle& style) {
  const auto& widths = kWidths[style.bold ? 1 : 0];
  int sum = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (' ' <= c && c <= '~')
      sum += widths[static_cast<std::size_t>(c - ' ')];
    else if ((byte & 0xC0) != 0x80)  // the first byte of a character
      sum += kUsualWidth;
  }
  return sum * style.size / 100;
}

void Canvas::text(Point at, const std::string& text, const TextStyle& style) {
  constexpr double kHalfOfCapital = 0.36;  // in text sizes
  const char* anchor = style.align == Align::kLeft ? "start" : style.align == Align::kCenter ? "middle" : "end";
  page_->add("<text transform=\"translate({},{}){}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\"{}{}>{}</text>",
             coordinate(at.x), coordinate(at.y), style.upright ? " rotate(-90)" : "",
             coordinate(kHalfOfCapital * style.size), coordinate(style.size), anchor,
             style.bold ? " font-weight=\"bold\"" : "", filled(style.color), escaped(text));
}

void Canvas::clip(const Rectangle& rectangle) {
  const int id = page_->clips++;
  page_->add("<clipPath id=\"c{0}\"><rect {1}/></clipPath><g clip-path=\"url(#c{0})\">", id, corners(rectangle));
}

void Canvas::unclip() { page_->add("</g>"); }

std::string Canvas::finish() {
  page_->add("</svg>");
  return std::move(page_->bytes);
}

}  // namespace npzoo::tools::plot
