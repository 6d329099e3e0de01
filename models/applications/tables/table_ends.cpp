#include "npzoo/models/applications/tables/table_ends.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/datasets/series/season.h"

namespace npzoo {

namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

/// The spread of the season and of the differences of neighbouring values.
double spread_of(std::span<const double> y, std::span<const double> periods) {
  double squares = 0, count = 0, season = 0;
  const SeriesTrend trend(y, periods);
  for (std::size_t t = 0; t < y.size(); ++t) {
    season += std::pow(trend.season(static_cast<double>(t)), 2) / static_cast<double>(y.size());
    if (t == 0 || std::isnan(y[t]) || std::isnan(y[t - 1])) continue;
    squares += std::pow(y[t] - y[t - 1], 2);
    ++count;
  }
  return std::sqrt(season + (count > 0 ? squares / count : 0));
}

SeriesEnd end_of(const RegularSeries& s) {
  const double ahead = s.behind.back().position - static_cast<double>(s.steps() - 1);
  return {.y = s.y,
          .horizon = static_cast<std::int64_t>(std::ceil(ahead)),
          .periods = s.given,
          .likely = s.likely,
          .logarithms = takes_logarithms(s)};
}

}  // namespace

bool takes_logarithms(const RegularSeries& series) { return series.transform.kind != ValueTransform::Kind::log; }

RowDistribution TableEnd::distribution(const EndPath& path, std::size_t i) const {
  const double more = within + (variance.empty() ? 0 : variance[i]) + (closed[i] ? spread * spread : 0);
  ComonotonicSum z = path.at(ahead[i], last);
  if (more > 0) z = z.plus_variance(more);
  z.std = positive_std(z.std, z.at(0));
  return {std::move(z), transform, added.empty() ? 0 : added[i]};
}

double TableEnd::median(const EndPath& path, std::size_t i) const { return distribution(path, i).at(0); }

std::vector<double> slope_normals(const PlaceSamples& streams, std::int64_t sample, std::size_t count) {
  const auto number = static_cast<double>(sample);
  std::vector<double> normals(count);
  streams.stream({&number, 1}).fill_normal(normals);
  return normals;
}

std::vector<double> TableEnd::paths(std::int64_t count) const {
  std::vector<Random> random;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<double>(i);
    random.push_back(streams.stream({&number, 1}));
  }
  const std::vector<double> all = forecast.paths(random);
  const std::size_t horizon = forecast.combined.gaussian.mean.size();
  std::vector<double> at_rows;
  const std::size_t slopes = slope_errors.size() / std::max<std::size_t>(rows.size(), 1);
  for (std::size_t p = 0; p < random.size(); ++p) {
    const std::vector<double> normals = slope_normals(slope_streams, static_cast<std::int64_t>(p), slopes);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double z = at_step(std::span(all).subspan(p * horizon, horizon), last, ahead[i]);
      double more = added.empty() ? 0 : added[i];
      for (std::size_t k = 0; k < slopes; ++k) more += slope_errors[i * slopes + k] * normals[k];
      at_rows.push_back((transform.active() ? transform.inverse(z) : z) + more);
    }
  }
  return at_rows;
}

std::vector<TableEnd> forecast_table_ends(const SeriesPredictor& predictor, std::span<const RegularSeries> series,
                                          const TableQuestion& q, const TableEndOptions& options,
                                          std::vector<PredictedColumn>& columns) {
  std::vector<const RegularSeries*> open;
  std::vector<SeriesEnd> asked;
  for (const RegularSeries& s : series) {
    if (s.behind.empty()) continue;
    open.push_back(&s);
    asked.push_back(end_of(s));
  }
  std::vector<EndForecast> forecasts = forecast_ends(predictor, asked);
  std::vector<TableEnd> ends;
  for (std::size_t e = 0; e < open.size(); ++e) {
    const RegularSeries& s = *open[e];
    TableEnd& end = ends.emplace_back(TableEnd{.column = s.column,
                                               .group = s.group,
                                               .last = s.y.back(),
                                               .transform = s.transform,
                                               .forecast = std::move(forecasts[e]),
                                               .streams = PlaceSamples(options.seed, {}, s.y),
                                               .within = s.within});
    for (const AskedRow& r : s.behind) {
      end.rows.push_back(r.row);
      end.ahead.push_back(r.position - static_cast<double>(s.steps() - 1));
      end.closed.push_back(r.closed);
      if (!q.added_variance.empty())
        end.variance.push_back(q.added_variance[s.column][static_cast<std::size_t>(r.row)]);
    }
    if (std::ranges::find(end.closed, true) != end.closed.end()) end.spread = spread_of(s.y, end.forecast.periods);
    PredictedColumn& column = columns[end.column];
    for (std::size_t i = 0; i < end.rows.size(); ++i)
      put(end.distribution(end.forecast.combined, i), end.rows[i], truth_of(q, end.column, end.rows[i]),
          options.quantiles, column);
    const std::size_t samples = column.samples.size() / column.mean.size(), rows = end.rows.size();
    const std::vector<double> paths = end.paths(static_cast<std::int64_t>(samples));
    for (std::size_t p = 0; p < samples; ++p)
      for (std::size_t i = 0; i < rows; ++i)
        column.samples[static_cast<std::size_t>(end.rows[i]) * samples + p] = paths[p * rows + i];
  }
  return ends;
}

std::vector<BaselineScores> score_end_methods(const TableQuestion& q, std::span<const TableEnd> ends) {
  std::vector<BaselineScores> all;
  if (q.truth.empty() || ends.empty()) return all;
  for (const EndMethod method : kPlainEndMethods) {
    BaselineScores& scores = all.emplace_back(BaselineScores{std::string(name_of(method)), {}});
    const std::vector<double> none(q.truth[0].size(), kNoValue);
    std::vector<PredictedColumn> columns(q.y.size(), {none, none, {}, {}, none, none});
    std::vector<std::vector<double>> truth(q.y.size(), none);  // behind the ends
    for (const TableEnd& end : ends)
      for (std::size_t i = 0; i < end.rows.size(); ++i) {
        const double known = truth_of(q, end.column, end.rows[i]);
        truth[end.column][static_cast<std::size_t>(end.rows[i])] = known;
        put(end.distribution(end.forecast.of(method), i), end.rows[i], known, {}, columns[end.column]);
      }
    for (std::size_t v = 0; v < columns.size(); ++v) scores.scores.push_back(score(columns[v], truth[v]));
  }
  return all;
}

}  // namespace npzoo
