#include "npzoo/models/applications/tables/fill_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/datasets/tables/column_rules.h"
#include "npzoo/engine/words.h"

namespace npzoo {

namespace {

/// "rain from 0 on, predicted as sqrt(rain)".
std::string described(const ValueTransform& t, const std::string& name) {
  std::string text = name;
  if (std::isfinite(t.low)) text += fmt::format(" from {}", t.low);
  if (std::isfinite(t.high)) text += fmt::format(" to {}", t.high);
  if (std::isfinite(t.low) && std::isinf(t.high)) text += " on";
  if (t.counts) text += ", whole numbers";
  return text + (t.kind == ValueTransform::Kind::none ? "" : ", predicted as " + t.scaled(name));
}

}  // namespace

std::vector<std::string> FillReport::comments() const {
  std::vector<std::string> lines{weights.made_by("predict")};
  lines.push_back(fmt::format(
      "columns: {} by {}{}", fmt::join(columns.values, ", "),
      columns.inputs.empty() ? "the other columns of a row" : fmt::format("{}", fmt::join(columns.inputs, ", ")),
      columns.group.empty() ? "" : fmt::format(", in {} of {}", counted(groups, "group"), columns.group)));
  if (single) {
    const std::vector<std::string> more = single->comments();
    lines.insert(lines.end(), more.begin() + 1, more.end());
  } else if (!columns.inputs.empty()) {
    const std::string points = tally.smallest == tally.largest ? fmt::format("{}", tally.largest)
                                                               : fmt::format("{} to {}", tally.smallest, tally.largest);
    lines.push_back(fmt::format("series: {}, of {} observed point{}, {}", tally.series, points,
                                tally.largest == 1 ? "" : "s",
                                standardised ? "each standardised by itself" : "used as they are"));
  }
  for (std::size_t v = 0; v < transforms.size(); ++v)
    if (transforms[v].active()) lines.push_back("limits: " + described(transforms[v], columns.values[v]));
  if (repeated.places > 0)
    lines.push_back(fmt::format("repeated inputs: {} with more than one observed row, {} rows in all",
                                counted(repeated.places, "place"), repeated.rows));
  if (combined_ends > 0)
    lines.push_back(
        fmt::format("ends of {}: a combination of the weights with exponential smoothing, theta, drift, "
                    "the last season and a season profile",
                    combined_ends == 1 ? "one series" : fmt::format("{} series", combined_ends)));
  if (combined_ends > 1)
    lines.push_back("shares of these methods: by hidden ends of each series, and less by those of the others");
  if (tally.largest > local.largest_context && fitted)
    lines.push_back(fmt::format("more than {} points: each target is predicted from the {} nearest",
                                local.largest_context, local.neighbours));
  else if (tally.largest > local.largest_context)
    lines.push_back(fmt::format("contexts of more than {} points: targets that are near to each other share {} of them",
                                local.largest_context, local.neighbours));
  if (tally.turn)
    lines.push_back(fmt::format("inputs {}stretched {:.1f} : 1 along {:.0f}°{}",
                                tally.series == 1 ? "" : fmt::format("of {} series ", tally.turned), tally.turn->ratio,
                                tally.turn->angle, tally.turned > 1 ? " at most" : ""));
  if (tally.noise_changes > 0)
    lines.push_back(fmt::format("noise {}changes along {} by a factor of {}{:.2g}: deviations follow it",
                                tally.series == 1 ? "" : fmt::format("of {} series ", tally.noise_changes),
                                columns.inputs.front(), tally.noise_changes > 1 ? "up to " : "", tally.noise_ratio));
  if (help) lines.push_back(help->text());
  lines.insert(lines.end(), notes.begin(), notes.end());
  lines.insert(lines.end(), table.begin(), table.end());
  return lines;
}

void FillReport::warn_of_far_points(std::vector<Warning>& all) const {
  if (const FarPoints& far = tally.far_inputs; far.points > 0)
    all.push_back(
        {"far inputs",
         fmt::format("{} of {} series {} an observed point that is far from all others, such as {} = {}: {}",
                     far.series, tally.series, far.series == 1 ? "has" : "have", columns.inputs[far.column],
                     (x_forms.empty() ? ColumnForm() : x_forms[far.column]).text(far.furthest),
                     !fitted && tally.largest > local.largest_context ? "it is left out where the others are predicted"
                                                                      : "beside it the others fall on one spot")});
  if (const FarPoints& far = tally.far_values; far.points > 0)
    all.push_back(
        {"far values",
         fmt::format("{} of {} series {} a value far from all others: {} = {} is {:.3g} standard deviations of the "
                     "others away; if it stands for a missing value, leave it blank or use --missing {}",
                     far.series, tally.series, far.series == 1 ? "has" : "have", columns.values[far.column],
                     far.furthest, far.distance, far.furthest)});
}

void FillReport::warn_of_inputs(std::vector<Warning>& all) const {
  constexpr std::int64_t kQuarters = 4, kOfClocks = 4;  // times of an hour; one row in so many at most
  const bool clocks = repeated.most == 2 && (repeated.places <= kQuarters || kOfClocks * repeated.rows <= context_rows);
  if (repeated_time)
    all.push_back(
        {"repeated times",
         fmt::format("{} of day with more than one observed row, such as {}: if {}", counted(repeated.places, "time"),
                     *repeated_time,
                     clocks ? "clocks were put back there, write times with a zone (+02:00)"
                            : "rows of a time follow each other, write the seconds of times, too; if they are "
                              "series of their own, use --group with the column that names them")});
  if (!around_the_world.empty())
    all.push_back({"longitudes", around_the_world + ": use --lonlat if places meet there"});
}

std::vector<Warning> FillReport::warnings_of_many() const {
  const std::int64_t most = range.max_context;
  std::vector<Warning> all;
  const auto warn = [&](const char* about, std::int64_t count, const std::string& text) {
    if (count > 0) all.push_back({about, fmt::format("{} of {} {}", count, tally.series, text)});
  };
  warn("empty context", tally.without_context,
       standardised && tally.series > tally.without_context
           ? "series have no observed point: they are predicted to be like the other series"
           : "series have no observed point: inputs and values are used as they are");
  if (standardised)
    warn("single point", tally.single, "series have one observed point: the spread of all series is used for theirs");
  warn("few context points", tally.small - tally.without_context,
       fmt::format("series have fewer observed points than in training, {}", range.min_context));
  if (local.neighbours > most || local.largest_context > most)
    warn("many context points", tally.large,
         fmt::format("series have more observed points than in training, {}", most));
  if (standardised)
    warn("constant", tally.constant, "series have one value alone in the context, whose size is used for their spread");
  if (tally.outside > 0)
    all.push_back(
        {"inputs of targets", fmt::format("{} of {} targets lie outside the range of inputs in training, which "
                                          "their series' observed points are mapped to",
                                          tally.outside, tally.targets)});
  return all;
}

std::vector<Warning> FillReport::warnings() const {
  std::vector<Warning> all;
  if (single) {
    all = single->warnings();
    if (local.neighbours <= range.max_context)  // a tile has no more points
      std::erase_if(all, [&](const Warning& w) { return w.about == "many context points"; });
  } else {
    all = warnings_of_many();
  }
  warn_of_far_points(all);
  warn_of_inputs(all);
  return all;
}

namespace {

Interval range_of(std::span<const double> x, std::size_t dim_x, std::size_t column) {
  Interval range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (std::size_t i = column; i < x.size(); i += dim_x)
    range = {std::min(range.low, x[i]), std::max(range.high, x[i])};
  return range;
}

/// Returns why places of these longitudes and latitudes should be taken as those of a sphere; empty if they need not.
std::string reason_for_sphere(const Interval& lon, const Interval& lat) {
  constexpr double kNear = 10, kHalf = 180, kTurn = 360, kPolar = 80;
  if (lon.low >= -kHalf && lon.high <= kHalf && lon.low < kNear - kHalf && lon.high > kHalf - kNear)
    return "longitudes lie on both sides of 180 degrees and count as far apart";
  if (lon.low >= 0 && lon.high <= kTurn && lon.low < kNear && lon.high > kTurn - kNear)
    return "longitudes lie on both sides of 0 degrees and count as far apart";
  const double furthest = std::max(-lat.low, lat.high);
  if (furthest > kPolar && furthest <= kHalf / 2 && lon.high - lon.low > kHalf)
    return "longitudes near a pole count as far apart";
  return "";
}

std::string in_lower_case(std::string name) {
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return name;
}

/// Returns true for a column of numbers that is called a date: days of a spreadsheet from 1954 to 2119.
bool holds_days_of_a_spreadsheet(const std::string& column, const Interval& range) {
  constexpr double kFirst = 20'000, kLast = 80'000;
  const std::string name = in_lower_case(column);
  const bool called = name.find("date") != std::string::npos || name == "datum" || name == "day" || name == "time";
  return called && range.low >= kFirst && range.high <= kLast;
}

/// Finds inputs that several observed rows have, longitudes around the world, and dates that are numbers.
void look_at_inputs(const TableQuestion& question, FillReport& report) {
  const auto& columns = report.columns;
  const std::size_t dim_x = columns.inputs.size();
  std::vector<std::uint32_t> observed;
  for (std::uint32_t row = 0; row < static_cast<std::size_t>(question.rows()); ++row)
    if (std::ranges::any_of(question.y, [row](std::span<const double> y) { return !std::isnan(y[row]); }))
      observed.push_back(row);
  const RowKeys keys{question.x, {}, question.groups};
  report.repeated = repeated_inputs(keys, static_cast<std::int64_t>(dim_x), observed);
  const ColumnForm form = report.x_forms.empty() ? ColumnForm() : report.x_forms[0];
  if (report.repeated.places > 0 && dim_x == 1 && form.kind == ColumnForm::Kind::time && !form.zoned) {
    const double time = question.x[static_cast<std::size_t>(report.repeated.first)];
    if (time != std::floor(time)) report.repeated_time = form.text(time);
  }
  for (std::size_t d = 0; dim_x == 2 && d < dim_x; ++d)
    if (is_longitude(columns.inputs[d]))
      report.around_the_world = reason_for_sphere(range_of(question.x, dim_x, d), range_of(question.x, dim_x, 1 - d));
  for (std::size_t d = 0; d < dim_x; ++d) {
    const ColumnForm& of_input = report.x_forms.empty() ? ColumnForm() : report.x_forms[d];
    const Interval range = range_of(question.x, dim_x, d);
    if (of_input.kind != ColumnForm::Kind::time && holds_days_of_a_spreadsheet(columns.inputs[d], range))
      report.notes.push_back(fmt::format(
          "{} holds numbers from {} to {}: if they are days of a spreadsheet, write dates (2020-02-01) for months and "
          "the calendar",
          columns.inputs[d], range.low, range.high));
  }
}

/// True for columns that have a value in this row.
auto known(std::size_t row) {
  return [row](std::span<const double> y) { return !std::isnan(y[row]); };
}

}  // namespace

void describe_inputs(const TableQuestion& question, std::int64_t dim_y, FillReport& report) {
  look_at_inputs(question, report);
  for (std::size_t row = 0; row < static_cast<std::size_t>(question.rows()); ++row)
    report.context_rows +=
        dim_y == 1 ? std::ranges::any_of(question.y, known(row)) : std::ranges::all_of(question.y, known(row));
}

void compare_with_training(const TrainedModel& trained, const TableQuestion& question, FillReport& report) {
  describe_inputs(question, trained.model->dim_y(), report);
  const std::size_t dim_x = report.columns.inputs.size();
  if (report.tally.series != 1) return;
  std::vector<std::string> names = report.columns.values;
  for (std::size_t v = 0; v < names.size() && !report.transforms.empty(); ++v)
    names[v] = report.transforms[v].scaled(names[v]);
  PredictionReport& single = report.single.emplace(
      prediction_report(trained, report.standardised, report.tally.units, report.columns.inputs, names));
  single.x_forms = report.x_forms;
  std::vector<double> values(question.y.size());
  for (std::size_t row = 0; row < static_cast<std::size_t>(question.rows()); ++row) {
    if (!std::ranges::all_of(question.y, known(row))) continue;
    std::ranges::transform(question.y, values.begin(), [row](std::span<const double> y) { return y[row]; });
    single.context.add(question.x.subspan(row * dim_x, dim_x));
    single.values.add(values);
  }
  single.unit_rows = single.context.rows();
  single.targets.add(question.targets);
}

}  // namespace npzoo
