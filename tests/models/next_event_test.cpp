#include "npzoo/models/predictions/next_event.h"

#include <numbers>

#include "npzoo/datasets/events/event_task.h"
#include "npzoo/engine/gradcheck.h"
#include "tests/models/events.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// p(gap, mark) of six events, as in the paper: equation 2 and the softmax.
std::vector<double> densities(const std::vector<Tensor>& raw, const Tensor& y) {
  const auto logit = doubles(raw[0]), mean = doubles(raw[1]), log_std = doubles(raw[2]), mark = doubles(raw[3]),
             event = doubles(y);
  const std::size_t count = static_cast<std::size_t>(raw[0].dim(2)), marks = kMarks;
  std::vector<double> all;
  for (std::size_t i = 0; i < 6; ++i) {
    double density = 0, total = 0, classes = 0;
    for (std::size_t k = i * count; k < (i + 1) * count; ++k) {
      const double std = std::exp(log_std[k]), z = (std::log(event[2 * i]) - mean[k]) / std;
      density += std::exp(logit[k] - z * z / 2) / (event[2 * i] * std * std::sqrt(2 * std::numbers::pi));
      total += std::exp(logit[k]);
    }
    for (std::size_t m = 0; m < marks; ++m) classes += std::exp(mark[i * marks + m]);
    all.push_back(density / total * std::exp(mark[i * marks + static_cast<std::size_t>(event[2 * i + 1])]) / classes);
  }
  return all;
}

std::vector<double> logarithms(std::vector<double> all) {
  for (double& x : all) x = std::log(x);
  return all;
}

}  // namespace

TEST_CASE_TEMPLATE("next event: the density is the paper's, by event and of a sequence", T, float, double) {
  const std::vector<Tensor> parameters = raw(dtype_of<T>());
  const Tensor y = some_events(dtype_of<T>());
  const std::vector<double> expected = logarithms(densities(parameters, y));
  const NextEvent p = events_of(parameters);
  const Tensor each = p.log_likelihood(y), joint = p.joint_log_likelihood(y);
  CHECK(each.shape() == Shape{2, 3});
  CHECK(each.dtype() == dtype_of<T>());
  CHECK(largest_difference(each, expected) <= 8 * kTolerance<T>);
  const double tolerance = std::is_same_v<T, float> ? 1e-6 : 1e-14;  // of parameters in T
  CHECK(largest_difference(joint, {expected[0] + expected[1] + expected[2], expected[3] + expected[4] + expected[5]}) <=
        4 * tolerance);
  // Without marks, and of one component.
  const NextEvent gaps = events_of(parameters, false);
  CHECK_FALSE(gaps.mark_log_probability().defined());
  const Tensor mark = sub(each, gaps.log_likelihood(slice(y, 2, 0, 1)));
  CHECK(mark.numel() == 6);
  const auto log_marks = doubles(p.mark_log_probability()), events = doubles(y), marks = doubles(mark);
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(marks[i] == doctest::Approx(log_marks[4 * i + static_cast<std::size_t>(events[2 * i + 1])])
                          .epsilon(std::is_same_v<T, float> ? 1e-5 : 1e-13));
  const Tensor gap = slice(y, 2, 0, 1), survived = p.log_survival(reshape(gap, {2, 3}));
  CHECK(survived.dtype() == dtype_of<T>());
  const std::vector<double> below = doubles(cdf(p.marginals(), y)), left = doubles(survived);
  for (std::size_t i = 0; i < 6; ++i) CHECK(std::exp(left[i]) == doctest::Approx(1 - below[i]).epsilon(8 * tolerance));
  const std::vector<Tensor> single = raw(dtype_of<T>(), 1);
  CHECK(largest_difference(events_of(single).log_likelihood(y), logarithms(densities(single, y))) <= 8 * kTolerance<T>);
}

TEST_CASE("next event: gaps and marks have total probability 1, with the survival") {
  const NextEvent p = events_of(raw(DType::float64));
  const Marginals m = on_host(p.marginals());
  constexpr double kStep =
      0.05;                   // of the logarithm of the gap; the trapezoid rule on Gaussians has no error to speak of
  constexpr int kLast = 246;  // of the steps to where the distribution function is asked for
  const auto gap_of = [](int step) { return std::exp(-12 + kStep * step); };
  std::vector<double> total(6), below(6), mean(6), square(6);
  for (int step = 0; step <= 480; ++step)
    for (std::int64_t mark = 0; mark < kMarks; ++mark) {
      const double gap = gap_of(step);
      const std::vector<double> each = doubles(p.log_likelihood(events(gap, static_cast<double>(mark))));
      for (std::size_t i = 0; i < 6; ++i) {
        const double mass = std::exp(each[i]) * gap * kStep;
        total[i] += mass;
        mean[i] += gap * mass;
        square[i] += gap * gap * mass;
        below[i] += step < kLast ? mass : step == kLast ? mass / 2 : 0;
      }
    }
  const Moments gaps = moments(p);
  REQUIRE(gaps.mean.shape() == kEvents);
  const Tensor y = events(gap_of(kLast), 0), until = Tensor::full({2, 3}, gap_of(kLast), DType::float64),
               survived = p.log_survival(until);
  REQUIRE(survived.shape() == Shape{2, 3});
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(total[i] == doctest::Approx(1).epsilon(1e-12));
    CHECK(doubles(gaps.mean)[i] == doctest::Approx(mean[i]).epsilon(1e-10));
    CHECK(doubles(gaps.std)[i] == doctest::Approx(std::sqrt(square[i] - mean[i] * mean[i])).epsilon(1e-9));
    const double probability = doubles(cdf(m, y))[i];
    CHECK(probability == doctest::Approx(below[i]).epsilon(1e-3));  // an end inside costs the rule its accuracy
    CHECK(std::exp(doubles(survived)[i]) == doctest::Approx(1 - probability).epsilon(1e-13));
  }
  CHECK(largest_difference(p.log_survival(Tensor::zeros({2, 3}, DType::float64)), std::vector<double>(6, 0)) <= 1e-15);
}

TEST_CASE("next event: the survival keeps its digits for any gap") {
  const Tensor zeros = Tensor::zeros({1, 5, 1}, DType::float64);
  const NextEvent p({zeros, zeros, exp(zeros)});
  std::vector<double> gaps;
  for (const double z : {5.0, 20.0, 36.9, 37.1, 50.0}) gaps.push_back(std::exp(z));
  const std::vector<double> found = doubles(p.log_survival(Tensor::from<double>({1, 5}, gaps).to(default_device()))),
                            expected{-15.0649983939887257, -203.917155371097264, -685.332883165350612,
                                     -692.738280715622693, -1254.83136113941990};  // by arithmetic of 30 digits
  for (std::size_t i = 0; i < 5; ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-14));
}

TEST_CASE_TEMPLATE("next event: an end has the probability that nothing happens until then", T, float, double) {
  std::vector<Tensor> parameters = raw(dtype_of<T>());
  // A mark that cannot be changes nothing.
  parameters[3] = concat({parameters[3], Tensor::full(kEvents, -kInfinity, dtype_of<T>())}, 2);
  const NextEvent p = events_of(parameters);
  const Tensor y = some_events(dtype_of<T>()), gap = slice(y, 2, 0, 1), survival = p.log_survival(reshape(gap, {2, 3}));
  const Tensor ends = concat({gap, Tensor::full(kEvents, kNoEvent, dtype_of<T>())}, 2);
  CHECK(same_bits(p.log_likelihood(ends), survival));
  // Two events and an end.
  const Tensor both = concat({slice(y, 1, 0, 2), slice(ends, 1, 2, 3)}, 1);
  const std::vector<double> each = doubles(p.log_likelihood(both)), events = doubles(p.log_likelihood(y)),
                            left = doubles(survival), joint = doubles(p.joint_log_likelihood(both));
  const double tolerance = std::is_same_v<T, float> ? 1e-5 : 1e-13;
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t i = 3 * b; i < 3 * b + 2; ++i) CHECK(each[i] == events[i]);
    CHECK(each[3 * b + 2] == left[3 * b + 2]);
    CHECK(joint[b] == doctest::Approx(each[3 * b] + each[3 * b + 1] + each[3 * b + 2]).epsilon(tolerance));
  }
  const Tensor at_once = concat({Tensor::zeros(kEvents, dtype_of<T>()), slice(ends, 2, 1, 2)}, 2);  // padding
  CHECK(largest_difference(p.log_likelihood(at_once), std::vector<double>(6, 0)) <= 8 * kTolerance<T>);
  CHECK(largest_difference(p.joint_log_likelihood(at_once), std::vector<double>(2, 0)) <= 8 * kTolerance<T>);
}

TEST_CASE("next event: gradients of the training loss") {
  for (const bool marks : {false, true}) {
    const Tensor y = marks ? some_events() : slice(some_events(), 2, 0, 1);
    const auto log_likelihood = [&](const std::vector<Tensor>& in) { return events_of(in, marks).log_likelihood(y); };
    std::vector<Tensor> parameters = raw(DType::float64);
    if (!marks) parameters.pop_back();
    CHECK(gradcheck(log_likelihood, parameters).max_error <= 1e-6);
    const auto mean = [&](const std::vector<Tensor>& in) { return nll(events_of(in, marks), y); };
    CHECK(gradcheck(mean, parameters).max_error <= 1e-6);
    if (!marks) continue;
    const Tensor ends = concat({slice(y, 2, 0, 1), Tensor::full(kEvents, kNoEvent, DType::float64)}, 2),
                 both = concat({slice(y, 1, 0, 2), slice(ends, 1, 2, 3)}, 1);
    const auto with_end = [&](const std::vector<Tensor>& in) { return events_of(in).log_likelihood(both); };
    CHECK(gradcheck(with_end, parameters).max_error <= 1e-6);
  }
  const Tensor gap = exp(normal<double>({2, 3}, 6, 2));
  std::vector<Tensor> parameters = raw(DType::float64);
  parameters.pop_back();
  const auto log_survival = [&](const std::vector<Tensor>& in) { return events_of(in, false).log_survival(gap); };
  CHECK(gradcheck(log_survival, parameters).max_error <= 1e-6);
  const auto at_once = [&](const std::vector<Tensor>& in) {
    return events_of(in, false).log_survival(Tensor::zeros({2, 3}, DType::float64));
  };
  for (const Tensor& result : with_gradients(at_once, parameters)) CHECK(all_finite(result));
}

TEST_CASE("next event: figures of marginals are those of the gap, whatever its mark") {
  const NextEvent p = events_of(raw(DType::float64)), gaps = events_of(raw(DType::float64), false);
  const Marginals m = p.marginals(), alone = gaps.marginals();
  CHECK(m.mean.shape() == Shape{3, 2, 3, 1});
  CHECK(m.log_weight.shape() == Shape{3, 2, 3});
  CHECK(m.scale == Scale::logarithmic);
  CHECK(m.labels == 1);
  CHECK(alone.labels == 0);
  const Tensor y = some_events(), gap = slice(y, 2, 0, 1);
  CHECK(same_bits(crps(m, y), crps(alone, gap)));
  CHECK(same_bits(cdf(m, y), cdf(alone, gap)));
  CHECK(same_bits(central_mass(m, y), central_mass(alone, gap)));
  CHECK(same_bits(log_likelihood(m, y), log_likelihood(alone, gap)));
  CHECK(difference(gaps.log_likelihood(gap), log_likelihood(alone, gap)) <= 1e-14);
  CHECK(crps(m, y).shape() == kEvents);
  const auto mean = doubles(m.mean), std = doubles(m.std), log_weight = doubles(m.log_weight), values = doubles(gap);
  for (std::size_t i = 0; i < 6; ++i) {
    const std::vector<double> means{mean[i], mean[6 + i], mean[12 + i]}, deviations{std[i], std[6 + i], std[12 + i]},
        weights{std::exp(log_weight[i]), std::exp(log_weight[6 + i]), std::exp(log_weight[12 + i])};
    const GaussianMixture mixture{means, deviations, weights, Scale::logarithmic};
    CHECK(doubles(crps(m, y))[i] == crps(mixture, values[i]));
    CHECK(doubles(cdf(m, y))[i] == cdf(mixture, values[i]));
    CHECK(doubles(moments(m).std)[i] == moments(mixture).std);
    for (const double level : {1e-3, 0.5, 0.9}) {
      CHECK(doubles(quantile(m, level))[i] == quantile(mixture, level));
      const double reached = doubles(cdf(alone, quantile(m, level).to(default_device())))[i];
      CHECK(reached == doctest::Approx(level).epsilon(1e-13));
    }
  }
  CHECK(error_of([&] { crps(m, gap); }) == "[crps] y (2, 3, 1) found, expected (2, 3, 2)");
  CHECK(error_of([&] { crps(alone, y); }) == "[crps] y (2, 3, 2) found, expected (2, 3, 1)");
}

TEST_CASE("next event: samples are of gaps and marks as predicted, and of the same draws the same") {
  const NextEvent p = events_of(raw(DType::float64));
  constexpr std::int64_t kDraws = 20'000;
  constexpr double kErrors = 5;
  Draws draws = some_draws(), again = some_draws();
  const Tensor y = p.sample(kDraws, draws);
  REQUIRE(y.shape() == Shape{kDraws, 2, 3, 2});
  CHECK(same_bits(slice(p.sample(7, again), 0, 0, 7), slice(y, 0, 0, 7)));
  const Marginals m = on_host(p.marginals());
  const std::vector<double> values = doubles(y), mean = doubles(moments(m).mean), std = doubles(moments(m).std),
                            log_mark = doubles(p.mark_log_probability());
  std::vector<double> sum(6), level(6), square(6), marks(6 * kMarks), both(6);
  for (std::int64_t d = 0; d < kDraws; ++d) {
    const std::vector<double> below = doubles(cdf(m, slice(y, 0, d, d + 1).view({2, 3, 2})));
    for (std::size_t i = 0; i < 6; ++i) {
      const std::size_t at = (static_cast<std::size_t>(d) * 6 + i) * 2, mark = static_cast<std::size_t>(values[at + 1]);
      REQUIRE(mark < kMarks);
      sum[i] += values[at] / kDraws;
      level[i] += below[i] / kDraws;
      square[i] += below[i] * below[i] / kDraws;
      marks[i * kMarks + mark] += 1.0 / kDraws;
      if (mark == 0) both[i] += below[i] / kDraws;
    }
  }
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(std::abs(sum[i] - mean[i]) <= kErrors * std[i] / std::sqrt(kDraws));
    // The distribution function maps draws to uniform numbers: E u = 1/2, E u² = 1/3, with variances 1/12 and 4/45.
    CHECK(std::abs(level[i] - 0.5) <= kErrors * std::sqrt(1 / 12.0 / kDraws));
    CHECK(std::abs(square[i] - 1 / 3.0) <= kErrors * std::sqrt(4 / 45.0 / kDraws));
    for (std::size_t k = i * kMarks; k < (i + 1) * kMarks; ++k) {
      const double probability = std::exp(log_mark[k]);
      CHECK(std::abs(marks[k] - probability) <= kErrors * std::sqrt(probability * (1 - probability) / kDraws));
    }
    const double first = std::exp(log_mark[i * kMarks]);  // and the mark says nothing of the gap
    CHECK(std::abs(both[i] - first / 2) <= kErrors * std::sqrt((first / 3 - first * first / 4) / kDraws));
  }
}

TEST_CASE("next event: components of weight 0 do not count, and impossible events have density 0") {
  const std::vector<Tensor> all = raw(DType::float64);
  std::vector<Tensor> more = all;
  const Tensor never = Tensor::full(kEvents, -kInfinity, DType::float64);
  more[0] = concat({never, all[0]}, 2);
  more[1] = concat({Tensor::full(kEvents, 900, DType::float64), all[1]}, 2);
  more[2] = concat({Tensor::zeros(kEvents, DType::float64), all[2]}, 2);
  more[3] = concat({all[3], never}, 2);
  const NextEvent p = events_of(all), q = events_of(more);
  const Tensor y = some_events(), gap = Tensor::full({2, 3}, 2, DType::float64);
  CHECK(difference(q.log_likelihood(y), p.log_likelihood(y)) <= 1e-14);
  CHECK(difference(q.joint_log_likelihood(y), p.joint_log_likelihood(y)) <= 1e-14);
  CHECK(difference(q.log_survival(gap), p.log_survival(gap)) <= 1e-14);
  CHECK(difference(crps(q.marginals(), y), crps(p.marginals(), y)) <= 1e-13);
  Draws draws = some_draws();
  for (const double value : doubles(q.sample(2000, draws))) CHECK(value < 1e9);
  const auto trained = [&](const std::vector<Tensor>& in) { return events_of(in).log_likelihood(y); };
  for (const Tensor& result : with_gradients(trained, more)) CHECK(all_finite(result));
  // An event of a mark of probability 0, or at once.
  CHECK(doubles(q.log_likelihood(events(1, kMarks))) == std::vector<double>(6, -kInfinity));
  CHECK(doubles(q.joint_log_likelihood(events(1, kMarks))) == std::vector<double>(2, -kInfinity));
  CHECK(doubles(log_likelihood(p.marginals(), events(0, 1))) == std::vector<double>(6, -kInfinity));
  CHECK(doubles(p.joint_log_likelihood(events(0, 1))) == std::vector<double>(2, -kInfinity));
}

TEST_CASE_TEMPLATE("next event: padding, which is 0, adds nothing to a loss", T, float, double) {
  const std::vector<Tensor> parameters = raw(dtype_of<T>());
  const Tensor first = slice(some_events(dtype_of<T>()), 1, 0, 2),
               padded = concat({first, Tensor::zeros({2, 1, 2}, dtype_of<T>())}, 1),
               weights = Tensor::from<T>({2, 3}, {1, 1, 0, 1, 1, 0}).to(default_device());
  const auto shorter = [&](const std::vector<Tensor>& in) {
    std::vector<Tensor> events;
    for (const Tensor& x : in) events.push_back(slice(x, 1, 0, 2));
    return nll(events_of(events), first);
  };
  const auto weighted = [&](const std::vector<Tensor>& in) { return nll(events_of(in), padded, weights); };
  const std::vector<Tensor> expected = with_gradients(shorter, parameters),
                            found = with_gradients(weighted, parameters);
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(largest_difference(found[i], doubles(expected[i])) <= 8 * kTolerance<T>);
  const auto log_likelihood = [&](double gap) {
    return events_of(parameters).log_likelihood(events(gap, 1, dtype_of<T>()));
  };
  CHECK(error(log_likelihood(0), doubles(log_likelihood(std::exp(kLeastLogarithm)))) <= 1e-5);
}

TEST_CASE("next event: impossible events are one-line errors") {
  const std::vector<Tensor> r = raw(DType::float64);
  const Tensor flat = Tensor::zeros({2, 3}, DType::float64), other = Tensor::zeros({2, 3, 2}, DType::float64),
               none = Tensor::zeros({2, 3, 0}, DType::float64), shorter = Tensor::zeros({2, 2, 4}, DType::float64);
  CHECK(error_of([&] { NextEvent({flat, flat, flat}); }) == "[prediction] gaps (2, 3) found, expected (B, Nt, K)");
  CHECK(error_of([&] { NextEvent({none, none, none}); }) == "[prediction] gaps (2, 3, 0) found, expected (B, Nt, K)");
  CHECK(error_of([&] {
          NextEvent({r[0], r[1], other});
        }) == "[prediction] standard deviations (2, 3, 2) and weights (2, 3, 3) of gaps found, expected (2, 3, 3)");
  CHECK(error_of([&] {
          NextEvent({other, r[1], r[2]});
        }) == "[prediction] standard deviations (2, 3, 3) and weights (2, 3, 2) of gaps found, expected (2, 3, 3)");
  for (const Tensor& marks : {flat, none, shorter})
    CHECK(error_of([&] {
            NextEvent({r[0], r[1], r[2]}, marks);
          }) == fmt::format("[prediction] marks {} found, expected (2, 3, M)", marks.shape()));
  const OnCpu cpu;
  const NextEvent p = events_of(raw(DType::float64)), gaps = events_of(raw(DType::float64), false);
  const auto said = [&](const NextEvent& q, const Tensor& y) {
    const std::string each = error_of([&] { q.log_likelihood(y); }),
                      joint = error_of([&] { q.joint_log_likelihood(y); });
    return each == joint ? each : each + joint;
  };
  CHECK(said(p, slice(some_events(), 2, 0, 1)) == "[prediction] y (2, 3, 1) found, expected (2, 3, 2)");
  CHECK(said(gaps, some_events()) == "[prediction] y (2, 3, 2) found, expected (2, 3, 1)");
  CHECK(said(p, events(-0.5, 1)) == "[prediction] gap -0.5 found, expected 0 or more");
  CHECK(said(gaps, Tensor::full(kEvents, -2, DType::float64)) == "[prediction] gap -2 found, expected 0 or more");
  for (const auto& [mark, text] : {std::pair(-2.0, "-2"), std::pair(-0.5, "-0.5"), std::pair(4.0, "4"),
                                   std::pair(0.5, "0.5"), std::pair(kNaN, "nan"), std::pair(kInfinity, "inf")})
    CHECK(said(p, events(1, mark)) ==
          fmt::format("[prediction] mark {} found, expected one of 0 … 3, or -1 for an end", text));
  CHECK(error_of([&] { p.log_survival(flat.view({3, 2})); }) == "[prediction] gaps (3, 2) found, expected (2, 3)");
  CHECK(error_of([&] {
          p.log_survival(Tensor::full({2, 3}, -1, DType::float64));
        }) == "[prediction] gap -1 found, expected 0 or more");
  CHECK(said(p, some_events()) == "no error");
  const auto scored = [&](const NextEvent& q, const Tensor& y) { return error_of([&] { q.score(y); }); };
  for (const NextEvent& q : {p, gaps}) {
    CHECK(scored(q, slice(some_events(), 2, 0, 1)) == "[prediction] y (2, 3, 1) found, expected (2, 3, 2)");
    CHECK(scored(q, slice(some_events(), 1, 0, 2)) == "[prediction] y (2, 2, 2) found, expected (2, 3, 2)");
    CHECK(scored(q, events(-0.5, 0)) == "[prediction] gap -0.5 found, expected 0 or more");
  }
  for (const auto& [mark, text] : {std::pair(-2.0, "-2"), std::pair(-0.5, "-0.5"), std::pair(4.0, "4"),
                                   std::pair(0.5, "0.5"), std::pair(kNaN, "nan"), std::pair(-kInfinity, "-inf")})
    CHECK(scored(p, events(1, mark)) ==
          fmt::format("[prediction] mark {} found, expected one of 0 … 3, or -1 for an end", text));
  CHECK(scored(p, some_events()) == "no error");
}
