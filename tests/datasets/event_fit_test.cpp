#include "npzoo/datasets/events/fit.h"

#include <doctest/doctest.h>

#include <cmath>
#include <eigen3/Eigen/LU>
#include <fstream>

#include "npzoo/datasets/events/clock_poisson.h"
#include "npzoo/datasets/events/hawkes.h"
#include "npzoo/datasets/events/scores.h"
#include "npzoo/engine/error.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

std::vector<EventSequence> drawn(const PointProcess& process, std::size_t count, double end, std::uint64_t seed) {
  Random random(seed);
  std::vector<EventSequence> all;
  while (all.size() < count) all.push_back(process.draw({.end = end}, random));
  return all;
}

double value_of(const FittedProcess& fitted, const std::string& name) {
  for (const FittedParameter& p : fitted.parameters)
    if (p.name == name) return p.value;
  return std::nan("");
}

}  // namespace

TEST_CASE("fit_hawkes recovers the parameters of two marks") {
  const std::vector<double> truth{0.3, 0.2, 0.8, 0.1, 0.4, 0.3, 2};
  const Hawkes process({0.3, 0.2}, {0.8, 0.1, 0.4, 0.3}, {2, 2, 2, 2});
  const std::vector<EventSequence> sequences = drawn(process, 3, 400, 7);
  const FittedProcess fitted = fit_hawkes(sequences, 2);
  REQUIRE(fitted.parameters.size() == truth.size());
  double at_truth = 0;
  for (const EventSequence& s : sequences) at_truth += process.log_likelihood(s, 0);
  CHECK(fitted.log_likelihood > at_truth);
  CHECK(fitted.log_likelihood < at_truth + 12);  // half of a chi-squared number of seven degrees of freedom
  int near = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    CAPTURE(i);
    CAPTURE(fitted.parameters[i].value);
    CAPTURE(fitted.parameters[i].standard_error);
    CHECK(std::abs(fitted.parameters[i].value - truth[i]) < 3 * fitted.parameters[i].standard_error);
    near += std::abs(fitted.parameters[i].value - truth[i]) < 2 * fitted.parameters[i].standard_error;
  }
  CHECK(near >= 5);
  CHECK(fitted.criterion < fit_poisson(sequences, 2).criterion);
}

TEST_CASE("the criterion is that of the likeliest rates, which are 0 for marks that were never seen") {
  const std::vector<EventSequence> sequences{{.times = {1, 2, 3.5, 7}, .marks = {0, 2, 0, 0}, .end = 8}};
  const double likeliest = 3 * std::log(3.0 / 8) + std::log(1.0 / 8) - 4;
  const FittedProcess rates = fit_poisson(sequences, 4);
  CHECK(rates.log_likelihood == doctest::Approx(likeliest - 1));  // half an event each
  CHECK(rates.criterion == doctest::Approx(2 * 4 - 2 * likeliest));
  // By halves of the clock: mark 0 has events in both, mark 2 in one, marks 1 and 3 in none.
  const double by_clock = 2 * std::log(2.0 / 4) + std::log(1.0 / 4) + std::log(1.0 / 4) - 4;
  CHECK(fit_clock_poisson(sequences, 4, 8, 2).criterion == doctest::Approx(2 * 8 - 2 * by_clock));
}

TEST_CASE("fit_hawkes recovers parameters within two standard errors in most simulations") {
  const Hawkes process({0.5}, {0.8}, {1.6});
  int near = 0;
  constexpr int kRuns = 20;
  for (int run = 0; run < kRuns; ++run) {
    const FittedProcess fitted = fit_hawkes(drawn(process, 1, 300, 100 + static_cast<std::uint64_t>(run)), 1);
    const double truth[] = {0.5, 0.8, 1.6};
    for (std::size_t i = 0; i < 3; ++i)
      near += std::abs(fitted.parameters[i].value - truth[i]) < 2 * fitted.parameters[i].standard_error;
  }
  CHECK(near >= 52);  // of 60; 57 are expected
}

TEST_CASE("standard errors of fit_hawkes are those of the curvature by differences") {
  const Hawkes process({0.3, 0.2}, {0.8, 0.1, 0.4, 0.3}, {2, 2, 2, 2});
  const std::vector<EventSequence> sequences = drawn(process, 4, 300, 11);
  const FittedProcess fitted = fit_hawkes(sequences, 2);
  const auto n = std::ssize(fitted.parameters);
  const auto loss = [&](const Eigen::VectorXd& v) {
    const Hawkes moved({v[0], v[1]}, {v[2], v[3], v[4], v[5]}, {v[6], v[6], v[6], v[6]});
    double sum = 0;
    for (const EventSequence& s : sequences) sum -= moved.log_likelihood(s, 0);
    return sum;
  };
  Eigen::VectorXd at(n);
  for (Eigen::Index i = 0; i < n; ++i) at[i] = fitted.parameters[static_cast<std::size_t>(i)].value;
  const double step = 1e-4;
  Eigen::MatrixXd hessian(n, n);
  for (Eigen::Index a = 0; a < n; ++a)
    for (Eigen::Index b = 0; b < n; ++b) {
      const Eigen::VectorXd u = Eigen::VectorXd::Unit(n, a) * step * at[a],
                            w = Eigen::VectorXd::Unit(n, b) * step * at[b];
      hessian(a, b) = (loss(at + u + w) - loss(at + u - w) - loss(at - u + w) + loss(at - u - w)) /
                      (4 * step * step * at[a] * at[b]);
    }
  const Eigen::MatrixXd covariance = hessian.inverse();
  for (Eigen::Index i = 0; i < n; ++i)
    CHECK(fitted.parameters[static_cast<std::size_t>(i)].standard_error ==
          doctest::Approx(std::sqrt(covariance(i, i))).epsilon(1e-3));
}

TEST_CASE("fit_hawkes of three marks without excitation has the standard errors of rates") {
  const std::vector<EventSequence> sequences = drawn(Poisson({0.9, 0.08, 0.02}), 1, 5000, 5);
  const FittedProcess fitted = fit_hawkes(sequences, 3), rates = fit_poisson(sequences, 3);
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(fitted.parameters[k].standard_error >= 0.9 * rates.parameters[k].standard_error);
    CHECK(std::abs(fitted.parameters[k].value - rates.parameters[k].value) < 3 * fitted.parameters[k].standard_error);
  }
}

TEST_CASE("fit_hawkes of events without excitation puts excitation near 0") {
  const FittedProcess fitted = fit_hawkes(drawn(Poisson({1.0}), 2, 200, 3), 1);
  CHECK(value_of(fitted, "excitation of 0 by 0") / value_of(fitted, "decay") < 0.3);
}

TEST_CASE("fit_clock_poisson recovers rates that repeat, and states exact standard errors") {
  const ClockPoisson process(24, 4, {0.1, 1, 2, 0.5});
  const std::vector<EventSequence> sequences = drawn(process, 2, 1000, 5);
  const FittedProcess fitted = fit_clock_poisson(sequences, 1, 24, 4);
  const double truth[] = {0.1, 1, 2, 0.5};
  for (std::size_t p = 0; p < 4; ++p)
    CHECK(std::abs(fitted.parameters[p].value - truth[p]) < 3 * fitted.parameters[p].standard_error);
  CHECK(fitted.criterion < fit_poisson(sequences, 1).criterion);
  CHECK_THROWS_WITH_AS(static_cast<void>(fit_clock_poisson(sequences, 1, 0, 4)), doctest::Contains("a period of 0"),
                       Error);
  CHECK_THROWS_AS(static_cast<void>(fit_poisson({}, 1)), Error);
}

TEST_CASE("a fitted process that is written as TOML has the same log-likelihood under oracle") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "npzoo_event_fit_test";
  std::filesystem::create_directories(folder);
  const std::vector<EventSequence> drawn_sequences = drawn(Hawkes({0.5}, {0.8}, {1.6}), 2, 60, 11);
  std::vector<EventSequence> sequences = drawn_sequences;
  std::ofstream table(folder / "events.csv");
  table.precision(17);
  table << "sequence,time,mark\n";
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    for (const double time : sequences[i].times) table << i << ',' << time << ",0\n";
    sequences[i].end = sequences[i].times.back();
  }
  table.close();
  for (const FittedProcess& fitted :
       {fit_poisson(sequences, 1), fit_clock_poisson(sequences, 1, 5, 3), fit_hawkes(sequences, 1)}) {
    std::ofstream(folder / "process.toml") << fitted.text;
    CHECK(score_events(folder / "events.csv", folder / "process.toml").total ==
          doctest::Approx(fitted.log_likelihood).epsilon(1e-9));
  }
  std::filesystem::remove_all(folder);
}
