#include "npzoo/models/applications/optimise/search_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "npzoo/datasets/tables/prediction_rows.h"
#include "npzoo/datasets/tables/table.h"
#include "npzoo/datasets/toml_reader.h"
#include "npzoo/engine/boundary.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/text.h"
#include "npzoo/models/applications/optimise/surrogate.h"

namespace npzoo {

namespace {

constexpr double kLargestWhole = 0x1p53;
constexpr std::string_view kValueColumn = "value";

bool is_whole(double x) { return x == std::round(x) && std::abs(x) <= kLargestWhole; }

/// True for a text that can be a cell of a table.
bool is_cell(const std::string& text) {
  const bool printable =
      std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  return !text.empty() && printable && text.front() != ' ' && text.back() != ' ' && text.front() != '#';
}

void check_choices(const Axis& axis, const std::string& where) {
  check(axis.choices.size() >= 2, "{}: axis {} has {} choices, expected two or more", where, axis.name,
        axis.choices.size());
  for (const std::string& choice : axis.choices) {
    check(is_cell(choice) && !is_missing_name(choice),
          "{}: axis {} has the choice {}, expected a name that does not stand for a missing value", where, axis.name,
          in_quotes(choice));
    check(std::ranges::count(axis.choices, choice) == 1, "{}: axis {} has the choice {} twice", where, axis.name,
          in_quotes(choice));
  }
}

void check_axis(const Axis& axis, const std::string& where) {
  check(is_cell(axis.name), "{}: the name of an axis is {}, expected a column's name", where, in_quotes(axis.name));
  check(axis.name != kValueColumn, "{}: an axis is called value, expected another name: that column is the objective's",
        where);
  for (const double x : {axis.low, axis.high, axis.fixed.value_or(axis.low)})
    check(std::isfinite(x) && std::abs(x) <= 1e300, "{}: axis {} has {}, expected numbers of at most 1e300", where,
          axis.name, x);
  check(axis.low <= axis.high, "{}: axis {} has low {} above high {}, expected low < high", where, axis.name, axis.low,
        axis.high);
  check(axis.varies() || axis.fixed, "{}: axis {} has low = high = {}, expected low < high, or fixed = {}", where,
        axis.name, axis.low, axis.low);
  check(!axis.logarithmic || axis.low > 0, "{}: axis {} has low {} and scale \"log\", expected low > 0", where,
        axis.name, axis.low);
  for (const double x : {axis.low, axis.high, axis.fixed.value_or(axis.low)})
    check(!axis.integer || is_whole(x), "{}: axis {} is of integers and has {}, expected a whole number below 2^53",
          where, axis.name, x);
  check(!axis.fixed || (*axis.fixed >= axis.low && *axis.fixed <= axis.high),
        "{}: axis {} is fixed at {}, expected a number from {} to {}", where, axis.name, axis.fixed.value_or(0),
        axis.low, axis.high);
  const double extent = axis.logarithmic ? std::log(axis.high) - std::log(axis.low) : axis.high - axis.low;
  const double size = axis.logarithmic ? 1.0 : std::max(std::abs(axis.low), std::abs(axis.high));
  check(!axis.varies() || extent > 1e-12 * size, "{}: axis {} is from {} to {}, expected bounds that are further apart",
        where, axis.name, axis.low, axis.high);
}

/// An axis of names.
Axis read_choices(TomlReader& table, Axis axis) {
  axis.choices = table.texts("choices", "names that the axis has");
  for (const char* key : {"low", "high", "scale", "type"})
    if (table.has(key)) table.reject(key, "beside choices", "bounds, a scale and a type of numbers only");
  if (table.has("fixed")) {
    const std::string fixed = table.text("fixed", "choice of an axis that does not vary");
    const auto at = std::ranges::find(axis.choices, fixed);
    if (at == axis.choices.end())
      table.reject("fixed", in_quotes(fixed), fmt::format("one of: {}", fmt::join(axis.choices, ", ")));
    axis.fixed = static_cast<double>(at - axis.choices.begin());
  }
  table.finish();
  return axis;
}

Axis read_axis(TomlReader& table) {
  constexpr auto kKeys = std::to_array<std::string_view>({"name", "low", "high", "scale", "type", "fixed", "choices"});
  for (const std::string& key : table.keys())
    if (std::ranges::find(kKeys, key) == kKeys.end())
      table.reject(key, "an unknown key", fmt::format("one of: {}", fmt::join(kKeys, ", ")));
  Axis axis;
  axis.name = table.text("name", "name of the axis, a column of evaluations");
  if (table.has("choices")) return read_choices(table, std::move(axis));
  const bool held = table.has("fixed");
  if (held)
    axis.fixed = axis.low = axis.high = table.number("fixed", "value of an axis that does not vary", kAnyFinite);
  if (!held || table.has("low") || table.has("high")) {
    axis.low = table.number("low", "least value", kAnyFinite);
    axis.high = table.number("high", "largest value", kAnyFinite);
    if (axis.low == axis.high) axis.fixed = axis.fixed.value_or(axis.low);
  }
  if (table.has("scale"))
    axis.logarithmic = table.choice("scale", "scale on which points are chosen", {"linear", "log"}) == "log";
  if (table.has("type"))
    axis.integer = table.choice("type", "numbers that the axis has", {"real", "integer"}) == "integer";
  table.finish();
  return axis;
}

/// With few digits, and within the bounds.
double short_value(const Axis& axis, double x) {
  constexpr int kDigits = 6;
  const double extent = axis.logarithmic ? std::log(axis.high) - std::log(axis.low) : 1;
  const int more = extent < 1 ? static_cast<int>(std::ceil(-std::log10(extent))) : 0;
  const double rounded =
      axis.integer ? std::round(x) : round_to_std(x, axis.logarithmic ? x : axis.high - axis.low, kDigits + more);
  return std::clamp(rounded, axis.low, axis.high);
}

/// The value at coordinate u of the unit cube.
double value_at(const Axis& axis, double u) {
  if (axis.categorical()) return static_cast<double>(category_at(u, std::ssize(axis.choices)));
  return axis.logarithmic ? std::exp(std::log(axis.low) + u * (std::log(axis.high) - std::log(axis.low)))
                          : axis.low + u * (axis.high - axis.low);
}

bool holds_nothing(const std::filesystem::path& path) {
  if (path == "-") return false;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return true;
  return std::filesystem::is_regular_file(path, ignored) && std::filesystem::file_size(path, ignored) == 0;
}

std::string place_of(const Table& table, std::size_t row) {
  return fmt::format("{}:{}", table.format().name(), table.line(static_cast<std::int64_t>(row)));
}

/// Writes the numbers of a column of choices into column `a` of points (rows, axes).
void take_choices(const Table& table, std::size_t column, const std::vector<Axis>& axes, std::size_t a,
                  std::vector<double>& points) {
  const Table::Labels labels = table.labels(column, "one of the choices");
  const std::vector<std::string>& choices = axes[a].choices;
  for (std::size_t r = 0; r < labels.of_rows.size(); ++r) {
    const std::string& name = labels.names[labels.of_rows[r]];
    const auto at = std::ranges::find(choices, name);
    check(at != choices.end(), "[{}] column {} holds {}, expected one of: {}", place_of(table, r),
          table.format().title(column), in_quotes(name), fmt::join(choices, ", "));
    points[r * axes.size() + a] = static_cast<double>(at - choices.begin());
  }
}

/// Returns the points of a table (rows, axes), and fills `values` from the column of values unless it is null.
std::vector<double> points_of(Table& table, const SearchSpace& space, std::vector<double>* values) {
  const TableFormat& format = table.format();
  check(table.rows() <= kMostEvaluations, "[{}] {} rows found, expected at most {}", format.name(), table.rows(),
        kMostEvaluations);
  const std::vector<Axis>& axes = space.axes();
  std::vector<double> points(static_cast<std::size_t>(table.rows()) * axes.size());
  std::vector<std::size_t> numeric, columns;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].categorical()) continue;
    numeric.push_back(a);
    columns.push_back(format.column(axes[a].name));
  }
  for (std::size_t a = 0; a < axes.size(); ++a)
    if (axes[a].categorical()) take_choices(table, format.column(axes[a].name), axes, a, points);
  if (values) columns.push_back(format.column(kValueColumn));
  std::vector<NumberColumn> numbers =
      table.numbers(columns, std::vector<ColumnForm>(columns.size()), std::span(columns).first(numeric.size()));
  for (std::size_t c = 0; c < columns.size(); ++c)
    check(numbers[c].form.kind != ColumnForm::Kind::time, "[{}] column {} holds dates, expected numbers", format.name(),
          format.title(columns[c]));
  for (std::size_t c = 0; c < numeric.size(); ++c)
    for (std::size_t r = 0; r < numbers[c].values.size(); ++r)
      points[r * axes.size() + numeric[c]] = numbers[c].values[r];
  if (values) *values = std::move(numbers.back().values);
  return points;
}

}  // namespace

std::string Axis::text(double value) const {
  if (!categorical()) return fmt::format("{}", value);
  check(value >= 0 && value < static_cast<double>(choices.size()), "[space] {} is {}, expected the number of a choice",
        name, value);
  return choices[static_cast<std::size_t>(value)];
}

SearchSpace::SearchSpace(std::vector<Axis> axes, const std::string& where) : axes_(std::move(axes)) {
  check(!axes_.empty() && axes_.size() <= kMostAxes, "{}: {} axes found, expected 1 to {}", where, axes_.size(),
        kMostAxes);
  std::size_t choices = 0;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (Axis& axis = axes_[i]; axis.categorical()) {
      check_choices(axis, where);
      choices += axis.choices.size();
      axis.low = 0;
      axis.high = static_cast<double>(axis.choices.size() - 1);
      axis.integer = true;
      axis.logarithmic = false;
    }
    check_axis(axes_[i], where);
    check(std::ranges::count(axes_, axes_[i].name, &Axis::name) == 1,
          "{}: two axes are called {}, expected a name for each", where, axes_[i].name);
    if (axes_[i].varies()) inputs_.push_back(i);
  }
  check(choices <= kMostChoices, "{}: {} choices found, expected at most {} of all axes", where, choices, kMostChoices);
  check(!std::ranges::all_of(axes_, [](const Axis& a) { return a.fixed.has_value(); }),
        "{}: every axis is fixed, expected one to choose on", where);
}

SearchSpace SearchSpace::read(const std::filesystem::path& path) {
  return with_errors([&] {
    const std::string where = fmt::format("[space] {}", path.string());
    TomlReader reader(read_text(path, std::size_t{1} << 20), where);
    std::vector<Axis> axes;
    for (TomlReader& table : reader.tables("axis", "axes of the search space")) axes.push_back(read_axis(table));
    reader.finish();
    return SearchSpace(std::move(axes), where);
  });
}

std::vector<std::int64_t> SearchSpace::categories() const {
  std::vector<std::int64_t> counts;
  for (const std::size_t i : inputs_) counts.push_back(std::ssize(axes_[i].choices));
  return counts;
}

bool SearchSpace::has_categories() const {
  return std::ranges::any_of(categories(), [](std::int64_t count) { return count > 0; });
}

std::vector<double> SearchSpace::values(std::span<const double> unit) const {
  std::vector<double> values;
  std::size_t d = 0;
  for (const Axis& axis : axes_) {
    const double u = axis.varies() ? unit[d++] : 0;
    if (axis.fixed) {
      values.push_back(*axis.fixed);
      continue;
    }
    values.push_back(short_value(axis, value_at(axis, u)));
  }
  return values;
}

double SearchSpace::place(std::int64_t d, double u) const { return value_at(input(d), u); }

std::vector<double> SearchSpace::places(std::span<const double> unit) const {
  std::vector<double> places;
  std::size_t d = 0;
  for (const Axis& axis : axes_) places.push_back(axis.varies() ? value_at(axis, unit[d++]) : *axis.fixed);
  return places;
}

std::vector<double> SearchSpace::unit(std::span<const double> values) const {
  std::vector<double> unit;
  for (const std::size_t i : inputs_) {
    const Axis& axis = axes_[i];
    if (axis.categorical()) {
      unit.push_back((values[i] + 0.5) / static_cast<double>(axis.choices.size()));
      continue;
    }
    const double u = axis.logarithmic
                         ? (std::log(values[i]) - std::log(axis.low)) / (std::log(axis.high) - std::log(axis.low))
                         : (values[i] - axis.low) / (axis.high - axis.low);
    unit.push_back(std::clamp(u, 0.0, 1.0));
  }
  return unit;
}

std::optional<double> SearchSpace::points() const {
  double count = 1;
  for (const std::size_t i : inputs_) {
    const Axis& axis = axes_[i];
    if (axis.fixed) continue;
    if (!axis.integer) return {};
    count *= axis.high - axis.low + 1;
  }
  return count;
}

std::optional<std::vector<std::vector<double>>> SearchSpace::unknown_points(const std::set<std::vector<double>>& known,
                                                                            std::size_t most) const {
  if (!points()) return {};
  std::vector<std::vector<double>> found;
  std::vector<double> values;
  for (const Axis& axis : axes_) values.push_back(axis.fixed.value_or(axis.low));
  for (bool more = true; more && found.size() < most;) {
    std::vector<double> point = unit(values);
    if (!known.contains(point)) found.push_back(std::move(point));
    more = false;  // until an axis goes on to its next integer
    for (std::size_t i = 0; i < axes_.size() && !more; ++i) {
      if (axes_[i].fixed) continue;
      more = values[i] < axes_[i].high;
      values[i] = more ? values[i] + 1 : axes_[i].low;
    }
  }
  return found;
}

namespace {

/// Whether a value is in the range of an axis, or beyond a bound by no more than rounding.
bool is_in_range(const Axis& axis, double value) {
  constexpr double kRounding = 1e-9;  // of the range
  if (value >= axis.low && value <= axis.high) return true;
  if (axis.logarithmic) {
    const double slack = kRounding * (std::log(axis.high) - std::log(axis.low));
    return value > 0 && std::log(value) >= std::log(axis.low) - slack && std::log(value) <= std::log(axis.high) + slack;
  }
  const double slack = kRounding * (axis.high - axis.low);
  return value >= axis.low - slack && value <= axis.high + slack;
}

}  // namespace

void SearchSpace::check_values(std::span<const double> values, const std::string& where) const {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const Axis& axis = axes_[i];
    if (axis.categorical()) {
      check(values[i] >= 0 && values[i] <= axis.high && is_whole(values[i]),
            "[{}] {} is {}, expected the number of a choice from 0 to {}", where, axis.name, values[i], axis.high);
      continue;
    }
    check(is_in_range(axis, values[i]), "[{}] {} is {}, expected a number from {} to {}", where, axis.name, values[i],
          axis.low, axis.high);
    check(!axis.integer || is_whole(values[i]), "[{}] {} is {}, expected a whole number", where, axis.name, values[i]);
  }
}

namespace {

/// Returns the place of a point among points of the unit cube, or their size if it is none of them. Values from a file
/// may have been rounded.
std::size_t position_of(std::span<const double> unit, const std::vector<double>& points) {
  constexpr double kRounding = 1e-9;
  for (std::size_t at = 0; at < points.size(); at += unit.size())
    if (std::ranges::equal(unit, std::span(points).subspan(at, unit.size()),
                           [](double a, double b) { return std::abs(a - b) < kRounding; }))
      return at;
  return points.size();
}

}  // namespace

void check_evaluation(const SearchSpace& space, std::span<const double> point, double value, const std::string& where) {
  space.check_values(point, where);
  check(!(std::abs(value) > 1e150), "[{}] value is {}, expected a number of at most 1e150", where, value);
}

void add_evaluation(const SearchSpace& space, std::span<const double> point, double value, bool maximise,
                    Observations& to) {
  const std::vector<double> unit = space.unit(point);
  std::vector<double>& points = std::isnan(value) ? to.failed : to.x;
  points.insert(points.end(), unit.begin(), unit.end());
  if (!std::isnan(value)) to.y.push_back(maximise ? -value : value);
  if (const auto at = position_of(unit, to.pending); at < to.pending.size()) {
    const auto first = to.pending.begin() + static_cast<std::ptrdiff_t>(at);
    to.pending.erase(first, first + to.dims);
  }
}

void add_pending(std::span<const double> unit, Observations& to) {
  for (const std::vector<double>* known : {&to.x, &to.failed, &to.pending})
    if (position_of(unit, *known) < known->size()) return;
  to.pending.insert(to.pending.end(), unit.begin(), unit.end());
}

Evaluations read_evaluations(const std::filesystem::path& path, const SearchSpace& space) {
  return with_errors([&] {
    Evaluations found;
    if (holds_nothing(path)) return found;
    Table table = Table::read(path);
    found.points = points_of(table, space, &found.values);
    const std::size_t axes = space.axes().size();
    for (std::size_t r = 0; r < found.values.size(); ++r)
      check_evaluation(space, std::span(found.points).subspan(r * axes, axes), found.values[r], place_of(table, r));
    return found;
  });
}

std::vector<double> read_points(const std::filesystem::path& path, const SearchSpace& space) {
  return with_errors([&] {
    Table table = Table::read(path);
    std::vector<double> points = points_of(table, space, nullptr);
    const std::size_t axes = space.axes().size();
    for (std::size_t r = 0; r < points.size() / axes; ++r)
      space.check_values(std::span(points).subspan(r * axes, axes), place_of(table, r));
    return points;
  });
}

}  // namespace npzoo
