#include "npzoo/models/applications/tables/table_series.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>

#include "npzoo/datasets/scores.h"
#include "npzoo/datasets/tables/outliers.h"
#include "npzoo/engine/checked_product.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

/// The rows of each group, in their order.
class GroupRows {
 public:
  GroupRows(std::span<const std::uint32_t> groups, std::int64_t rows, std::int64_t count)
      : begins_(static_cast<std::size_t>(count) + 1), rows_(static_cast<std::size_t>(rows)) {
    if (groups.empty()) {
      std::iota(rows_.begin(), rows_.end(), std::uint32_t{0});
      std::ranges::fill(std::span(begins_).subspan(1), rows_.size());
      return;
    }
    for (const std::uint32_t g : groups) ++begins_[g + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
    for (std::size_t row = 0; row < groups.size(); ++row) rows_[next[groups[row]]++] = static_cast<std::uint32_t>(row);
  }

  std::span<const std::uint32_t> of(std::int64_t group) const {
    const auto g = static_cast<std::size_t>(group);
    return std::span(rows_).subspan(begins_[g], begins_[g + 1] - begins_[g]);
  }

 private:
  std::vector<std::size_t> begins_;
  std::vector<std::uint32_t> rows_;
};

/// Counts numbers far from the others, in rows of `width` numbers; `first` is the number of their first column.
void count_far(std::span<const double> rows, std::size_t width, std::size_t first, const auto& find, FarPoints& far) {
  std::int64_t points = 0;
  for (std::size_t c = 0; c < width; ++c) {
    std::vector<double> column;
    for (std::size_t i = c; i < rows.size(); i += width) column.push_back(rows[i]);
    const std::optional<FarNumbers> found = find(column);
    if (!found) continue;
    points += found->count;
    if (found->distance > far.distance) {
      far.column = first + c;
      far.furthest = found->furthest;
      far.distance = found->distance;
    }
  }
  far.points += points;
  far.series += points > 0;
}

void count(const Series& s, const TrainingRange& range, std::int64_t dim_x, SeriesTally& tally) {
  const std::int64_t context = std::ssize(s.x) / dim_x;
  tally.smallest = tally.series == 0 ? context : std::min(tally.smallest, context);
  tally.largest = std::max(tally.largest, context);
  ++tally.series;
  if (context == 0) ++tally.without_context;
  if (context == 1) ++tally.single;
  if (context < range.min_context) ++tally.small;
  if (context > range.max_context) ++tally.large;
  tally.targets += std::ssize(s.targets) / dim_x;
}

void count_outside(const Series& s, const Standardisation& units, const TrainingRange& range, SeriesTally& tally) {
  RangeCheck check(units, range, range.reach);
  check.add(s.targets);
  std::int64_t outside = 0;
  for (const RangeCheck::Column& column : check.columns()) outside = std::max(outside, column.outside);
  tally.outside += outside;
}

/// The series of a table by their number, and their predictions.
class SeriesOfTable {
 public:
  SeriesOfTable(const TableQuestion& question, std::int64_t dim_x, std::int64_t dim_y)
      : q_(question),
        dim_x_(static_cast<std::size_t>(dim_x)),
        dim_y_(static_cast<std::size_t>(dim_y)),
        places_(question.targets.size() / dim_x_),
        observed_(question.groups, question.rows(), question.group_count),
        asked_(question.target_groups, static_cast<std::int64_t>(places_), question.group_count) {
    check(q_.y.size() % dim_y_ == 0, "[series] {} columns of values found, expected {} for this model", q_.y.size(),
          dim_y_);
    answer_.columns.resize(q_.y.size());
    for (PredictedColumn& column : answer_.columns)
      for (std::vector<double>* figures : {&column.mean, &column.std}) make_room(*figures, 1);
  }

  std::int64_t count() const { return std::ssize(q_.y) / static_cast<std::int64_t>(dim_y_) * q_.group_count; }

  /// Position of the first value of a series among the columns.
  std::size_t first_column(std::int64_t index) const {
    return static_cast<std::size_t>(index / q_.group_count) * dim_y_;
  }

  /// The units of all groups of a series' values together; none if they have fewer than two points.
  std::optional<Standardisation> units_of_all(std::int64_t index, const SeriesMethod& method) const {
    if (q_.group_count < 2) return {};
    Series all = unobserved(index);
    for (std::int64_t group = 0; group < q_.group_count; ++group) observe(index, group, all);
    return all.y.size() < 2 * dim_y_ ? std::nullopt : std::optional(method.units_of(all));
  }

  Series series(std::int64_t index) const {
    const std::size_t first = first_column(index);
    Series s = unobserved(index);
    observe(index, index % q_.group_count, s);
    for (const std::uint32_t row : places_of(index)) {
      append(q_.targets, row, s.targets);
      for (std::size_t c = 0; c < dim_y_ && !q_.truth.empty(); ++c) s.truth.push_back(q_.truth[first + c][row]);
      for (std::size_t c = 0; c < dim_y_ && !q_.added_variance.empty(); ++c)
        s.added_variance.push_back(q_.added_variance[first + c][row]);
    }
    return s;
  }

  void put(std::int64_t index, const SeriesPrediction& said) {
    const std::vector<std::uint32_t> rows = places_of(index);
    for (std::size_t c = 0; c < dim_y_ && !rows.empty(); ++c) {
      PredictedColumn& column = answer_.columns[first_column(index) + c];
      scatter(said.mean, c, rows, column.mean);
      scatter(said.std, c, rows, column.std);
      scatter(said.quantiles, c, rows, column.quantiles);
      scatter(said.samples, c, rows, column.samples);
      scatter(said.crps, c, rows, column.crps);
      scatter(said.central_mass, c, rows, column.central_mass);
    }
  }

  TableAnswer answer(SeriesTally tally) {
    answer_.tally = std::move(tally);
    return std::move(answer_);
  }

 private:
  std::vector<std::uint32_t> places_of(std::int64_t index) const {
    const auto all = asked_.of(index % q_.group_count);
    std::vector<std::uint32_t> places(all.begin(), all.end());
    const auto columns = std::span(q_.y).subspan(first_column(index), dim_y_);
    if (q_.missing_alone)
      std::erase_if(places, [&](std::uint32_t row) {
        return std::ranges::none_of(columns, [row](std::span<const double> y) { return std::isnan(y[row]); });
      });
    return places;
  }

  Series unobserved(std::int64_t index) const {
    const auto names = std::span(q_.y_names).subspan(first_column(index), dim_y_);
    Series s;
    s.value_names.assign(names.begin(), names.end());
    s.ratio = q_.ratio;
    if (!q_.transforms.empty()) s.transforms = std::span(q_.transforms).subspan(first_column(index), dim_y_);
    return s;
  }

  /// Adds the points of a group where all values of the series are known.
  void observe(std::int64_t index, std::int64_t group, Series& s) const {
    const auto columns = std::span(q_.y).subspan(first_column(index), dim_y_);
    for (const std::uint32_t row : observed_.of(group)) {
      if (std::ranges::any_of(columns, [row](std::span<const double> y) { return std::isnan(y[row]); })) continue;
      append(q_.x, row, s.x);
      for (const std::span<const double> y : columns) s.y.push_back(y[row]);
    }
  }

  void append(std::span<const double> x, std::uint32_t row, std::vector<double>& to) const {
    const auto part = x.subspan(row * dim_x_, dim_x_);
    to.insert(to.end(), part.begin(), part.end());
  }

  /// Puts the figures (rows, Dy, width) of value `c` to the rows of the table.
  void scatter(const std::vector<double>& from, std::size_t c, std::span<const std::uint32_t> rows,
               std::vector<double>& to) const {
    const std::size_t width = from.size() / (rows.size() * dim_y_);
    if (width > 0) make_room(to, width);
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>((i * dim_y_ + c) * width), width,
                  to.begin() + static_cast<std::ptrdiff_t>(rows[i] * width));
  }

  void make_room(std::vector<double>& figures, std::size_t width) const {
    if (figures.empty()) figures.assign(checked_product(places_, width), std::numeric_limits<double>::quiet_NaN());
  }

  const TableQuestion& q_;
  std::size_t dim_x_, dim_y_, places_;
  GroupRows observed_, asked_;
  TableAnswer answer_;
};

}  // namespace

std::vector<std::span<const double>> as_columns(std::span<const std::vector<double>> columns) {
  return {columns.begin(), columns.end()};
}

TableAnswer predict_table(SeriesMethod& method, const TrainingRange& range, std::int64_t dim_x,
                          const TableQuestion& question) {
  SeriesOfTable table(question, dim_x, method.dim_y());
  SeriesTally tally;
  std::int64_t given = 0, taken = 0;
  std::optional<Standardisation> usual;
  std::deque<std::vector<double>> places_of;  // targets of series whose answers are not there yet
  const auto next = [&]() -> std::optional<Series> {
    if (given == table.count()) return {};
    const std::size_t first_value = table.first_column(given);
    if (given % question.group_count == 0) usual.reset();
    Series s = table.series(given);
    if (std::ssize(s.x) < 2 * dim_x && !usual) usual = table.units_of_all(given, method);
    s.usual = usual;
    ++given;
    count(s, range, dim_x, tally);
    count_far(s.x, static_cast<std::size_t>(dim_x), 0, far_inputs, tally.far_inputs);
    count_far(s.y, s.value_names.size(), first_value, far_values, tally.far_values);
    places_of.push_back(s.targets);
    return s;
  };
  method.predict(next, [&](SeriesPrediction said) {
    count_outside({{}, {}, std::move(places_of.front())}, said.units, range, tally);
    places_of.pop_front();
    tally.constant += std::ranges::any_of(said.units.values, &ValueMap::constant);
    if (said.turn) {
      ++tally.turned;
      if (!tally.turn || said.turn->ratio > tally.turn->ratio) tally.turn = said.turn;
    }
    tally.noise_changes += said.noise_ratio > 1;
    tally.noise_ratio = std::max(tally.noise_ratio, said.noise_ratio);
    table.put(taken++, said);
    tally.units = std::move(said.units);
  });
  return table.answer(std::move(tally));
}

TruthScores score(const PredictedColumn& column, std::span<const double> truth) {
  MarginalFit fit;
  TruthScores scores;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (std::isnan(truth[i])) continue;
    const double error = column.mean[i] - truth[i];
    ++scores.rows;
    scores.mae += std::abs(error);
    scores.rmse += error * error;
    fit.add(column.crps[i], column.central_mass[i]);
  }
  const auto rows = static_cast<double>(scores.rows);
  scores.mae /= rows;
  scores.rmse = std::sqrt(scores.rmse / rows);
  scores.crps = fit.crps();
  scores.coverage_95 = fit.coverage(95);
  return scores;
}

TruthScores pooled(std::span<const TruthScores> scores) {
  TruthScores all;
  for (const TruthScores& s : scores) {
    if (s.rows == 0) continue;
    const auto rows = static_cast<double>(s.rows);
    all.rows += s.rows;
    all.mae += rows * s.mae;
    all.rmse += rows * s.rmse * s.rmse;
    all.crps += rows * s.crps;
    all.coverage_95 += rows * s.coverage_95;
  }
  const auto rows = static_cast<double>(all.rows);
  return {all.rows, all.mae / rows, std::sqrt(all.rmse / rows), all.crps / rows, all.coverage_95 / rows};
}

}  // namespace npzoo
