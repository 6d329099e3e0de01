#include "models/series/table_series.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>

#include "datasets/scores.h"

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

void append(std::span<const double> rows, std::uint32_t row, std::int64_t width, std::vector<double>& to) {
  const auto part = rows.subspan(row * static_cast<std::size_t>(width), static_cast<std::size_t>(width));
  to.insert(to.end(), part.begin(), part.end());
}

void count(const Series& s, const TrainingRange& range, std::int64_t dim_x, SeriesTally& tally) {
  const std::int64_t context = std::ssize(s.y);
  tally.smallest = tally.series == 0 ? context : std::min(tally.smallest, context);
  tally.largest = std::max(tally.largest, context);
  ++tally.series;
  if (context == 0) ++tally.without_context;
  if (context < range.min_context) ++tally.small;
  if (context > range.max_context) ++tally.large;
  if (context > 0 && std::ranges::count(s.y, s.y[0]) == context) ++tally.constant;
  tally.targets += std::ssize(s.targets) / dim_x;
}

void count_outside(const Series& s, const Standardisation& units, const TrainingRange& range, SeriesTally& tally) {
  RangeCheck check(units, range, range.reach);
  check.add(s.targets);
  std::int64_t outside = 0;
  for (const RangeCheck::Column& column : check.columns()) outside = std::max(outside, column.outside);
  tally.outside += outside;
}

/// Puts figures, `width` for each target of a series, to the rows of the table.
void scatter(const std::vector<double>& from, std::span<const std::uint32_t> rows, std::size_t width,
             std::vector<double>& to) {
  for (std::size_t i = 0; i < rows.size() && !from.empty(); ++i)
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                to.begin() + static_cast<std::ptrdiff_t>(rows[i] * width));
}

void make_room(std::vector<double>& figures, std::size_t count) {
  if (figures.empty()) figures.assign(count, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

TableAnswer predict_table(const SeriesPredictor& predictor, const LocalOptions& local, const TrainingRange& range,
                          std::int64_t dim_x, const TableQuestion& q) {
  const auto places = static_cast<std::size_t>(std::ssize(q.targets) / dim_x);
  const GroupRows observed(q.groups, q.rows(), q.group_count);
  const GroupRows asked(q.target_groups, static_cast<std::int64_t>(places), q.group_count);
  TableAnswer answer{std::vector<PredictedColumn>(q.y.size()), {}};
  for (PredictedColumn& column : answer.columns)
    for (std::vector<double>* figures : {&column.mean, &column.std, &column.center}) make_room(*figures, places);
  const std::int64_t all = std::ssize(q.y) * q.group_count;
  std::int64_t given = 0, taken = 0;
  const auto make = [&](std::int64_t index) {
    const auto value = static_cast<std::size_t>(index / q.group_count);
    Series s;
    s.value_name = q.y_names[value];
    for (const std::uint32_t row : observed.of(index % q.group_count)) {
      if (std::isnan(q.y[value][row])) continue;
      append(q.x, row, dim_x, s.x);
      s.y.push_back(q.y[value][row]);
    }
    for (const std::uint32_t row : asked.of(index % q.group_count)) {
      append(q.targets, row, dim_x, s.targets);
      if (!q.truth.empty()) s.truth.push_back(q.truth[value][row]);
    }
    return s;
  };
  std::deque<std::vector<double>> places_of;  // targets of series whose answers are not there yet
  const auto next = [&]() -> std::optional<Series> {
    if (given == all) return {};
    Series s = make(given++);
    count(s, range, dim_x, answer.tally);
    places_of.push_back(s.targets);
    return s;
  };
  predict_locally(predictor, local, next, [&](SeriesPrediction said) {
    PredictedColumn& column = answer.columns[static_cast<std::size_t>(taken / q.group_count)];
    const auto rows = asked.of(taken++ % q.group_count);
    count_outside({{}, {}, std::move(places_of.front())}, said.units, range, answer.tally);
    places_of.pop_front();
    if (rows.empty()) return;
    const auto put = [&](const std::vector<double>& from, std::vector<double>& to) {
      const std::size_t width = from.size() / rows.size();
      if (width > 0) make_room(to, places * width);
      scatter(from, rows, width, to);
    };
    put(said.mean, column.mean);
    put(said.std, column.std);
    put(said.quantiles, column.quantiles);
    put(said.samples, column.samples);
    put(said.crps, column.crps);
    put(said.central_mass, column.central_mass);
    put(std::vector<double>(rows.size(), said.units.values[0].shift), column.center);
    answer.tally.units = std::move(said.units);
  });
  return answer;
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
