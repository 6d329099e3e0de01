#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace npzoo {

/// One variable of an objective.
struct Axis {
  std::string name;
  double low = 0, high = 1;
  bool logarithmic = false;  // differences of logarithms count; low > 0
  bool integer = false;
  std::optional<double> fixed{};  // held at this value; required if low = high
  std::vector<std::string>
      choices{};  // names, of which none is nearer to one than to another; values are their numbers

  bool categorical() const { return !choices.empty(); }
  /// True if values may differ between evaluations: the axis is an input of the surrogate.
  bool varies() const { return low < high; }
  /// Returns a value as tables have it: a name, or a number with the fewest digits that read back to it.
  std::string text(double value) const;
};

/// The box that an objective is optimised over. Surrogates and acquisitions use the unit cube of its D axes with
/// bounds. That includes fixed axes with bounds; a fixed axis without bounds is left out.
class SearchSpace {
 public:
  static constexpr std::size_t kMostAxes = 20;
  static constexpr std::size_t kMostChoices = 200;  // of all axes together

  /// An axis with choices takes its bounds from them: 0 and their number − 1. Throws Error, which begins with `where`,
  /// for bounds, names or numbers of axes that are not possible.
  explicit SearchSpace(std::vector<Axis> axes, const std::string& where = "[space]");
  /// Reads a TOML file:
  ///
  ///     [[axis]]
  ///     name = "learning_rate"
  ///     low = 1e-5
  ///     high = 1e-1
  ///     scale = "log"        # default: "linear"
  ///     type = "real"        # or "integer"; default: "real"
  ///     fixed = 1e-3         # held at this value; then low and high may be missing
  ///
  ///     [[axis]]
  ///     name = "optimiser"
  ///     choices = ["sgd", "adam", "lion"]    # instead of bounds, scale and type
  static SearchSpace read(const std::filesystem::path& path);

  const std::vector<Axis>& axes() const { return axes_; }
  /// D, the number of a surrogate's inputs.
  std::int64_t dims() const { return static_cast<std::int64_t>(inputs_.size()); }
  /// The number of the axis of input `d`.
  std::size_t axis_of(std::int64_t d) const { return inputs_[static_cast<std::size_t>(d)]; }
  const Axis& input(std::int64_t d) const { return axes_[axis_of(d)]; }
  /// The number of choices of each input (D), 0 for numbers.
  std::vector<std::int64_t> categories() const;
  bool has_categories() const;
  /// True if input `d` is held.
  bool is_held(std::int64_t d) const { return input(d).fixed.has_value(); }

  /// Returns a value of each axis for a point of the unit cube (D): whole numbers for integers, the fixed values of
  /// fixed axes, none out of bounds. Others have six significant digits of their axis' extent, or of themselves if the
  /// axis is logarithmic.
  std::vector<double> values(std::span<const double> unit) const;
  /// The value of input `d` at coordinate u of the cube, not held, and not rounded unless it is the number of a choice.
  double place(std::int64_t d, double u) const;
  /// A value of each axis for a point of the unit cube (D), as by `place`.
  std::vector<double> places(std::span<const double> unit) const;
  /// The point of the unit cube for a value of each axis.
  std::vector<double> unit(std::span<const double> values) const;
  /// Returns the nearest point of the cube that stands for possible values.
  std::vector<double> nearest(std::span<const double> unit) const { return this->unit(values(unit)); }
  /// Returns at most `most` points of the cube that are not in `known`, if all axes that are not fixed are integers or
  /// choices.
  /// None if an axis is of real numbers.
  std::optional<std::vector<std::vector<double>>> unknown_points(const std::set<std::vector<double>>& known,
                                                                 std::size_t most) const;
  /// How many points there are in all; none if an axis is of real numbers.
  std::optional<double> points() const;
  /// Throws Error, which begins with [where], for numbers that are not a point of the space. A bound may be missed by
  /// rounding, 1e-9 of the range: `unit` makes the bound of it.
  void check_values(std::span<const double> values, const std::string& where) const;

 private:
  std::vector<Axis> axes_;
  std::vector<std::size_t> inputs_;
};

/// The most evaluations: the exact posterior's time grows with their cube.
inline constexpr std::int64_t kMostEvaluations = 2000;

/// Evaluations of an objective.
struct Evaluations {
  std::vector<double> points{};  // (n, axes), in the axes' units
  std::vector<double> values{};  // (n); NaN if the evaluation failed
};

/// Reads a table with a column for each axis and one called `value`; other columns are ignored. A file that is missing
/// or empty has no rows. A row without a value (blank, NaN) has failed. Throws Error with file and line for a row that
/// is not an evaluation of a point of the space.
Evaluations read_evaluations(const std::filesystem::path& path, const SearchSpace& space);

/// Reads the points of a table of points that are being evaluated, such as `npzoo optimise` prints: (n, axes). Other
/// columns are ignored. Throws Error as read_evaluations does, and for a file that is missing.
std::vector<double> read_points(const std::filesystem::path& path, const SearchSpace& space);

/// Evaluations in the form of surrogates: points of the unit cube and values to minimise.
struct Observations {
  std::int64_t dims = 1;
  std::vector<double> x{};        // (n, dims)
  std::vector<double> y{};        // (n)
  std::vector<double> failed{};   // (f, dims): points of evaluations without a value
  std::vector<double> pending{};  // (p, dims): points that are being evaluated

  std::int64_t size() const { return static_cast<std::int64_t>(y.size()); }
  /// Returns the number of evaluations, failed ones included.
  std::int64_t evaluations() const { return size() + std::ssize(failed) / dims; }
  std::int64_t waiting() const { return std::ssize(pending) / dims; }
};

/// Throws Error, which begins with [where], for a point outside of the space and a value beyond 1e150.
void check_evaluation(const SearchSpace& space, std::span<const double> point, double value, const std::string& where);
/// Adds an evaluation that check_evaluation accepts. With `maximise` its value changes its sign. Its point is then no
/// longer pending.
void add_evaluation(const SearchSpace& space, std::span<const double> point, double value, bool maximise,
                    Observations& to);
/// Adds a point (D) of the unit cube that is being evaluated, unless it is known.
void add_pending(std::span<const double> unit, Observations& to);

}  // namespace npzoo
