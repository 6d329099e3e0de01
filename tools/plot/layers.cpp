#include "tools/plot/layers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "npzoo/engine/error.h"

namespace npzoo::tools::plot {

namespace {

Range y_extent_of(const Band& band) { return range_of({band.lower, band.upper}); }
Range y_extent_of(const Raster& raster) { return raster.grid.y; }
Range y_extent_of(const Picture& picture) { return picture.y; }
Range y_extent_of(const auto& line_or_points) { return range_of({line_or_points.y}); }

void check_length(const std::string& label, std::span<const double> x, std::span<const double> y) {
  check(y.size() == x.size(), "[plot] series \"{}\" has {} x and {} y values, expected as many", label, x.size(),
        y.size());
}

void check_lengths_of(const Band& band) {
  check_length(band.label, band.x, band.lower);
  check_length(band.label, band.x, band.upper);
}

void check_lengths_of(const Raster& raster) {
  const Grid& grid = raster.grid;
  check(raster.values.size() == grid.columns * grid.rows, "[plot] a grid of {} by {} cells has {} values, expected {}",
        grid.columns, grid.rows, raster.values.size(), grid.columns * grid.rows);
}

void check_lengths_of(const Picture& picture) {
  const Image& image = picture.image;
  check(image.pixels.size() == image.columns * image.rows, "[plot] an image of {} by {} pixels has {}, expected {}",
        image.columns, image.rows, image.pixels.size(), image.columns * image.rows);
}

void check_lengths_of(const auto& line_or_points) {
  check_length(line_or_points.label, line_or_points.x, line_or_points.y);
}

void draw_layer(Canvas& canvas, const Frame& frame, const Band& band) {
  const std::size_t count = band.x.size();
  const auto is_gap = [&](std::size_t i) { return !std::isfinite(band.x[i] + band.lower[i] + band.upper[i]); };
  std::vector<Point> outline;
  for (std::size_t begin = 0, end = 0; begin < count; begin = end + 1) {
    for (end = begin; end < count && !is_gap(end);) ++end;
    outline.clear();
    for (std::size_t i = begin; i < end; ++i) outline.push_back(frame.at(band.x[i], band.upper[i]));
    for (std::size_t i = end; i-- > begin;) outline.push_back(frame.at(band.x[i], band.lower[i]));
    canvas.fill(outline, band.color);
  }
}

void draw_layer(Canvas& canvas, const Frame& frame, const Line& line) {
  std::vector<Point> points(line.x.size());
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = frame.at(line.x[i], line.y[i]);
  canvas.stroke(points, {line.color, line.width, line.dashed});
}

void draw_marker(Canvas& canvas, Point at, const Markers& points) {
  canvas.circle(at, points.radius, points.color, {kWhite, 0.25 * points.radius});
}

void draw_layer(Canvas& canvas, const Frame& frame, const Markers& points) {
  for (std::size_t i = 0; i < points.x.size(); ++i) draw_marker(canvas, frame.at(points.x[i], points.y[i]), points);
}

/// Which of `count` cells holds each of `pixels` points spread evenly over `shown`; `count` where none does.
std::vector<std::size_t> cells_of_pixels(const Range& cells, std::size_t count, const Range& shown,
                                         std::size_t pixels) {
  std::vector<std::size_t> held(pixels, count);
  for (std::size_t i = 0; i < pixels; ++i) {
    const double value =
        shown.low + (shown.high - shown.low) * (static_cast<double>(i) + 0.5) / static_cast<double>(pixels);
    const double at = (value - cells.low) / (cells.high - cells.low) * static_cast<double>(count);
    if (at >= 0 && at < static_cast<double>(count)) held[i] = static_cast<std::size_t>(at);
  }
  return held;
}

// As an image of the panel, however many cells there are.
void draw_layer(Canvas& canvas, const Frame& frame, const Raster& raster) {
  constexpr double kPixels = 2;  // of a unit
  Image image{static_cast<std::size_t>(std::ceil(kPixels * frame.area.width)),
              static_cast<std::size_t>(std::ceil(kPixels * frame.area.height))};
  const auto columns = cells_of_pixels(raster.grid.x, raster.grid.columns, frame.x, image.columns);
  const auto rows = cells_of_pixels(raster.grid.y, raster.grid.rows, frame.y, image.rows);
  image.pixels.reserve(image.columns * image.rows);
  for (std::size_t i = image.rows; i-- > 0;) {
    for (const std::size_t column : columns) {
      const bool inside = rows[i] < raster.grid.rows && column < raster.grid.columns;
      const double value = inside ? raster.values[rows[i] * raster.grid.columns + column] : std::nan("");
      image.pixels.push_back(std::isfinite(value) ? raster.scale(value) : kClear);
    }
  }
  canvas.draw(image, frame.area);
}

void draw_layer(Canvas& canvas, const Frame& frame, const Picture& picture) {
  const Point from = frame.at(picture.x.low, picture.y.high), to = frame.at(picture.x.high, picture.y.low);
  canvas.draw(picture.image, {from.x, from.y, to.x - from.x, to.y - from.y});
}

void draw_swatch_of(Canvas& canvas, Point start, double width, const Band& band) {
  canvas.fill(Rectangle{start.x, start.y - 4.5, width, 9.0}, band.color);
}

void draw_swatch_of(Canvas& canvas, Point start, double width, const Line& line) {
  canvas.stroke(std::array{start, Point{start.x + width, start.y}}, {line.color, line.width, line.dashed});
}

void draw_swatch_of(Canvas& canvas, Point start, double width, const Markers& points) {
  draw_marker(canvas, {start.x + 0.5 * width, start.y}, points);
}

// A colour bar tells of them, or nothing needs to.
void draw_swatch_of(Canvas&, Point, double, const Raster&) {}
void draw_swatch_of(Canvas&, Point, double, const Picture&) {}

const std::string kNoLabel;
const std::string& label_of_layer(const Raster&) { return kNoLabel; }
const std::string& label_of_layer(const Picture&) { return kNoLabel; }
const std::string& label_of_layer(const auto& layer) { return layer.label; }

Range x_extent_of(const Raster& raster) { return raster.grid.x; }
Range x_extent_of(const Picture& picture) { return picture.x; }
Range x_extent_of(const auto& layer) { return range_of({layer.x}); }

}  // namespace

Range x_extent(const Layer& layer) {
  return std::visit([](const auto& l) { return x_extent_of(l); }, layer);
}

Range y_extent(const Layer& layer) {
  return std::visit([](const auto& l) { return y_extent_of(l); }, layer);
}

const std::string& label_of(const Layer& layer) {
  return std::visit([](const auto& l) -> const std::string& { return label_of_layer(l); }, layer);
}

void check_lengths(const Layer& layer) {
  std::visit([](const auto& l) { check_lengths_of(l); }, layer);
}

void draw(Canvas& canvas, const Frame& frame, const Layer& layer) {
  std::visit([&](const auto& l) { draw_layer(canvas, frame, l); }, layer);
}

void draw_swatch(Canvas& canvas, Point start, double width, const Layer& layer) {
  std::visit([&](const auto& l) { draw_swatch_of(canvas, start, width, l); }, layer);
}

}  // namespace npzoo::tools::plot
