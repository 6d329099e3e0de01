#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace npzoo {

/// One thing that can be chosen when an objective is evaluated.
struct Axis {
  std::string name;
  double low = 0, high = 1;
  bool logarithmic = false;  // differences of logarithms count
  bool integer = false;
  std::optional<double> fixed{};  // it is held there

  /// Whether values differ from row to row: a surrogate's input.
  bool varies() const { return low < high; }
};

/// The box that an objective is optimised over. What surrogates and acquisitions see of it is the unit cube of the axes
/// that vary, D of them; an axis held at a value within its bounds is an input like others, one without bounds is none.
class SearchSpace {
 public:
  static constexpr std::size_t kMostAxes = 6;

  /// Throws Error for axes that cannot be.
  explicit SearchSpace(std::vector<Axis> axes, const std::string& where = "[space]");
  /// Reads a TOML file:
  ///
  ///     [[axis]]
  ///     name = "learning_rate"
  ///     low = 1e-5
  ///     high = 1e-1
  ///     scale = "log"        # "linear" where nothing is said
  ///     type = "real"        # or "integer"; "real" where nothing is said
  ///     fixed = 1e-3         # held there, for the time being; then low and high may be missing
  static SearchSpace read(const std::filesystem::path& path);

  const std::vector<Axis>& axes() const { return axes_; }
  /// Inputs of a surrogate.
  std::int64_t dims() const { return static_cast<std::int64_t>(inputs_.size()); }
  /// The axis that input `d` is of.
  const Axis& input(std::int64_t d) const { return axes_[inputs_[static_cast<std::size_t>(d)]]; }
  /// Whether an input is held.
  bool is_held(std::int64_t d) const { return input(d).fixed.has_value(); }

  /// A value of each axis for a point of the unit cube (D): integers are whole, held axes at their values, none out of
  /// bounds. Others have six significant digits of their axis' extent, or of themselves if the axis is logarithmic.
  std::vector<double> values(std::span<const double> unit) const;
  /// The point of the unit cube for a value of each axis.
  std::vector<double> unit(std::span<const double> values) const;
  /// The nearest point of the cube that stands for values that there are.
  std::vector<double> nearest(std::span<const double> unit) const { return this->unit(values(unit)); }
  /// Points of the cube that stand for values of axes that are not held, if these are all integers: those that `known`
  /// lacks, at most `most`. None if an axis is of real numbers.
  std::optional<std::vector<std::vector<double>>> unknown_points(const std::set<std::vector<double>>& known,
                                                                 std::size_t most) const;
  /// How many points there are in all; none if an axis is of real numbers.
  std::optional<double> points() const;
  /// A row of numbers as a value of each axis. Throws Error, opened by `where`, for what is no point of the space.
  void check_values(std::span<const double> values, const std::string& where) const;

 private:
  std::vector<Axis> axes_;
  std::vector<std::size_t> inputs_;
};

/// Evaluations so far, of points of a unit cube.
struct Observations {
  std::int64_t dims = 1;
  std::vector<double> x{};       // (n, dims)
  std::vector<double> y{};       // (n)
  std::vector<double> failed{};  // (f, dims): evaluations without a value

  std::int64_t size() const { return static_cast<std::int64_t>(y.size()); }
  /// With those that failed.
  std::int64_t evaluations() const { return size() + static_cast<std::int64_t>(failed.size()) / dims; }
};

/// The most rows of a table of evaluations: the exact posterior's time grows with their cube.
inline constexpr std::int64_t kMostEvaluations = 2000;

/// Reads a table with a column for each axis and one called `value`; others are passed over. A file that is not there,
/// or holds nothing, has no rows. A row whose value is missing (blank, NaN) has failed. With `maximise` values change
/// their sign: what is wanted is a minimum. Throws Error, naming file and line, for what is no evaluation of a point of
/// the space.
Observations read_observations(const std::filesystem::path& path, const SearchSpace& space, bool maximise);

}  // namespace npzoo
