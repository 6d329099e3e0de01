#include "npzoo/models/applications/tables/cell_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "npzoo/models/applications/tables/columns/column_scale.h"

namespace npzoo {

namespace {

constexpr std::size_t kMostColumns = 500, kMostCells = 20'000'000;

/// Compares rows by their inputs.
class InputOrder {
 public:
  explicit InputOrder(const FillData& data) : x_(data.x), width_(static_cast<std::size_t>(data.dim_x)) {}

  bool less(std::size_t a, std::size_t b) const { return std::ranges::lexicographical_compare(row(a), row(b)); }
  bool equal(std::size_t a, std::size_t b) const { return std::ranges::equal(row(a), row(b)); }

 private:
  std::span<const double> row(std::size_t i) const { return x_.subspan(i * width_, width_); }

  std::span<const double> x_;
  std::size_t width_;
};

}  // namespace

CellLayout::CellLayout(const FillData& data) : data_(data) {
  if (data.groups.empty())
    lay_out_rows();
  else
    lay_out_groups();
}

void CellLayout::lay_out_rows() {
  rows_ = data_.values.front().size();
  at_.resize(rows_);
  std::iota(at_.begin(), at_.end(), std::int64_t{0});
  if (data_.dim_x - data_.covariates == 1) {
    const auto dim_x = static_cast<std::size_t>(data_.dim_x);
    std::ranges::stable_sort(at_, {}, [&](std::int64_t row) { return data_.x[static_cast<std::size_t>(row) * dim_x]; });
    std::vector<std::int64_t> rows;
    for (const std::int64_t row : at_)
      if (!rows.empty() && same(rows.back(), row))
        copies_.push_back({static_cast<std::size_t>(row), static_cast<std::size_t>(rows.back())});
      else
        rows.push_back(row);
    at_ = std::move(rows);
    rows_ = at_.size();
  }
  for (std::size_t source = 0; source < sources(); ++source) columns_.push_back({source, 0});
  values_ = data_.values.size();
  if (columns() > kMostColumns) refusal_ = fmt::format("there are more than {}", kMostColumns);
  if (rows_ * columns() > kMostCells) refusal_ = "the table is too large";
}

void CellLayout::lay_out_groups() {
  groups_ = static_cast<std::size_t>(std::ranges::max(data_.groups)) + 1;
  const std::size_t all = groups_ * sources();
  if (all > kMostColumns) {
    refusal_ = fmt::format("groups have more than {} columns", kMostColumns);
    return;
  }
  const InputOrder inputs(data_);
  std::vector<std::size_t> order(data_.groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return inputs.less(a, b); });
  for (std::size_t i = 0; i < order.size(); ++i) rows_ += i == 0 || !inputs.equal(order[i - 1], order[i]);
  if (rows_ > kMostCells / all) {
    refusal_ = "the table is too large";
    return;
  }
  at_.assign(rows_ * groups_, kNoRow);
  std::size_t place = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place += i > 0 && !inputs.equal(order[i - 1], order[i]);
    std::int64_t& cell = at_[place * groups_ + data_.groups[order[i]]];
    if (cell != kNoRow) refusal_ = "a group has several rows of one place";
    cell = static_cast<std::int64_t>(order[i]);
  }
  for (std::size_t source = 0; source < sources(); ++source)
    for (std::uint32_t group = 0; group < groups_; ++group)
      if (source < data_.values.size() || varies({source, group})) columns_.push_back({source, group});
  values_ = data_.values.size() * groups_;
}

/// Whether two rows have the same inputs, values and helpers.
bool CellLayout::same(std::int64_t a, std::int64_t b) const {
  if (!InputOrder(data_).equal(static_cast<std::size_t>(a), static_cast<std::size_t>(b))) return false;
  const auto equal = [&](std::span<const double> column) {
    const double first = column[static_cast<std::size_t>(a)], second = column[static_cast<std::size_t>(b)];
    return first == second || (std::isnan(first) && std::isnan(second));
  };
  return std::ranges::all_of(data_.values, equal) && std::ranges::all_of(data_.helpers, equal);
}

/// A helper that has one value in a group, such as the altitude of a station, says nothing there.
bool CellLayout::varies(const Column& column) const {
  const std::span<const double> cells = data_.helpers[column.source - data_.values.size()];
  const auto first = std::ranges::find(data_.groups, column.group);
  for (auto group = first; group != data_.groups.end(); ++group)
    if (*group == column.group && cells[static_cast<std::size_t>(group - data_.groups.begin())] !=
                                      cells[static_cast<std::size_t>(first - data_.groups.begin())])
      return true;
  return false;
}

void CellLayout::leave_out(std::span<const std::size_t> columns) {
  std::size_t column = 0;
  std::erase_if(columns_, [&](const Column&) { return std::ranges::binary_search(columns, column++); });
}

std::vector<std::string> CellLayout::names() const {
  std::vector<std::string> names;
  for (const Column& c : columns_) {
    const bool is_value = c.source < data_.values.size();
    const std::string& name =
        is_value ? data_.value_names[c.source] : data_.helper_names[c.source - data_.values.size()];
    if (data_.groups.empty()) {
      names.push_back(name);
      continue;
    }
    const std::string group = c.group < data_.group_labels.size() ? data_.group_labels[c.group]
                                                                  : fmt::format("{} {}", data_.group_name, c.group);
    names.push_back(sources() == 1 ? group : fmt::format("{} of {}", name, group));
  }
  return names;
}

std::vector<double> CellLayout::times() const {
  if (data_.dim_x - data_.covariates != 1) return {};
  std::vector<double> times(rows_);
  for (std::size_t i = 0; i < at_.size(); ++i)
    if (at_[i] != kNoRow) times[i / groups_] = data_.x[static_cast<std::size_t>(at_[i] * data_.dim_x)];
  return times;
}

CellTable CellLayout::cells() const {
  CellTable cells(rows_, columns());
  for (std::size_t row = 0; row < rows_; ++row)
    for (std::size_t c = 0; c < columns(); ++c) {
      const std::int64_t from = data_row(row, c);
      const std::size_t source = columns_[c].source, values = data_.values.size();
      if (from != kNoRow)
        cells(row, c) =
            (source < values ? data_.values[source] : data_.helpers[source - values])[static_cast<std::size_t>(from)];
    }
  return cells;
}

std::vector<std::vector<double>> CellLayout::values_of(const CellTable& cells) const {
  std::vector<std::vector<double>> values(
      data_.values.size(), std::vector<double>(data_.values.front().size(), std::numeric_limits<double>::quiet_NaN()));
  for (std::size_t row = 0; row < rows_; ++row)
    for (std::size_t c = 0; c < values_; ++c)
      if (const std::int64_t to = data_row(row, c); to != kNoRow)
        values[value_of(c)][static_cast<std::size_t>(to)] = cells(row, c);
  return values;
}

CellFigures CellLayout::figures(const FillResult& result, const CellTable& shown) const {
  const std::vector<ColumnScale> scales = column_scales(ColumnScale::Kind::standard, shown);
  CellFigures figures(rows_, columns());
  for (std::size_t row = 0; row < rows_; ++row)
    for (std::size_t c = 0; c < columns(); ++c) {
      const std::int64_t from = c < values_ ? data_row(row, c) : kNoRow;
      const PredictedColumn* predicted = from == kNoRow ? nullptr : &result.columns[value_of(c)];
      figures.mean(row, c) = predicted ? predicted->mean[static_cast<std::size_t>(from)] : scales[c].moments().mean;
      figures.std(row, c) = predicted ? predicted->std[static_cast<std::size_t>(from)] : scales[c].moments().std;
    }
  return figures;
}

}  // namespace npzoo
