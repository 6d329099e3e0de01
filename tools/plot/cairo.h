#pragma once

#include <cairo-svg.h>
#include <cairo.h>

namespace npzoo::tools::plot {

/// The functions of cairo that Canvas calls, without the prefix `cairo_`.
// clang-format off
#define NPZOO_CAIRO_FUNCTIONS(X) \
  X(arc) X(clip) X(create) X(destroy) X(fill) X(fill_preserve) X(get_source) X(image_surface_create) \
  X(image_surface_get_data) X(image_surface_get_stride) X(line_to) X(move_to) X(new_path) X(new_sub_path) \
  X(paint) X(pattern_set_filter) X(rectangle) X(restore) X(rotate) X(save) X(scale) X(select_font_face) \
  X(set_dash) X(set_font_size) X(set_line_join) X(set_line_width) X(set_source_rgba) X(set_source_surface) \
  X(show_text) X(status) X(status_to_string) X(stroke) X(surface_destroy) X(surface_finish) \
  X(surface_mark_dirty) X(surface_status) X(surface_write_to_png_stream) X(svg_surface_create_for_stream) \
  X(svg_surface_set_document_unit) X(text_extents) X(translate)
// clang-format on

struct Cairo {
#define NPZOO_CAIRO_MEMBER(name) decltype(&::cairo_##name) name;
  NPZOO_CAIRO_FUNCTIONS(NPZOO_CAIRO_MEMBER)
#undef NPZOO_CAIRO_MEMBER
};

/// Returns cairo's functions. The first call loads the library: nothing but pictures needs it. Throws Error if the machine
/// has none.
const Cairo& cairo();

}  // namespace npzoo::tools::plot
