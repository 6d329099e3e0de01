#include "npzoo/models/applications/tables/seasonal_holes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "npzoo/datasets/series/season.h"
#include "npzoo/datasets/series/smoothing.h"
#include "npzoo/models/applications/forecasts/series_ends.h"
#include "npzoo/models/applications/tables/place_samples.h"
#include "npzoo/models/applications/tables/row_distribution.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMostSteps = 20000;

/// A question about a series at some positions, and two answers: from the values, and from those without a season.
struct HoleQuestion {
  std::size_t series = 0;
  std::vector<double> y;          // of each step, NaN where missing or hidden
  std::vector<double> positions;  // that are asked
  std::vector<double> truth{};    // at these; empty: they are holes
  std::array<GaussianPath, 2> answers{};
};

/// The steps of holes.
std::vector<std::int64_t> hole_steps(const RegularSeries& s) {
  std::vector<std::int64_t> steps;
  for (const AskedRow& r : s.inside)
    if (!r.closed) steps.push_back(std::min<std::int64_t>(std::llround(r.position), s.steps() - 1));
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

/// Hides known values in the pattern of the holes, moved by `shift` steps.
HoleQuestion hide(const RegularSeries& s, std::span<const std::int64_t> holes, std::int64_t shift) {
  constexpr std::int64_t kMost = 300, kShare = 5;  // values, and one in so many
  HoleQuestion q{.y = s.y, .positions = {}};
  const std::int64_t room = std::min(kMost, s.known() / kShare);
  for (const std::int64_t hole : holes) {
    const std::int64_t at = (hole + shift) % s.steps();
    double& y = q.y[static_cast<std::size_t>(at)];
    if (std::isnan(y) || at == 0 || at == s.steps() - 1 || std::ssize(q.positions) >= room) continue;
    q.positions.push_back(static_cast<double>(at));
    q.truth.push_back(y);
    y = std::numeric_limits<double>::quiet_NaN();
  }
  return q;
}

/// The question to the weights; `season` is taken from the values.
Series series_of(const HoleQuestion& q, const SeriesTrend* season) {
  Series s;
  for (std::size_t t = 0; t < q.y.size(); ++t) {
    if (std::isnan(q.y[t])) continue;
    const auto place = static_cast<double>(t);
    s.x.push_back(place);
    s.y.push_back(season ? q.y[t] - season->season(place) : q.y[t]);
  }
  s.targets = q.positions;
  return s;
}

/// Answers all questions twice.
void ask_weights(SeriesMethod& weights, std::span<const std::vector<double>> periods,
                 std::vector<HoleQuestion>& questions) {
  std::vector<SeriesTrend> trends;
  for (const HoleQuestion& q : questions) trends.emplace_back(q.y, periods[q.series]);
  std::size_t given = 0, taken = 0;
  const auto next = [&]() -> std::optional<Series> {
    if (given == 2 * questions.size()) return {};
    const std::size_t i = given++;
    return series_of(questions[i / 2], i % 2 == 0 ? nullptr : &trends[i / 2]);
  };
  weights.predict(next, [&](SeriesPrediction said) {
    const std::size_t i = taken++;
    HoleQuestion& q = questions[i / 2];
    GaussianPath path{std::move(said.mean), std::move(said.std)};
    for (std::size_t k = 0; i % 2 == 1 && k < path.mean.size(); ++k) {
      path.mean[k] += trends[i / 2].season(q.positions[k]);
      path.std[k] = std::sqrt(path.std[k] * path.std[k] + trends[i / 2].season_variance());
    }
    q.answers[i % 2] = std::move(path);
  });
}

/// The share of the answer without a season, by the scores of hidden values. It is 0 if a season that was found is not
/// clearly better: many periods were tried.
double share_of(std::span<const HoleQuestion* const> hidden, std::int64_t count, bool given) {
  constexpr std::int64_t kFewest = 8;
  constexpr double kPower = 3, kEqual = 0.5, kClearly = 0.95;
  std::array<double, 2> scores{};
  for (const HoleQuestion* q : hidden)
    for (std::size_t m = 0; m < 2; ++m)
      scores[m] += crps(EndPath{q->answers[m]}, q->truth) * static_cast<double>(q->truth.size());
  if (count < kFewest || !(scores[0] + scores[1] > 0)) return given ? kEqual : 0;
  if (!given && !(scores[1] < kClearly * scores[0])) return 0;
  const double ratio = std::pow(scores[1] / scores[0], kPower);
  return std::isfinite(ratio) ? 1 / (1 + ratio) : 0;
}

/// Puts the average of both answers into the table.
void put_answers(const HoleQuestion& q, const RegularSeries& s, double share, const TableQuestion& question,
                 const SeasonalHoleOptions& options, PredictedColumn& column) {
  const PlaceSamples streams(options.seed, {}, s.y);
  const std::size_t samples = column.samples.size() / column.mean.size();
  std::size_t k = 0;
  for (const AskedRow& r : s.inside) {
    if (r.closed) continue;
    const auto& [plain, seasonal] = q.answers;
    const double mean = (1 - share) * plain.mean[k] + share * seasonal.mean[k],
                 spread = (1 - share) * plain.std[k] + share * seasonal.std[k];
    const double more =
        s.within +
        (question.added_variance.empty() ? 0 : question.added_variance[s.column][static_cast<std::size_t>(r.row)]);
    const RowDistribution d{{mean, positive_std(more > 0 ? std::sqrt(spread * spread + more) : spread, mean)},
                            s.transform};
    put(d, r.row, truth_of(question, s.column, r.row), options.quantiles, column);
    Random random = streams.stream({&q.positions[k], 1});
    for (std::size_t i = 0; i < samples; ++i) {
      const double z = mean + spread * random.normal();  // covariates add their own draws
      column.samples[static_cast<std::size_t>(r.row) * samples + i] = s.transform.active() ? s.transform.inverse(z) : z;
    }
    ++k;
  }
}

}  // namespace

std::vector<SeasonalHoles> fill_seasonal_holes(SeriesMethod& weights, std::span<const RegularSeries> series,
                                               const TableQuestion& question, const SeasonalHoleOptions& options,
                                               std::vector<PredictedColumn>& columns) {
  std::vector<HoleQuestion> questions;
  std::vector<std::vector<double>> periods(series.size());
  for (std::size_t i = 0; i < series.size(); ++i) {
    const RegularSeries& s = series[i];
    const std::vector<std::int64_t> holes = hole_steps(s);
    if (holes.empty() || s.steps() > kMostSteps) continue;
    periods[i] = s.given.empty() ? find_periods(s.y, s.likely) : s.given;
    std::erase_if(periods[i], [&s](double p) { return 2 * p > static_cast<double>(s.steps()); });
    if (periods[i].empty()) continue;
    HoleQuestion& whole = questions.emplace_back(HoleQuestion{.series = i, .y = s.y, .positions = {}});
    for (const AskedRow& r : s.inside)
      if (!r.closed) whole.positions.push_back(r.position);
    constexpr std::int64_t kParts = 3;
    for (std::int64_t part = 1; part <= kParts; ++part) {
      HoleQuestion hidden = hide(s, holes, part * s.steps() / (kParts + 1));
      hidden.series = i;
      if (!hidden.positions.empty()) questions.push_back(std::move(hidden));
    }
  }
  ask_weights(weights, periods, questions);
  std::vector<SeasonalHoles> all;
  for (std::size_t first = 0; first < questions.size();) {
    std::size_t end = first + 1;
    const RegularSeries& s = series[questions[first].series];
    SeasonalHoles filled{.column = s.column, .group = s.group, .periods = periods[questions[first].series]};
    std::vector<const HoleQuestion*> hidden;
    for (; end < questions.size() && questions[end].series == questions[first].series; ++end) {
      hidden.push_back(&questions[end]);
      filled.hidden += std::ssize(questions[end].positions);
    }
    filled.share = share_of(hidden, filled.hidden, !s.given.empty());
    if (filled.share > 0) {
      put_answers(questions[first], s, filled.share, question, options, columns[filled.column]);
      all.push_back(filled);
    }
    first = end;
  }
  return all;
}

}  // namespace npzoo
