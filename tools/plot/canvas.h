#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace npzoo::tools::plot {

/// Red, green, blue and opacity, each in [0, 1].
struct Color {
  double red = 0.0;
  double green = 0.0;
  double blue = 0.0;
  double alpha = 1.0;

  constexpr Color with_alpha(double value) const { return {red, green, blue, value}; }
};

inline constexpr Color kBlack{0.0, 0.0, 0.0};
inline constexpr Color kWhite{1.0, 1.0, 1.0};
inline constexpr Color kClear{0.0, 0.0, 0.0, 0.0};

/// Colours that readers with any kind of colour vision can tell apart (Okabe and Ito, 2008). They start again after
/// seven: blue, vermilion, green, purple, orange, sky blue, yellow.
Color palette(int index);

struct Point {
  double x = 0.0;
  double y = 0.0;
};

struct Rectangle {
  double x = 0.0;
  double y = 0.0;
  double width = 0.0;
  double height = 0.0;

  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

struct Stroke {
  Color color{};
  double width = 1.0;
  bool dashed = false;
};

struct Image {
  std::size_t columns = 0, rows = 0;
  std::vector<Color> pixels{};  // row by row from the top
};

enum class Align { kLeft, kCenter, kRight };

struct TextStyle {
  double size = 9.0;
  Color color{};
  Align align = Align::kLeft;
  bool bold = false;
  bool upright = false;  // turned to read from bottom to top
};

enum class Format { kSvg, kPng };

/// Returns the format that the ending of `path` names, .svg or .png. Throws Error for another ending.
Format format_of(const std::filesystem::path& path);

/// A white page of `width` by `height` units with the origin at the top left. A unit is one pixel of an SVG and two
/// pixels of a PNG. Cairo draws the page (canvas.cpp). In a browser there is no cairo: svg_canvas.cpp writes SVG alone.
///
/// Coordinates may have any value. Points that are not finite are left out and split a line. Points far outside the
/// page are moved closer. So no input makes a broken file.
class Canvas {
 public:
  /// `path` decides the format (`format_of`), and errors name it. The caller writes the file.
  Canvas(const std::filesystem::path& path, double width, double height);
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;
  ~Canvas();

  void fill(std::span<const Point> polygon, Color color);
  void fill(const Rectangle& rectangle, Color color);
  void stroke(std::span<const Point> line, const Stroke& stroke);
  void stroke(const Rectangle& rectangle, const Stroke& stroke);
  void circle(Point center, double radius, Color fill, const Stroke& outline);
  /// Fills `rectangle` with the image. Pixels keep sharp edges.
  void draw(const Image& image, const Rectangle& rectangle);
  /// `at` is the left end, the centre or the right end of the line, at half the height of a capital letter.
  void text(Point at, const std::string& text, const TextStyle& style);
  double text_width(const std::string& text, const TextStyle& style);

  /// Everything up to `unclip` shows inside `rectangle` only.
  void clip(const Rectangle& rectangle);
  void unclip();

  /// Returns the bytes of the file. This is the last call.
  std::string finish();

 private:
  struct Page;
  std::unique_ptr<Page> page_;
};

}  // namespace npzoo::tools::plot
