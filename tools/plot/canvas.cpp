#include "tools/plot/canvas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <new>
#include <numbers>
#include <utility>

#include "npzoo/engine/error.h"
#include "tools/plot/cairo.h"

namespace npzoo::tools::plot {

namespace {

constexpr double kPixelsPerUnit = 2.0;
constexpr double kLargestSide = 16000.0;  // cairo's images end at 32767 pixels
constexpr double kFarAway = 1e5;          // cairo's fixed-point coordinates end at 2^23

bool is_finite(Point point) { return std::isfinite(point.x) && std::isfinite(point.y); }

Point bounded(Point point) {
  return {std::clamp(point.x, -kFarAway, kFarAway), std::clamp(point.y, -kFarAway, kFarAway)};
}

// Called through C code, which no exception may cross.
cairo_status_t append(void* bytes, const unsigned char* data, unsigned int length) noexcept {
  try {
    static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(data), length);
    return CAIRO_STATUS_SUCCESS;
  } catch (const std::bad_alloc&) {
    return CAIRO_STATUS_NO_MEMORY;
  }
}

cairo_surface_t* make_surface(Format format, std::string& bytes, double width, double height) {
  if (format == Format::kPng) {
    const auto pixels = [](double units) { return static_cast<int>(std::ceil(units * kPixelsPerUnit)); };
    return cairo().image_surface_create(CAIRO_FORMAT_RGB24, pixels(width), pixels(height));
  }
  cairo_surface_t* surface = cairo().svg_surface_create_for_stream(append, &bytes, width, height);
  cairo().svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PX);
  return surface;
}

void set_color(cairo_t* context, Color color) {
  cairo().set_source_rgba(context, color.red, color.green, color.blue, color.alpha);
}

/// As cairo's images hold it: eight bits each, colours multiplied by the opacity.
std::uint32_t argb(Color color) {
  const auto byte = [](double share) { return static_cast<std::uint32_t>(std::lround(255 * share)); };
  return byte(color.alpha) << 24 | byte(color.red * color.alpha) << 16 | byte(color.green * color.alpha) << 8 |
         byte(color.blue * color.alpha);
}

void check_status(cairo_status_t status, const std::filesystem::path& path) {
  check(status == CAIRO_STATUS_SUCCESS, "[{}] cannot draw: {}", path.string(), cairo().status_to_string(status));
}

}  // namespace

Format format_of(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  check(ending == ".svg" || ending == ".png", "[{}] has the ending \"{}\", expected .svg or .png", path.string(),
        ending);
  return ending == ".svg" ? Format::kSvg : Format::kPng;
}

Color palette(int index) {
  constexpr std::array<Color, 7> kColors{{{0.000, 0.447, 0.698},
                                          {0.835, 0.369, 0.000},
                                          {0.000, 0.620, 0.451},
                                          {0.800, 0.475, 0.655},
                                          {0.902, 0.624, 0.000},
                                          {0.337, 0.706, 0.914},
                                          {0.941, 0.894, 0.259}}};
  return kColors[static_cast<std::size_t>(index) % kColors.size()];
}

void Canvas::Release::operator()(cairo_t* context) const { cairo().destroy(context); }

void Canvas::Release::operator()(cairo_surface_t* surface) const { cairo().surface_destroy(surface); }

Canvas::Canvas(const std::filesystem::path& path, double width, double height) : path_(path), format_(format_of(path)) {
  const auto fits = [](double side) { return side >= 1.0 && side <= kLargestSide; };
  check(fits(width) && fits(height), "[{}] has a size of {} by {} units, expected 1 to {}", path.string(), width,
        height, kLargestSide);
  surface_.reset(make_surface(format_, bytes_, width, height));
  context_.reset(cairo().create(surface_.get()));
  check_status(cairo().status(context_.get()), path_);
  if (format_ == Format::kPng) cairo().scale(context_.get(), kPixelsPerUnit, kPixelsPerUnit);
  cairo().set_line_join(context_.get(), CAIRO_LINE_JOIN_ROUND);
  set_color(context_.get(), kWhite);
  cairo().paint(context_.get());
}

Canvas::~Canvas() = default;

void Canvas::fill(std::span<const Point> polygon, Color color) {
  for (const Point& point : polygon)
    if (is_finite(point)) cairo().line_to(context_.get(), bounded(point).x, bounded(point).y);
  set_color(context_.get(), color);
  cairo().fill(context_.get());
}

void Canvas::fill(const Rectangle& rectangle, Color color) {
  cairo().rectangle(context_.get(), rectangle.x, rectangle.y, rectangle.width, rectangle.height);
  set_color(context_.get(), color);
  cairo().fill(context_.get());
}

void Canvas::stroke(std::span<const Point> line, const Stroke& stroke) {
  for (const Point& point : line) {
    if (is_finite(point)) {
      cairo().line_to(context_.get(), bounded(point).x, bounded(point).y);
    } else {
      cairo().new_sub_path(context_.get());
    }
  }
  draw_path(stroke);
}

void Canvas::stroke(const Rectangle& rectangle, const Stroke& stroke) {
  cairo().rectangle(context_.get(), rectangle.x, rectangle.y, rectangle.width, rectangle.height);
  draw_path(stroke);
}

void Canvas::draw_path(const Stroke& stroke) {
  const double dashes[] = {3.5 * stroke.width, 2.2 * stroke.width};
  cairo().set_dash(context_.get(), dashes, stroke.dashed ? 2 : 0, 0.0);
  cairo().set_line_width(context_.get(), stroke.width);
  set_color(context_.get(), stroke.color);
  cairo().stroke(context_.get());
}

void Canvas::circle(Point center, double radius, Color fill, const Stroke& outline) {
  if (!is_finite(center)) return;
  const Point at = bounded(center);
  cairo().new_path(context_.get());
  cairo().arc(context_.get(), at.x, at.y, radius, 0.0, 2.0 * std::numbers::pi);
  set_color(context_.get(), fill);
  cairo().fill_preserve(context_.get());
  draw_path(outline);
}

void Canvas::draw(const Image& image, const Rectangle& rectangle) {
  if (image.pixels.empty()) return;
  const auto width = static_cast<int>(image.columns), height = static_cast<int>(image.rows);
  const std::unique_ptr<cairo_surface_t, Release> surface(
      cairo().image_surface_create(CAIRO_FORMAT_ARGB32, width, height));
  check_status(cairo().surface_status(surface.get()), path_);
  unsigned char* const rows = cairo().image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo().image_surface_get_stride(surface.get()));
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    reinterpret_cast<std::uint32_t*>(rows + i / image.columns * stride)[i % image.columns] = argb(image.pixels[i]);
  cairo().surface_mark_dirty(surface.get());
  cairo().save(context_.get());
  cairo().translate(context_.get(), rectangle.x, rectangle.y);
  cairo().scale(context_.get(), rectangle.width / width, rectangle.height / height);
  cairo().set_source_surface(context_.get(), surface.get(), 0, 0);
  cairo().pattern_set_filter(cairo().get_source(context_.get()), CAIRO_FILTER_NEAREST);
  cairo().rectangle(context_.get(), 0, 0, width, height);
  cairo().fill(context_.get());
  cairo().restore(context_.get());
}

void Canvas::set_font(const TextStyle& style) {
  const auto weight = style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL;
  cairo().select_font_face(context_.get(), "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, weight);
  cairo().set_font_size(context_.get(), style.size);
}

double Canvas::text_width(const std::string& text, const TextStyle& style) {
  set_font(style);
  cairo_text_extents_t extents;
  cairo().text_extents(context_.get(), text.c_str(), &extents);
  return extents.x_advance;
}

void Canvas::text(Point at, const std::string& text, const TextStyle& style) {
  const double shift = style.align == Align::kLeft ? 0.0 : style.align == Align::kCenter ? 0.5 : 1.0;
  const double width = text_width(text, style);
  cairo().save(context_.get());
  cairo().translate(context_.get(), at.x, at.y);
  if (style.upright) cairo().rotate(context_.get(), -0.5 * std::numbers::pi);
  constexpr double kHalfOfCapital = 0.36;  // in text sizes
  cairo().move_to(context_.get(), -shift * width, kHalfOfCapital * style.size);
  set_color(context_.get(), style.color);
  cairo().show_text(context_.get(), text.c_str());
  cairo().restore(context_.get());
  cairo().new_path(context_.get());  // showing text leaves a current point behind
}

void Canvas::clip(const Rectangle& rectangle) {
  cairo().save(context_.get());
  cairo().rectangle(context_.get(), rectangle.x, rectangle.y, rectangle.width, rectangle.height);
  cairo().clip(context_.get());
}

void Canvas::unclip() { cairo().restore(context_.get()); }

std::string Canvas::finish() {
  check_status(cairo().status(context_.get()), path_);
  if (format_ == Format::kSvg) {
    cairo().surface_finish(surface_.get());
  } else {
    check_status(cairo().surface_write_to_png_stream(surface_.get(), append, &bytes_), path_);
  }
  check_status(cairo().surface_status(surface_.get()), path_);
  return std::move(bytes_);
}

}  // namespace npzoo::tools::plot
