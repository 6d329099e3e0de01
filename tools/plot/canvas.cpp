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
#include "tools/plot/page.h"

namespace npzoo::tools::plot {

namespace {

constexpr double kPixelsPerUnit = 2.0;

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

/// Returns a pixel of cairo's images: eight bits each, colours multiplied by the opacity.
std::uint32_t argb(Color color) {
  const auto byte = [](double share) { return static_cast<std::uint32_t>(std::lround(255 * share)); };
  return byte(color.alpha) << 24 | byte(color.red * color.alpha) << 16 | byte(color.green * color.alpha) << 8 |
         byte(color.blue * color.alpha);
}

void check_status(cairo_status_t status, const std::filesystem::path& path) {
  check(status == CAIRO_STATUS_SUCCESS, "[{}] cannot draw: {}", path.string(), cairo().status_to_string(status));
}

}  // namespace

struct Canvas::Page {
  struct Release {
    void operator()(cairo_t* drawn) const { cairo().destroy(drawn); }
    void operator()(cairo_surface_t* drawn) const { cairo().surface_destroy(drawn); }
  };

  void set_font(const TextStyle& style);
  void draw_path(const Stroke& stroke);

  std::filesystem::path path;
  Format format;
  std::string bytes{};  // what cairo has written so far
  std::unique_ptr<cairo_surface_t, Release> surface{};
  std::unique_ptr<cairo_t, Release> context{};
};

Canvas::Canvas(const std::filesystem::path& path, double width, double height)
    : page_(new Page{.path = path, .format = format_of(path)}) {
  check_page_size(path, width, height);
  page_->surface.reset(make_surface(page_->format, page_->bytes, width, height));
  page_->context.reset(cairo().create(page_->surface.get()));
  check_status(cairo().status(page_->context.get()), path);
  if (page_->format == Format::kPng) cairo().scale(page_->context.get(), kPixelsPerUnit, kPixelsPerUnit);
  cairo().set_line_join(page_->context.get(), CAIRO_LINE_JOIN_ROUND);
  set_color(page_->context.get(), kWhite);
  cairo().paint(page_->context.get());
}

Canvas::~Canvas() = default;

void Canvas::fill(std::span<const Point> polygon, Color color) {
  for (const Point& point : polygon)
    if (is_finite(point)) cairo().line_to(page_->context.get(), bounded(point).x, bounded(point).y);
  set_color(page_->context.get(), color);
  cairo().fill(page_->context.get());
}

void Canvas::fill(const Rectangle& rectangle, Color color) {
  cairo().rectangle(page_->context.get(), rectangle.x, rectangle.y, rectangle.width, rectangle.height);
  set_color(page_->context.get(), color);
  cairo().fill(page_->context.get());
}

void Canvas::stroke(std::span<const Point> line, const Stroke& stroke) {
  for (const Point& point : line) {
    if (is_finite(point)) {
      cairo().line_to(page_->context.get(), bounded(point).x, bounded(point).y);
    } else {
      cairo().new_sub_path(page_->context.get());
    }
  }
  page_->draw_path(stroke);
}

void Canvas::stroke(const Rectangle& rectangle, const Stroke& stroke) {
  cairo().rectangle(page_->context.get(), rectangle.x, rectangle.y, rectangle.width, rectangle.height);
  page_->draw_path(stroke);
}

void Canvas::Page::draw_path(const Stroke& stroke) {
  const double dashes[] = {3.5 * stroke.width, 2.2 * stroke.width};
  cairo().set_dash(context.get(), dashes, stroke.dashed ? 2 : 0, 0.0);
  cairo().set_line_width(context.get(), stroke.width);
  set_color(context.get(), stroke.color);
  cairo().stroke(context.get());
}

void Canvas::circle(Point center, double radius, Color fill, const Stroke& outline) {
  if (!is_finite(center)) return;
  const Point at = bounded(center);
  cairo().new_path(page_->context.get());
  cairo().arc(page_->context.get(), at.x, at.y, radius, 0.0, 2.0 * std::numbers::pi);
  set_color(page_->context.get(), fill);
  cairo().fill_preserve(page_->context.get());
  page_->draw_path(outline);
}

void Canvas::draw(const Image& image, const Rectangle& rectangle) {
  if (image.pixels.empty()) return;
  const auto width = static_cast<int>(image.columns), height = static_cast<int>(image.rows);
  const std::unique_ptr<cairo_surface_t, Page::Release> surface(
      cairo().image_surface_create(CAIRO_FORMAT_ARGB32, width, height));
  check_status(cairo().surface_status(surface.get()), page_->path);
  unsigned char* const rows = cairo().image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo().image_surface_get_stride(surface.get()));
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    reinterpret_cast<std::uint32_t*>(rows + i / image.columns * stride)[i % image.columns] = argb(image.pixels[i]);
  cairo().surface_mark_dirty(surface.get());
  cairo().save(page_->context.get());
  cairo().translate(page_->context.get(), rectangle.x, rectangle.y);
  cairo().scale(page_->context.get(), rectangle.width / width, rectangle.height / height);
  cairo().set_source_surface(page_->context.get(), surface.get(), 0, 0);
  cairo().pattern_set_filter(cairo().get_source(page_->context.get()), CAIRO_FILTER_NEAREST);
  cairo().rectangle(page_->context.get(), 0, 0, width, height);
  cairo().fill(page_->context.get());
  cairo().restore(page_->context.get());
}

void Canvas::Page::set_font(const TextStyle& style) {
  const auto weight = style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL;
  cairo().select_font_face(context.get(), "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, weight);
  cairo().set_font_size(context.get(), style.size);
}

double Canvas::text_width(const std::string& text, const TextStyle& style) {
  page_->set_font(style);
  cairo_text_extents_t extents;
  cairo().text_extents(page_->context.get(), text.c_str(), &extents);
  return extents.x_advance;
}

void Canvas::text(Point at, const std::string& text, const TextStyle& style) {
  const double shift = style.align == Align::kLeft ? 0.0 : style.align == Align::kCenter ? 0.5 : 1.0;
  const double width = text_width(text, style);
  cairo().save(page_->context.get());
  cairo().translate(page_->context.get(), at.x, at.y);
  if (style.upright) cairo().rotate(page_->context.get(), -0.5 * std::numbers::pi);
  constexpr double kHalfOfCapital = 0.36;  // in text sizes
  cairo().move_to(page_->context.get(), -shift * width, kHalfOfCapital * style.size);
  set_color(page_->context.get(), style.color);
  cairo().show_text(page_->context.get(), text.c_str());
  cairo().restore(page_->context.get());
  cairo().new_path(page_->context.get());  // showing text leaves a current point behind
}

void Canvas::clip(const Rectangle& rectangle) {
  cairo().save(page_->context.get());
  cairo().rectangle(page_->context.get(), rectangle.x, rectangle.y, rectangle.width, rectangle.height);
  cairo().clip(page_->context.get());
}

void Canvas::unclip() { cairo().restore(page_->context.get()); }

std::string Canvas::finish() {
  check_status(cairo().status(page_->context.get()), page_->path);
  if (page_->format == Format::kSvg) {
    cairo().surface_finish(page_->surface.get());
  } else {
    check_status(cairo().surface_write_to_png_stream(page_->surface.get(), append, &page_->bytes), page_->path);
  }
  check_status(cairo().surface_status(page_->surface.get()), page_->path);
  return std::move(page_->bytes);
}

}  // namespace npzoo::tools::plot
