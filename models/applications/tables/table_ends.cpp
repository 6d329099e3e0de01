#include "npzoo/models/applications/tables/table_ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "npzoo/datasets/gaussian_mixture.h"
#include "npzoo/datasets/normal_distribution.h"
#include "npzoo/datasets/series/season.h"
#include "npzoo/datasets/series/time_series.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A series of a table on a grid of steps, and the rows of the table behind its end (see TableEnd).
struct OpenEnd {
  std::size_t column = 0;
  std::int64_t group = 0;
  SeriesEnd series{};
  std::vector<std::int64_t> rows{}, steps{};
  bool floor = false;
};

struct Row {
  double x = 0, y = kNan;
  std::int64_t target = -1;
};

/// Periods of the calendar, in steps.
std::vector<std::int64_t> likely_periods(const TimeSeries& s) {
  if (s.business_days) return {5};
  if (s.time_form.kind != ColumnForm::Kind::time) return {};
  if (s.calendar && 12 % s.calendar->months == 0 && s.calendar->months < 12) return {12 / s.calendar->months};
  if (s.calendar) return {};
  constexpr double kWeek = 7;
  std::vector<std::int64_t> likely;
  for (const double days : {1.0 / 24, 1.0, kWeek, 365.25}) {
    const double steps = days / s.step;
    if (steps > 1.5 && std::abs(steps - std::round(steps)) < 0.05 * std::min(steps, 20.0))
      likely.push_back(std::llround(steps));
  }
  return likely;
}

double period_in_steps(const std::string& text, const TimeSeries& s) {
  double number = 0;
  const auto [unit, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view name(unit, static_cast<std::size_t>(text.data() + text.size() - unit));
  const auto bad = [&] {
    fail(
        "[predict] the period {} found, expected two or more steps, such as 12, or of dates a time such as 1y, 3m, 7d "
        "or 24h",
        text);
  };
  if (error != std::errc() || !std::isfinite(number)) bad();
  if (!name.empty()) {
    constexpr double kYear = 365.25;
    const double days = name == "y" ? kYear : name == "m" ? kYear / 12 : name == "d" ? 1 : name == "h" ? 1.0 / 24 : 0;
    if (days == 0 || s.time_form.kind != ColumnForm::Kind::time) bad();
    number *= days / (s.calendar ? kYear / 12 * static_cast<double>(s.calendar->months) : s.step);
    if (std::abs(number - std::round(number)) < 1e-6) number = std::round(number);
  }
  if (!(number >= 2)) bad();
  return number;
}

/// Rows at one place each, with equal steps.
struct Grid {
  std::vector<std::int64_t> places;  // of the rows
  TimeSeries series;                 // its form and step alone
};

/// Steps of rows that are nearly equal, such as those of years with three decimals: each row is a place.
bool nearly_equal_steps(std::span<const Row> rows) {
  constexpr double kMost = 1.2;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    least = std::min(least, rows[i].x - rows[i - 1].x);
    most = std::max(most, rows[i].x - rows[i - 1].x);
  }
  return most <= kMost * least;
}

/// `rows` ascend, with different inputs. None if their steps are not equal.
std::optional<Grid> grid_of(std::span<const Row> rows, const ColumnForm& form) {
  Measurements m{.time_form = form};
  for (const Row& row : rows) {
    m.time.push_back(row.x);
    m.y.push_back(row.y);
  }
  Grid grid{.places = {}, .series = order_by_time(std::move(m), 1, "series")};
  if (!grid.series.regular && !nearly_equal_steps(rows)) return {};
  const std::vector<double>& time = grid.series.time;
  for (const Row& row : rows) grid.places.push_back(std::ranges::lower_bound(time, row.x) - time.begin());
  return grid;
}

/// The rows of one series in order; targets at an observed place are left out.
std::vector<Row> rows_of(const TableQuestion& q, std::size_t column, std::span<const std::int64_t> observed,
                         std::span<const std::int64_t> targets) {
  std::vector<Row> rows;
  for (const std::int64_t i : observed)
    if (const double y = q.y[column][static_cast<std::size_t>(i)]; !std::isnan(y))
      rows.push_back({q.x[static_cast<std::size_t>(i)], y, -1});
  double last = -std::numeric_limits<double>::infinity();
  for (const Row& row : rows) last = std::max(last, row.x);
  for (const std::int64_t i : targets)
    if (const double x = q.targets[static_cast<std::size_t>(i)]; x > last) rows.push_back({x, kNan, i});
  std::ranges::stable_sort(rows, {}, &Row::x);
  return rows;
}

/// Returns none if the series does not qualify; a series without targets qualifies only with `complete`.
std::optional<OpenEnd> end_of(std::vector<Row> rows, std::size_t column, std::size_t group,
                              const TableEndOptions& options, bool complete) {
  constexpr std::int64_t kFewest = 8;
  OpenEnd end{.column = column, .group = static_cast<std::int64_t>(group)};
  std::int64_t known = 0, zeros = 0, negative = 0;
  for (const Row& row : rows) {
    known += !std::isnan(row.y);
    zeros += row.y == 0;
    negative += row.y < 0;
  }
  if (known < kFewest || (known == std::ssize(rows) && !complete)) return {};
  if (std::ranges::adjacent_find(rows, {}, &Row::x) != rows.end()) return {};
  const std::optional<Grid> grid = grid_of(rows, options.form);
  if (!grid) return {};
  const std::int64_t last = grid->places[static_cast<std::size_t>(known - 1)];
  end.series.y.assign(static_cast<std::size_t>(last + 1), kNan);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].target < 0) {
      end.series.y[static_cast<std::size_t>(grid->places[i])] = rows[i].y;
      continue;
    }
    end.rows.push_back(rows[i].target);
    end.steps.push_back(grid->places[i] - last);
    end.series.horizon = std::max(end.series.horizon, end.steps.back());
  }
  for (const std::string& text : options.periods) end.series.periods.push_back(period_in_steps(text, grid->series));
  end.series.likely = likely_periods(grid->series);
  constexpr std::int64_t kOften = 10;  // one in so many
  end.floor = negative == 0 && kOften * zeros >= known;
  return end;
}

std::vector<OpenEnd> ends_of(const TableQuestion& q, const TableEndOptions& options, bool complete) {
  const auto groups = static_cast<std::size_t>(q.group_count);
  std::vector<std::vector<std::int64_t>> observed(groups), targets(groups);
  for (std::int64_t i = 0; i < std::ssize(q.x); ++i)
    observed[q.groups.empty() ? 0 : q.groups[static_cast<std::size_t>(i)]].push_back(i);
  for (std::int64_t i = 0; i < std::ssize(q.targets); ++i)
    targets[q.target_groups.empty() ? 0 : q.target_groups[static_cast<std::size_t>(i)]].push_back(i);
  std::vector<OpenEnd> ends;
  for (std::size_t column = 0; column < q.y.size(); ++column)
    for (std::size_t g = 0; g < groups; ++g)
      if (auto end = end_of(rows_of(q, column, observed[g], targets[g]), column, g, options, complete))
        ends.push_back(std::move(*end));
  return ends;
}

/// A Gaussian forecast; with `floor` it is censored at 0.
struct EndDistribution {
  double mean = 0, std = 0;
  bool floor = false;

  GaussianMixture gaussian() const { return {std::span(&mean, 1), std::span(&std, 1)}; }
  double below() const { return floor ? normal_probability(-mean / std) : 0; }

  /// Returns the forecast's mean, at least 0, and the deviation of the censored Gaussian. The mean of the censored
  /// Gaussian is higher: it would move forecasts of values that are never negative.
  ValueMoments moments() const {
    if (!floor) return {mean, std};
    const double z = mean / std, above = normal_probability(z),
                 density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
    const double first = mean * above + std * density,
                 second = (mean * mean + std * std) * above + mean * std * density;
    return {std::max(mean, 0.0), std::sqrt(std::max(second - first * first, 0.0))};
  }
  double limited(double y) const { return floor ? std::max(y, 0.0) : y; }
  /// In closed form: the score of the Gaussian less the integral of its squared distribution function below 0.
  double score(double y) const {
    const double whole = crps(gaussian(), y);
    if (!floor || y < 0) return whole;
    const double l = -mean / std, phi = std::exp(-0.5 * l * l) / std::sqrt(2 * std::numbers::pi),
                 cdf = normal_probability(l);
    return whole - std * (l * cdf * cdf + 2 * phi * cdf -
                          normal_probability(std::numbers::sqrt2 * l) * std::numbers::inv_sqrtpi);
  }
  double mass(double y) const { return floor && y <= 0 ? std::max(0.0, 1 - 2 * below()) : central_mass(gaussian(), y); }
};

/// Replaces the prediction of a row by a forecast.
void put(const EndDistribution& d, std::int64_t row, double truth, std::span<const double> quantiles,
         PredictedColumn& column) {
  const auto i = static_cast<std::size_t>(row);
  for (std::size_t q = 0; q < quantiles.size(); ++q)
    column.quantiles[i * quantiles.size() + q] = d.limited(quantile(d.gaussian(), quantiles[q]));
  const ValueMoments m = d.moments();
  column.mean[i] = m.mean;
  column.std[i] = m.std;
  if (std::isnan(truth)) return;
  column.crps[i] = d.score(truth);
  column.central_mass[i] = d.mass(truth);
}

/// Returns `std`, at least the spacing of doubles at `mean`: methods that fit a series without an error predict 0.
double positive_std(double std, double mean) {
  const double size = std::abs(mean);
  return std::max(std, std::nextafter(size, std::numeric_limits<double>::infinity()) - size);
}

/// What a method predicts for row `i` of an end.
EndDistribution distribution(const TableEnd& end, const GaussianPath& path, std::size_t i) {
  const double mean = end.mean(path, i), std = path.std[static_cast<std::size_t>(end.steps[i] - 1)];
  return {mean, positive_std(std, mean), end.floor};
}

double truth_of(const TableQuestion& q, const TableEnd& end, std::size_t i) {
  return q.truth.empty() ? kNan : q.truth[end.column][static_cast<std::size_t>(end.rows[i])];
}

}  // namespace

double TableEnd::mean(const GaussianPath& path, std::size_t i) const {
  return path.mean[static_cast<std::size_t>(steps[i] - 1)] + (added.empty() ? 0 : added[i]);
}

std::vector<double> TableEnd::paths(std::int64_t count) const {
  std::vector<Random> random;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<double>(i);
    random.push_back(streams.stream({&number, 1}));
  }
  const std::vector<double> all = forecast.paths(random);
  const std::size_t horizon = forecast.combined.mean.size();
  std::vector<double> at_rows;
  for (std::size_t p = 0; p < random.size(); ++p)
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double value = all[p * horizon + static_cast<std::size_t>(steps[i] - 1)];
      at_rows.push_back((floor ? std::max(value, 0.0) : value) + (added.empty() ? 0 : added[i]));
    }
  return at_rows;
}

std::vector<TableEnd> forecast_table_ends(const SeriesPredictor& predictor, const TableQuestion& q,
                                          const TableEndOptions& options, std::vector<PredictedColumn>& columns) {
  std::vector<OpenEnd> open = ends_of(q, options, false);
  std::vector<SeriesEnd> series;
  for (const OpenEnd& end : open) series.push_back(end.series);
  std::vector<EndForecast> forecasts = forecast_ends(predictor, series);
  std::vector<TableEnd> ends;
  for (std::size_t e = 0; e < open.size(); ++e) {
    const PlaceSamples streams(options.seed, {}, open[e].series.y);
    ends.push_back({open[e].column, open[e].group, std::move(open[e].rows), std::move(open[e].steps), open[e].floor,
                    std::move(forecasts[e]), streams});
    const TableEnd& end = ends.back();
    PredictedColumn& column = columns[end.column];
    for (std::size_t i = 0; i < end.rows.size(); ++i)
      put(distribution(end, end.forecast.combined, i), end.rows[i], truth_of(q, end, i), options.quantiles, column);
    const std::size_t samples = column.samples.size() / column.mean.size(), rows = end.rows.size();
    const std::vector<double> paths = end.paths(static_cast<std::int64_t>(samples));
    for (std::size_t s = 0; s < samples; ++s)
      for (std::size_t i = 0; i < rows; ++i)
        column.samples[static_cast<std::size_t>(end.rows[i]) * samples + s] = paths[s * rows + i];
  }
  return ends;
}

std::vector<BaselineScores> score_end_methods(const TableQuestion& q, std::span<const TableEnd> ends) {
  std::vector<BaselineScores> all;
  if (q.truth.empty() || ends.empty()) return all;
  for (const EndMethod method : kPlainEndMethods) {
    BaselineScores& scores = all.emplace_back(BaselineScores{std::string(name_of(method)), {}});
    const std::vector<double> none(q.truth[0].size(), kNan);
    std::vector<PredictedColumn> columns(q.y.size(), {none, none, {}, {}, none, none});
    std::vector<std::vector<double>> truth(q.y.size(), none);  // behind the ends
    for (const TableEnd& end : ends)
      for (std::size_t i = 0; i < end.rows.size(); ++i) {
        const double known = truth[end.column][static_cast<std::size_t>(end.rows[i])] = truth_of(q, end, i);
        put(distribution(end, end.forecast.of(method), i), end.rows[i], known, {}, columns[end.column]);
      }
    for (std::size_t v = 0; v < columns.size(); ++v) scores.scores.push_back(score(columns[v], truth[v]));
  }
  return all;
}

std::vector<EndScore> check_table_ends(const SeriesPredictor& predictor, const TableQuestion& q,
                                       const TableEndOptions& options) {
  std::vector<SeriesEnd> shown;
  std::vector<std::vector<double>> hidden;
  std::vector<double> units;
  for (const OpenEnd& end : ends_of(q, options, true)) {
    SeriesEnd part = end.series;
    const std::vector<double> periods = part.periods.empty() ? find_periods(part.y, part.likely) : part.periods;
    const std::int64_t season = periods.empty() ? 1 : std::llround(periods[0]);
    constexpr std::int64_t kUsual = 6, kFewest = 8;
    auto size = std::ssize(part.y) - std::max(season, kUsual);
    if (size < std::max(2 * season, kFewest)) continue;
    while (size > 0 && std::isnan(part.y[static_cast<std::size_t>(size - 1)])) --size;
    std::vector<double> truth(part.y.begin() + size, part.y.end());
    part.y.resize(static_cast<std::size_t>(size));
    part.horizon = std::ssize(truth);
    double sum = 0, count = 0;
    for (auto t = static_cast<std::size_t>(season); t < part.y.size(); ++t) {
      const double error = std::abs(part.y[t] - part.y[t - static_cast<std::size_t>(season)]);
      if (std::isnan(error)) continue;
      sum += error;
      ++count;
    }
    const auto known = std::ranges::count_if(part.y, [](double v) { return !std::isnan(v); });
    if (!(sum > 0) || known < kFewest) continue;
    units.push_back(sum / count);
    shown.push_back(std::move(part));
    hidden.push_back(std::move(truth));
  }
  if (shown.empty()) return {};
  const std::vector<EndForecast> forecasts = forecast_ends(predictor, shown);
  std::vector<EndScore> scores;
  const auto forecasts_all = [&](std::size_t method) {
    return std::ranges::none_of(forecasts, [=](const EndForecast& f) { return f.methods[method].mean.empty(); });
  };
  for (std::size_t m = 0; m <= kEndMethods; ++m) {
    if (m > 0 && !forecasts_all(m - 1)) continue;
    EndScore& score = scores.emplace_back();
    score.method = m == 0 ? "combination" : std::string(name_of(static_cast<EndMethod>(m - 1)));
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const GaussianPath& path = m == 0 ? forecasts[i].combined : forecasts[i].methods[m - 1];
      for (std::size_t h = 0; h < hidden[i].size(); ++h) {
        const double y = hidden[i][h];
        if (std::isnan(y)) continue;
        const EndDistribution d{path.mean[h], positive_std(path.std[h], path.mean[h])};
        constexpr double kCentral = 0.95;
        score.mase += std::abs(y - d.mean) / units[i];
        score.crps += d.score(y) / units[i];
        score.coverage_95 += d.mass(y) <= kCentral;
        ++score.values;
      }
    }
    for (double* figure : {&score.mase, &score.crps, &score.coverage_95}) *figure /= static_cast<double>(score.values);
  }
  return scores;
}

}  // namespace npzoo
