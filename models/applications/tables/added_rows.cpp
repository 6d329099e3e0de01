#include "npzoo/models/applications/tables/added_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/tables/table_writer.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/parse_number.h"
#include "npzoo/engine/io/text.h"
#include "npzoo/engine/words.h"
#include "npzoo/models/applications/tables/own_rows.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMostAdded = 10'000'000;

/// Lines of a table of targets, and their numbers.
class AddedTable {
 public:
  AddedTable(const FillTables& tables, std::vector<std::string> columns, const OwnRows& cells)
      : tables_(tables), columns_(std::move(columns)), cells_(cells) {
    numbers_.forms = tables.observed.forms;
    numbers_.groups = tables.groups;
  }

  void add(std::span<const double> x, std::uint32_t group) {
    lines_.push_back(cells_.row(columns_, x, group));
    add_numbers(x, group);
  }
  /// A row of the table itself.
  void add_own(std::int64_t row) {
    const auto at = static_cast<std::size_t>(row);
    lines_.emplace_back(tables_.table.text(row));
    add_numbers({&tables_.observed.x[at], 1}, tables_.groups.empty() ? 0 : tables_.observed.of_rows[at]);
  }

  void give_to(FillTables& tables) {
    const char separator = tables.table.format().separator();
    std::string header;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      header +=
          fmt::format("{}{}", i == 0 ? std::string() : std::string(1, separator), as_cell(columns_[i], separator));
    Table made = Table::of_lines(tables.table, "the added rows of " + tables.table.format().name(), header, lines_);
    tables.targets.emplace(std::move(made));
    tables.at = std::move(numbers_);
  }

 private:
  void add_numbers(std::span<const double> x, std::uint32_t group) {
    numbers_.x.insert(numbers_.x.end(), x.begin(), x.end());
    if (!tables_.groups.empty()) numbers_.of_rows.push_back(group);
  }

  const FillTables& tables_;
  std::vector<std::string> columns_;
  const OwnRows& cells_;
  std::vector<std::string> lines_;
  TableNumbers numbers_;
};

void check_one_input(const FillTables& tables, const char* flag) {
  const ColumnChoice& c = tables.columns;
  check(c.inputs.size() == 1, "[predict] {} found with the inputs {}, expected one input: use --grid for places", flag,
        fmt::join(c.inputs, ", "));
}

void add_following(FillTables& tables, std::int64_t horizon) {
  check_one_input(tables, "--horizon");
  const OwnRows cells(tables);
  AddedTable added(tables, cells.names(), cells);
  const auto groups = rows_of_groups(tables);
  check(std::ssize(groups) <= kMostAdded / horizon,
        "[predict] --horizon {} found for {} groups, expected at most {} rows", horizon, groups.size(), kMostAdded);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const TimeSeries series = times_of(tables, g, groups[g]);
    for (std::int64_t i = 0; i < horizon; ++i) {
      const double time = series.time_at(series.size() + i);
      added.add({&time, 1}, static_cast<std::uint32_t>(g));
    }
  }
  added.give_to(tables);
}

void add_absent(FillTables& tables) {
  check_one_input(tables, "--add-rows");
  const OwnRows cells(tables);
  check(cells.writes_own_columns(),
        "[predict] --add-rows found, but the notation of {} cannot be written, expected "
        "one column of times, or a date and a time",
        fmt::join(tables.columns.date, ", "));
  AddedTable added(tables, tables.table.header(), cells);
  const auto groups = rows_of_groups(tables);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<std::int64_t> rows = groups[g];
    const auto time_of = [&](std::int64_t row) { return tables.observed.x[static_cast<std::size_t>(row)]; };
    const TimeSeries series = times_of(tables, g, rows);
    check(series.calendar.has_value(),
          "[predict] --add-rows found, but the rows of {}{} are not in equal steps of {}, expected such steps",
          tables.table.format().name(), group_text(tables, g), in_quotes(tables.columns.inputs[0]));
    const bool descends = rows.size() > 1 && time_of(rows.front()) > time_of(rows.back());
    std::ranges::stable_sort(rows, {}, time_of);
    std::vector<std::pair<std::int64_t, double>> all;  // a row of the table, or −1 and a time
    std::size_t next = 0;
    for (const double time : series.time) {
      if (next >= rows.size() || time_of(rows[next]) != time) all.emplace_back(-1, time);
      for (; next < rows.size() && time_of(rows[next]) == time; ++next) all.emplace_back(rows[next], time);
    }
    if (descends) std::ranges::reverse(all);
    for (const auto& [row, time] : all)
      if (row >= 0)
        added.add_own(row);
      else
        added.add({&time, 1}, static_cast<std::uint32_t>(g));
  }
  added.give_to(tables);
}

/// Rounds to a thousandth of a step, so that written places are short.
double rounded_place(double value, double step) {
  if (!(step > 0)) return value;
  const double unit = std::pow(10.0, std::floor(std::log10(step)) - 3);
  const double places = std::round(value / unit);
  return unit < 1 ? places / std::round(1 / unit) : places * unit;
}

/// Points along one input.
std::vector<double> points_along(const FillTables& tables, const PlaceGrid& grid, std::size_t input) {
  const auto [low, high] = range_of(tables, input);
  const std::string& name = tables.columns.inputs[input];
  check(high > low, "[predict] --grid found, but {} has one value in all rows, expected several", in_quotes(name));
  double first = low, step = grid.step;
  std::int64_t count = 0;
  if (grid.step > 0) {
    const double from = std::floor(low / step), to = std::ceil(high / step);
    check(to - from < static_cast<double>(kMostAdded),
          "[predict] --grid {} found for {} from {} to {}, expected at most {} points", step, in_quotes(name), low,
          high, kMostAdded);
    first = from * step;
    count = std::llround(to - from) + 1;
  } else {
    count = grid.counts[input];
    step = (high - low) / static_cast<double>(count - 1);
  }
  std::vector<double> points;
  for (std::int64_t i = 0; i < count; ++i) points.push_back(rounded_place(first + static_cast<double>(i) * step, step));
  return points;
}

void add_grid(FillTables& tables, const PlaceGrid& grid) {
  const std::vector<std::string>& inputs = tables.columns.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    check(tables.observed.forms[i].kind != ColumnForm::Kind::time,
          "[predict] --grid found, but {} holds dates, expected inputs of numbers: use --horizon for later rows, or "
          "--targets",
          in_quotes(inputs[i]));
  check(grid.counts.empty() || grid.counts.size() == inputs.size(),
        "[predict] --grid {} found for the inputs {}, expected {}", fmt::join(grid.counts, "x"),
        fmt::join(inputs, ", "), counted(std::ssize(inputs), "number"));
  std::vector<std::vector<double>> points;
  const std::size_t groups = std::max<std::size_t>(1, tables.groups.size());
  auto all = static_cast<double>(groups);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    points.push_back(points_along(tables, grid, i));
    all *= static_cast<double>(points.back().size());
  }
  check(all <= static_cast<double>(kMostAdded), "[predict] --grid found with {} points, expected at most {}", all,
        kMostAdded);
  const OwnRows cells(tables);
  AddedTable added(tables, cells.names(), cells);
  std::vector<double> x(inputs.size());
  for (std::uint32_t g = 0; g < groups; ++g)
    for (std::int64_t n = 0; n < static_cast<std::int64_t>(all / static_cast<double>(groups)); ++n) {
      std::int64_t rest = n;
      for (std::size_t i = 0; i < inputs.size(); ++i) {  // the first input varies fastest
        const auto size = std::ssize(points[i]);
        x[i] = points[i][static_cast<std::size_t>(rest % size)];
        rest /= size;
      }
      added.add(x, g);
    }
  added.give_to(tables);
}

}  // namespace

PlaceGrid parse_grid(std::string_view text) {
  constexpr std::size_t kMostInputs = 3;
  PlaceGrid grid;
  const auto read = [&](std::string_view part, auto& value) {
    const auto [end, error] = parse_number(part, value);
    return error == std::errc() && end == part.data() + part.size();
  };
  const auto wrong = [&] {
    fail("--grid {} found, expected counts of points, such as 100x80, or a step, such as 0.5", in_quotes(text));
  };
  if (text.find('x') == text.npos) {
    if (!read(text, grid.step) || !(grid.step > 0) || !std::isfinite(grid.step)) wrong();
    return grid;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    std::int64_t count = 0;
    if (!read(text.substr(begin, end - begin), count) || count < 2 || count > kMostAdded) wrong();
    grid.counts.push_back(count);
    begin = end + 1;
  }
  if (grid.counts.size() > kMostInputs) wrong();
  return grid;
}

void add_rows(FillTables& tables, const AddedRows& rows) {
  const char* flag = rows.horizon > 0 ? "--horizon" : rows.absent ? "--add-rows" : "--grid";
  check(tables.columns.covariates.empty(),
        "[predict] {} and covariates ({}) found, but the added rows have none, expected a table of rows with their "
        "covariates: "
        "--targets FILE",
        flag, fmt::join(tables.columns.covariates, ", "));
  if (rows.horizon > 0) return add_following(tables, rows.horizon);
  if (rows.absent) return add_absent(tables);
  add_grid(tables, rows.grid);
}

}  // namespace npzoo
