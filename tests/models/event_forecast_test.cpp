#include "npzoo/models/applications/events/event_forecast.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/datasets/events/gap_distribution.h"
#include "npzoo/models/predictions/intensity_event.h"
#include "tests/models/renewal_model.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

const RenewalModel& known_renewal() {
  static const RenewalModel model({0.2, 0.5, 0.3});
  return model;
}

const GapDistribution kKnownGaps{GapDistribution::Kind::log_normal, kLogMean, kLogStd};

EventSequence some_past() { return {{0.5, 1.25, 3.0}, {0, 2, 1}, 3.0}; }

}  // namespace

TEST_CASE("event forecast: the next event") {
  const NextEventForecast next =
      forecast_next(known_renewal(), some_past(), std::vector{0.1, 0.5, 0.95}, DType::float64);
  CHECK(next.expected_gap == doctest::Approx(std::exp(kLogMean + kLogStd * kLogStd / 2)).epsilon(1e-12));
  REQUIRE(next.gap_quantiles.size() == 3);
  CHECK(next.gap_quantiles[1] == doctest::Approx(std::exp(kLogMean)).epsilon(1e-12));
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(std::exp(kKnownGaps.log_survival(next.gap_quantiles[i])) ==
          doctest::Approx(1 - std::vector{0.1, 0.5, 0.95}[i]).epsilon(1e-10));
  REQUIRE(next.mark_probability.size() == 3);
  CHECK(next.mark_probability[1] == doctest::Approx(0.5).epsilon(1e-14));
}

TEST_CASE("event forecast: the next event after a silence") {
  EventSequence past = some_past();
  past.end = 5;
  const double silence = 2, survived = kKnownGaps.log_survival(silence);
  const std::vector<double> levels{0.1, 0.5, 0.95};
  const NextEventForecast next = forecast_next(known_renewal(), past, levels, DType::float64);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(next.gap_quantiles[i] > silence);
    CHECK(std::exp(kKnownGaps.log_survival(next.gap_quantiles[i]) - survived) ==
          doctest::Approx(1 - levels[i]).epsilon(1e-9));
  }
  // E(gap | gap > s) = m Φ(σ − z) / Φ(−z) of a log-normal distribution, where z is that of s.
  const auto below = [](double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; };
  const double z = (std::log(silence) - kLogMean) / kLogStd, mean = std::exp(kLogMean + kLogStd * kLogStd / 2);
  CHECK(next.expected_gap == doctest::Approx(mean * below(kLogStd - z) / below(-z)).epsilon(1e-2));
  CHECK(next.mark_probability[1] == doctest::Approx(0.5).epsilon(1e-14));

  constexpr std::int64_t kPaths = 400;
  const auto paths = continue_events(known_renewal(), past, 20, kPaths, 3, DType::float64);
  double early = 0, second = 0;
  for (const EventSequence& path : paths) {
    REQUIRE(path.events() > 0);
    CHECK(path.end == 25);
    CHECK((path.times.front() > 5 && path.times.back() <= 25 && std::ranges::is_sorted(path.times)));
    early += path.times.front() - 3 <= next.gap_quantiles[1];
    second += path.marks.front() == 1;
  }
  CHECK(std::abs(early / kPaths - 0.5) <= 4 * std::sqrt(0.25 / kPaths));
  CHECK(std::abs(second / kPaths - 0.5) <= 4 * std::sqrt(0.25 / kPaths));

  past.end = 1e6;
  CHECK(error_of([&] {
          forecast_next(known_renewal(), past, levels, DType::float64);
        }).starts_with("[events] no event for 1e+06 after the last one has log-probability "));
}

TEST_CASE("event forecast: a horizon that is too many events away is refused at once") {
  for (const double horizon : {1e5, 1e9, 1e15})
    CHECK(error_of([&] {
            continue_events(known_renewal(), some_past(), horizon, 2, 3, DType::float64);
          }).find("events on each path until the horizon found, expected at most 4096; use a horizon ") !=
          std::string::npos);
}

TEST_CASE("event forecast: intensities that are not finite end the search for a gap") {
  const auto of_level = [](double level) {
    const Tensor levels = Tensor::full({1, 1, 2}, level, DType::float64),
                 one = Tensor::full({1, 1, 1}, 0, DType::float64);
    return IntensityEvent({levels, one, Tensor::full({1}, 1, DType::float64)}, Tensor::full({1, 1}, 1, DType::float64),
                          levels);
  };
  for (const double level : {kNaN, kInfinity})
    CHECK(error_of([&] {
            of_level(level).marginals();
          }).ends_with("expected a finite number > 0: times or gaps are too large for the model"));
}

TEST_CASE("event forecast: paths reach the horizon as often as the process does") {
  constexpr double kHorizon = 40;
  constexpr std::int64_t kPaths = 150;  // in three portions, of several steps each
  const auto paths = continue_events(known_renewal(), some_past(), kHorizon, kPaths, 3, DType::float64);
  REQUIRE(std::ssize(paths) == kPaths);
  double events = 0, second = 0;
  for (const EventSequence& path : paths) {
    REQUIRE(path.events() > 0);
    CHECK(path.end == 43);
    CHECK((path.times.front() > 3 && path.times.back() <= 43));
    CHECK(std::ranges::is_sorted(path.times));
    CHECK(path.marks.size() == path.times.size());
    events += static_cast<double>(path.events());
    second += static_cast<double>(std::ranges::count(path.marks, 1));
  }
  // By renewal theory: h / m + (s² − m²) / 2 m² events on average, with variance h s² / m³ and what is small beside it.
  const double mean = std::exp(kLogMean + kLogStd * kLogStd / 2), square = std::exp(kLogStd * kLogStd) - 1;  // s² / m²
  const double error = std::sqrt(kHorizon * square / mean / static_cast<double>(kPaths));
  CHECK(std::abs(events / kPaths - kHorizon / mean - (square - 1) / 2) <= 4 * error);
  CHECK(std::abs(second / events - 0.5) <= 4 * std::sqrt(0.25 / events));

  const auto again = continue_events(known_renewal(), some_past(), kHorizon, 70, 3, DType::float64);
  for (std::size_t i = 0; i < again.size(); ++i) CHECK(again[i].times == paths[i].times);
  CHECK(continue_events(known_renewal(), some_past(), kHorizon, 1, 4, DType::float64)[0].times != paths[0].times);
  CHECK(continue_events(known_renewal(), some_past(), 1e-9, 2, 4, DType::float64)[1].events() == 0);
}

TEST_CASE("event forecast: intensities given the events before") {
  const EventSequence s = some_past();
  const std::vector<double> times{0.2, 0.5, 0.6, 1.0, 1.25, std::nextafter(1.25, 2.0), 2.5, 3.0, 3.5, 4.0};
  const std::vector<double> found = model_intensities(known_renewal(), s, times, DType::float64);
  REQUIRE(found.size() == 30);
  for (std::size_t t = 0; t < times.size(); ++t) {
    const auto before = std::ranges::lower_bound(s.times, times[t]) - s.times.begin();
    if (before == 0) {
      CHECK(std::isnan(found[3 * t]));
      continue;
    }
    const double gap = times[t] - s.times[static_cast<std::size_t>(before - 1)];
    const double hazard = std::exp(kKnownGaps.log_density(gap) - kKnownGaps.log_survival(gap));
    CHECK(found[3 * t + 1] == doctest::Approx(0.5 * hazard).epsilon(1e-10));
    CHECK(found[3 * t + 2] == doctest::Approx(0.3 * hazard).epsilon(1e-10));
  }
  CHECK(model_intensities(known_renewal(), s, {}, DType::float64).empty());
}

TEST_CASE("event forecast: a model that predicts no events") {
  const auto cnp = varied_model({"cnp",
                                 {{"architecture", std::string("tnp")},
                                  {"dim_x", std::int64_t{1}},
                                  {"dim_y", std::int64_t{2}},
                                  {"dim_hid", std::int64_t{8}},
                                  {"enc_pre_depth", std::int64_t{2}},
                                  {"enc_post_depth", std::int64_t{2}},
                                  {"dec_depth", std::int64_t{2}}}});
  CHECK(error_of([&] { forecast_next(*cnp, some_past(), {}, DType::float64); }) ==
        "[events] the model does not predict events, expected one that does, such as thp-plus");
  CHECK(error_of([&] { continue_events(*cnp, some_past(), 1, 1, 0, DType::float64); }) ==
        "[events] the model does not predict events, expected one that does, such as thp-plus");
  CHECK(error_of([&] { model_intensities(known_renewal(), EventSequence(), {}, DType::float64); }) ==
        "[events] an empty sequence found, expected at least one event");
}

TEST_CASE("event forecast: the density of each event given those before it") {
  const std::vector<double> found = event_log_likelihoods(known_renewal(), some_past(), DType::float64);
  REQUIRE(found.size() == 3);
  CHECK(std::isnan(found[0]));
  CHECK(found[1] == doctest::Approx(kKnownGaps.log_density(0.75) + std::log(0.3)).epsilon(1e-12));
  CHECK(found[2] == doctest::Approx(kKnownGaps.log_density(1.75) + std::log(0.5)).epsilon(1e-12));
  const std::vector<double> alone = event_log_likelihoods(known_renewal(), {{0.5}, {0}, 0.5}, DType::float64);
  CHECK((alone.size() == 1 && std::isnan(alone[0])));
  CHECK_THROWS_WITH_AS(event_log_likelihoods(known_renewal(), {{}, {}, 0}, DType::float64),
                       "[events] an empty sequence found, expected at least one event", Error);
}
