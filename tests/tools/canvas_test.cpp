#include "tools/plot/canvas.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "npzoo/engine/io/file.h"
#include "tests/testing.h"
#include "tools/plot/band_panel.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::tools;
using namespace npzoo::testing;
using namespace npzoo::tools::plot;

namespace {

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

bool is_png(std::string_view file) { return file.starts_with("\x89PNG\r\n\x1a\n") && file.find("IEND") != file.npos; }

bool is_svg(std::string_view file) {
  const bool whole = file.starts_with("<?xml") && file.find("<svg ") != file.npos && file.ends_with("</svg>\n");
  return whole && file.find("nan") == file.npos && file.find("inf") == file.npos;
}

std::vector<std::string> labels(Range range, int count) {
  std::vector<std::string> result;
  for (const Tick& tick : nice_ticks(range, count)) result.push_back(tick.label);
  return result;
}

// Draws in both formats and checks that the files are whole.
void check_figure(const Figure& figure) {
  TemporaryDirectory directory;
  write_figure(figure, directory / "f.png");
  write_figure(figure, directory / "f.svg");
  CHECK(is_png(read_text(directory / "f.png")));
  CHECK(is_svg(read_text(directory / "f.svg")));
}

}  // namespace

TEST_CASE("ticks: dates at whole years, months, days and times of day") {
  using Labels = std::vector<std::string>;
  const auto dates = [](double low, double high, std::int64_t epoch, int count = 8) {
    Labels found;
    for (const Tick& tick : date_ticks({low, high}, {epoch}, count)) found.push_back(tick.label);
    return found;
  };
  constexpr std::int64_t kApril = 20'544;  // 2026-04-01
  CHECK(dates(0, 13.96, kApril) == Labels{"Apr 1", "Apr 3", "Apr 5", "Apr 7", "Apr 9", "Apr 11", "Apr 13"});
  CHECK(dates(0, 1, kApril, 5) == Labels{"Apr 1", "06:00", "12:00", "18:00", "Apr 2"});
  CHECK(dates(0.5, 0.5 + 40.0 / 1440, kApril, 5) == Labels{"12:00", "12:10", "12:20", "12:30", "12:40"});
  CHECK(dates(0.5, 0.5 + 70.0 / 86400, kApril, 3) == Labels{"12:00:00", "12:00:30", "12:01:00"});
  CHECK(dates(-31, 90, kApril, 5) == Labels{"Mar 2026", "Apr 2026", "May 2026", "Jun 2026"});
  CHECK(dates(0, 3652, 0, 6) == Labels{"1970", "1972", "1974", "1976", "1978", "1980"});
  CHECK(dates(-700'000, 2'900'000, 0, 4) == Labels{"5000"});
  for (const double width : {1.0 / 1440, 0.1, 3.0, 45.0, 400.0, 1e5})
    for (const int count : {2, 5, 8}) {
      const std::vector<Tick> ticks = date_ticks({0.3, 0.3 + width}, {kApril}, count);
      CHECK(std::ssize(ticks) <= count + 2);
      for (const Tick& tick : ticks) CHECK((tick.value >= 0.3 && tick.value <= 0.3 + width));
    }
  CHECK(dates(0, 1e-5, kApril, 4) == labels({0, 1e-5}, 4));  // shorter than a minute
  CHECK(dates(0, 1e7, kApril, 4).front() == "0");            // no year of four digits
  CHECK(date_ticks({1, 0}, {kApril}, 4).empty());
  CHECK(years_of({0, 13}, {kApril}, 8) == "2026");
  CHECK(years_of({-100, 13}, {kApril}, 4) == "");  // months say it
  CHECK(years_of({-95, -85}, {kApril}, 8) == "2025 to 2026");
}

TEST_CASE("canvas: the ending decides the format") {
  const auto drawn = [](const char* name) {
    Canvas canvas(name, 120.0, 80.5);
    canvas.text({10.0, 10.0}, "p(y|x) ± 2σ", {});
    return canvas.finish();
  };
  const std::string png = drawn("f.png");
  REQUIRE(is_png(png));
  CHECK(big_endian(png.substr(16)) == 240);
  CHECK(big_endian(png.substr(20)) == 161);
  const std::string svg = drawn("f.svg");
  REQUIRE(is_svg(svg));
  CHECK(svg.find("width=\"120px\" height=\"80.5px\"") != svg.npos);
}

TEST_CASE("canvas: errors") {
  CHECK(error_of([] { Canvas("f.pdf", 10.0, 10.0); }) == "[f.pdf] has the ending \".pdf\", expected .svg or .png");
  CHECK(error_of([] { Canvas("f", 10.0, 10.0); }) == "[f] has the ending \"\", expected .svg or .png");
  CHECK(error_of([] { Canvas("f.png", 10.0, 20000.0); }) ==
        "[f.png] has a size of 10 by 20000 units, expected 1 to 16000");
  CHECK(error_of([] { Canvas("f.png", kNaN, 10.0); }) == "[f.png] has a size of nan by 10 units, expected 1 to 16000");
  CHECK(error_of([&] {
          Canvas canvas("f.svg", 10.0, 10.0);
          canvas.text({}, "\xFF", {});
          canvas.finish();
        }) == "[f.svg] cannot draw: input string not valid UTF-8");
}

TEST_CASE("canvas: any coordinate is drawn or left out") {
  for (const Format format : {Format::kPng, Format::kSvg}) {
    Canvas canvas(format == Format::kPng ? "f.png" : "f.svg", 100.0, 100.0);
    const std::array points{Point{1.0, 1.0},      Point{kNaN, 2.0}, Point{3.0, 3.0},  Point{4.0, kInfinity},
                            Point{1e308, -1e308}, Point{5.0, 5.0},  Point{kNaN, kNaN}};
    canvas.stroke(points, {.color = kBlack, .dashed = true});
    canvas.stroke(std::span<const Point>(), {});
    canvas.fill(points, kBlack);
    canvas.fill(std::span<const Point>(), kBlack);
    for (const Point& point : points) canvas.circle(point, 2.0, kBlack, {});
    const std::string content = canvas.finish();
    CHECK((format == Format::kPng ? is_png(content) : is_svg(content)));
  }
}

TEST_CASE("canvas: images are in both formats, clear where they are") {
  const Image checks{2, 1, {{1, 0, 0}, kClear}};
  const auto drawn = [](const char* name, const Image& image) {
    Canvas canvas(name, 40.0, 20.0);
    canvas.draw(image, {0, 0, 40, 20});
    return canvas.finish();
  };
  const std::string png = drawn("f.png", checks), blank = drawn("f.png", {}), svg = drawn("f.svg", checks);
  CHECK(is_png(png));
  CHECK(png != blank);
  CHECK(drawn("f.png", {2, 1, {kClear, kClear}}) == blank);
  CHECK(is_svg(svg));
  CHECK(svg.find("data:image/png;base64") != svg.npos);
}

TEST_CASE("chart: ticks at 1, 2, 5") {
  using Labels = std::vector<std::string>;
  CHECK(labels({0.0, 1.0}, 5) == Labels{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"});
  CHECK(labels({-2.0, 2.0}, 4) == Labels{"−2", "−1", "0", "1", "2"});
  CHECK(labels({0.0, 97.0}, 5) == Labels{"0", "20", "40", "60", "80"});
  CHECK(labels({-0.003, 0.001}, 4) == Labels{"−0.003", "−0.002", "−0.001", "0.000", "0.001"});
  CHECK(labels({0.0, 3e7}, 3) == Labels{"0", "1e+07", "2e+07", "3e+07"});
  CHECK(labels({1e6, 1e6 + 1.0}, 2) == Labels{"1000000.0", "1000000.5", "1000001.0"});
  CHECK(labels({-1e-7, 1e-7}, 2) == Labels{"−1e−07", "0", "1e−07"});
  CHECK(labels({1.0, 1.0}, 5).empty());
  CHECK(labels({0.0, kNaN}, 5).empty());
  CHECK(labels({-1e308, 1e308}, 5).empty());
  CHECK(labels({0.0, 5e-324}, 5).empty());
}

TEST_CASE("chart: the number of ticks stays near the requested one") {
  for (const double low : {-1e9, -3.7, 0.0, 1e-12, 123456.0})
    for (double width = 1e-3; width < 1e12; width *= 1.7)
      for (const int count : {2, 5, 9}) {
        const auto ticks = nice_ticks({low, low + width}, count);
        CHECK(ticks.size() >= 1);
        CHECK(ticks.size() <= static_cast<std::size_t>(2 * count));
      }
}

TEST_CASE("chart: ordinary figures") {
  const std::vector<double> x{0.0, 1.0, 2.0};
  const Panel panel{.title = "TNP-D",
                    .x_label = "x",
                    .y_label = "y",
                    .layers = {Band{x, {0.0, 0.5, 0.2}, {1.0, 1.5, 0.9}, palette(0).with_alpha(0.2), "± 2σ"},
                               Line{.x = x, .y = {0.5, 1.0, 0.5}, .label = "mean"}, Markers{.x = {1.0}, .y = {1.0}}}};
  for (const LegendPlace place : {LegendPlace::kNone, LegendPlace::kBelow, LegendPlace::kInside})
    for (const int columns : {-1, 1, 2, 7})
      check_figure({.title = "GP", .columns = columns, .share_y = true, .legend = place, .panels = {panel, panel, {}}});
}

TEST_CASE("chart: data with gaps, without an extent, and none at all") {
  const std::vector<double> odd{kNaN, 1e308, -1e308, kInfinity, 1.0, -kInfinity, 2.0};
  for (const std::vector<double>& data : {odd, {}, {3.0}, {3.0, 3.0}, {kNaN, kNaN}, {1e99, -1e99}, {5e-324, 0.0}}) {
    const Panel panel{.layers = {Band{data, data, data}, Line{.x = data, .y = data}, Markers{.x = data, .y = data}}};
    check_figure({.panels = {panel}});
  }
}

TEST_CASE("band panel: sorted by x, with and without truth") {
  const BandPanel shown{.name = "m",
                        .x = {3, 1, 2},
                        .mean = {30, 10, 20},
                        .std = {3, 1, 2},
                        .context = {{2, 1}, {5, 6}},
                        .truth = {{1, 0}, {11, 12}}};
  const Panel panel = make_panel(shown);
  REQUIRE(panel.layers.size() == 4);
  const Band& band = std::get<Band>(panel.layers[0]);
  CHECK(band.x == std::vector<double>{1, 2, 3});
  CHECK(band.lower == std::vector<double>{8, 16, 24});
  CHECK(band.upper == std::vector<double>{12, 24, 36});
  CHECK(band.label == "m: mean ± 2σ");
  const Line &mean = std::get<Line>(panel.layers[1]), &truth = std::get<Line>(panel.layers[2]);
  CHECK(mean.x == band.x);
  CHECK(mean.y == std::vector<double>{10, 20, 30});
  CHECK(truth.x == std::vector<double>{0, 1});
  CHECK(truth.y == std::vector<double>{12, 11});
  CHECK(std::get<plot::Markers>(panel.layers[3]).y == std::vector<double>{5, 6});

  BandPanel sampled = shown;
  sampled.samples = {{31, 11, 21}, {29, 9, 19}};
  const Panel with_samples = make_panel(sampled);
  REQUIRE(with_samples.layers.size() == 6);
  for (int k = 0; k < 2; ++k) {
    const Line& sample = std::get<Line>(with_samples.layers[static_cast<std::size_t>(1 + k)]);
    CHECK(sample.x == band.x);
    CHECK(sample.y == (k == 0 ? std::vector<double>{11, 21, 31} : std::vector<double>{9, 19, 29}));
    CHECK(sample.width < mean.width);
    CHECK(sample.label == "m: samples");
  }
  CHECK(std::get<Line>(with_samples.layers[3]).y == mean.y);
  BandPanel unnamed = sampled;
  unnamed.name.clear();
  CHECK(std::get<Band>(make_panel(unnamed).layers[0]).label == "mean ± 2σ");
  CHECK(std::get<Line>(make_panel(unnamed).layers[1]).label == "samples");

  BandPanel without = shown;
  without.truth = {};
  CHECK(make_panel(without).layers.size() == 3);
  const BandPanel nothing{.name = "m", .x = {}, .mean = {}, .std = {}, .context = {}};
  check_figure({.panels = {panel, with_samples, make_panel(without), make_panel(nothing)}});
}

TEST_CASE("band panel: errors") {
  CHECK(error_of([] { make_panel({.name = "m", .x = {1}, .mean = {}, .std = {1}, .context = {}}); }) ==
        "[plot] m has 1 x and 0 means, expected as many");
  CHECK(error_of([] {
          make_panel({.name = "m", .x = {1}, .mean = {1}, .std = {1, 2}, .context = {}});
        }) == "[plot] m has 1 x and 2 standard deviations, expected as many");
  CHECK(error_of([] {
          make_panel({.name = "m", .x = {}, .mean = {}, .std = {}, .context = {}, .truth = {{1}, {}}});
        }) == "[plot] m has 1 x and 0 true values, expected as many");
  CHECK(error_of([] {
          make_panel({.name = "m", .x = {1}, .mean = {1}, .std = {1}, .samples = {{1}, {}}, .context = {}});
        }) == "[plot] m has 1 x and 0 sampled values, expected as many");
}

TEST_CASE("chart: errors") {
  TemporaryDirectory directory;
  const fs::path path = directory / "f.svg";
  const auto error_with = [&](const Panel& panel) {
    return error_of([&] { write_figure({.panels = {panel}}, path); });
  };
  CHECK(error_with({.layers = {Line{.x = {1.0}, .y = {}, .label = "mean"}}}) ==
        "[plot] series \"mean\" has 1 x and 0 y values, expected as many");
  CHECK(error_with({.layers = {Band{{1.0}, {1.0}, {1.0, 2.0}, kBlack, "band"}}}) ==
        "[plot] series \"band\" has 1 x and 2 y values, expected as many");
  CHECK(error_with({.layers = {Raster{{{0, 1}, {0, 1}, 2, 3}, {1, 2}, {}}}}) ==
        "[plot] a grid of 2 by 3 cells has 2 values, expected 6");
  CHECK(error_with({.bar = ColorBar{{{2, 2}}, ""}}) ==
        "[plot] axis from 2 to 2, expected finite ends in ascending order");
  CHECK(error_with({.x_range = Range{1.0, 1.0}}) == "[plot] axis from 1 to 1, expected finite ends in ascending order");
  CHECK(error_with({.y_range = Range{0.0, kNaN}}) ==
        "[plot] axis from 0 to nan, expected finite ends in ascending order");
  CHECK(error_of([&] { write_figure({}, path); }) ==
        fmt::format("[{}] is a figure without panels, expected at least one", path.string()));
  const fs::path lost = directory / "lost/f.svg";
  CHECK(error_of([&] { write_figure({.panels = {Panel{}}}, lost); }) ==
        fmt::format("[{}] cannot create a file in its directory: No such file or directory", lost.string()));
  CHECK(directory.count() == 0);
}
