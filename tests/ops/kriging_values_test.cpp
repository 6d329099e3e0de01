#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>

#include "npzoo/ops/elementwise/elementwise.h"
#include "tests/ops/kriging_fixtures.h"

// Kriging of values that are not finite, of equal ones, and of many.

namespace npzoo {

using namespace testing;

namespace {

/// The order of one task, checked to be a permutation.
std::vector<std::int64_t> order_of(const KrigingFit& fit) {
  const Tensor order = fit.order.to(Device::cpu);
  const auto values = order.values<std::int64_t>();
  std::vector<std::int64_t> found(values.begin(), values.end()), sorted = found, all(found.size());
  std::ranges::sort(sorted);
  std::iota(all.begin(), all.end(), 0);
  REQUIRE(sorted == all);
  return found;
}

}  // namespace

TEST_CASE("kriging: NaN among the inputs comes last in the order, and moments are NaN") {
  const Tensor bank = kriging_bank(few_kernels()), xt = normal<double>({1, 3, 1}, 4);
  const Observed o{1, {2, kNaN, 1, kNaN, -1}, {1, 2, 3, 4, 5}};
  const KrigingFit fit = kriging_fit(o.xs(), o.ys(), {}, bank, 4);
  CHECK(order_of(fit) == std::vector<std::int64_t>{4, 2, 0, 1, 3});
  const KrigingMoments said = kriging_predict(fit, xt), others = kriging_leave_one_out(fit, DType::float64);
  for (const Tensor& moment : {said.mean, said.std, said.spread, others.mean, others.std, others.spread})
    for (const double value : doubles(moment)) CHECK(std::isnan(value));
  for (const double slope : place_slopes(fit, {0.5, 1})) CHECK(std::isnan(slope));
}

TEST_CASE("kriging: NaN in any input of any point leaves the order of the others") {
  for (std::int64_t dims : {1, 2, 3}) {
    const Observed clean = draw(30, dims, 7);
    for (const double odd : {kNaN, kInfinity, -kInfinity})
      for (std::int64_t at = 0; at < 30 * dims; at += 7) {
        Observed o = clean;
        o.x[static_cast<std::size_t>(at)] = odd;
        const KrigingFit fit = kriging_fit(o.xs(), o.ys(), {}, kriging_bank(few_kernels()), 1);
        const auto order = order_of(fit);
        if (std::isnan(odd)) CHECK(order.back() == at / dims);
        CHECK(std::isnan(doubles(kriging_leave_one_out(fit, DType::float64).mean)[0]));
      }
  }
}

TEST_CASE("kriging: regular places with gaps are said as if they were irregular") {
  std::vector<KrigingKernel> kernels = few_kernels();
  kernels.push_back({.smoothness = 1,
                     .inverse_length = {2, 2, 2},
                     .noise = 0.01,
                     .share = 0.6,
                     .ratio = 0.3,
                     .inverse_width = 2,
                     .period = 0,
                     .log_weight = 2});
  const Tensor bank = kriging_bank(kernels), xt = normal<double>({1, 40, 1}, 4);
  Observed regular{1, {}, {}};
  for (int i = 0; i < 90; ++i) {
    if (i % 7 == 3 || (i > 30 && i < 45)) continue;
    regular.x.push_back(11 + 0.1 * i);
    regular.y.push_back(std::sin(0.7 * i) + 0.2 * std::cos(0.1 * i * i));
  }
  Observed irregular = regular;
  for (std::size_t i = 0; i < irregular.x.size(); i += 2) irregular.x[i] += 1e-9;
  const Tensor targets = affine(xt, 1, 15);
  const KrigingFit fits[] = {kriging_fit(regular.xs(), regular.ys(), {}, bank, 5),
                             kriging_fit(irregular.xs(), irregular.ys(), {}, bank, 5)};
  CHECK(largest_difference(fits[0].kernels, doubles(fits[1].kernels)) < 1e-6);
  const KrigingMoments said[] = {kriging_predict(fits[0], targets), kriging_predict(fits[1], targets)};
  CHECK(largest_difference(said[0].mean, doubles(said[1].mean)) < 1e-6);
  CHECK(largest_difference(said[0].std, doubles(said[1].std)) < 1e-6);
}

TEST_CASE("kriging: regular places get back what rounding to float32 took") {
  Observed o{1, {}, {}};
  for (int i = 0; i < 200; ++i) {
    if (i % 5 == 1) continue;
    o.x.push_back(-2 + 4.0 * i / 199);
    o.y.push_back(std::sin(0.3 * i));
  }
  const Tensor bank = kriging_bank(few_kernels());
  const auto places = doubles(kriging_fit(o.xs().to(DType::float32), o.ys().to(DType::float32), {}, bank, 1).places);
  for (std::size_t i = 0; i < places.size(); ++i) CHECK(places[i] == doctest::Approx(o.x[i]).epsilon(1e-7));
  double most = 0;
  const double step = (places.back() - places.front()) / 199;
  for (const double place : places) most = std::max(most, std::abs(std::remainder(place - places.front(), step)));
  CHECK(most < 1e-14);
  o.x[50] += 1e-4;  // farther than rounding
  const auto moved = doubles(kriging_fit(o.xs().to(DType::float32), o.ys().to(DType::float32), {}, bank, 1).places);
  for (std::size_t i = 0; i < moved.size(); ++i) CHECK(moved[i] == static_cast<double>(static_cast<float>(o.x[i])));
}

TEST_CASE("kriging: equal inputs keep their order") {
  Observed o{1, {}, {}};
  for (int i = 0; i < 1000; ++i) {
    o.x.push_back((i * 7) % 13);
    o.y.push_back(i % 3);
  }
  const auto order = order_of(kriging_fit(o.xs(), o.ys(), {}, kriging_bank({{.noise = 0.1}}), 1));
  for (std::size_t i = 1; i < order.size(); ++i) {
    const double before = o.x[static_cast<std::size_t>(order[i - 1])], here = o.x[static_cast<std::size_t>(order[i])];
    CHECK((before < here || (before == here && order[i - 1] < order[i])));
  }
}

TEST_CASE("kriging: a fit of 20,000 points") {
  const OnCpu cpu;  // the emulated device takes seconds
  const Observed o = draw(20000, 1, 6);
  const auto order = order_of(kriging_fit(o.xs(), o.ys(), {}, kriging_bank({{.noise = 0.1}}), 1));
  for (std::size_t i = 1; i < order.size(); ++i)
    if (o.x[static_cast<std::size_t>(order[i])] < o.x[static_cast<std::size_t>(order[i - 1])]) FAIL("not in order");
}

TEST_CASE("kriging: kernels without evidence come last, and the others predict as if alone") {
  const Observed o = draw(9, 1, 8);
  const Tensor xt = normal<double>({1, 3, 1}, 4);
  // A share of 3 makes no covariance.
  const KrigingKernel fails{.share = 3, .ratio = 1e-3}, works{.noise = 0.1}, other{.smoothness = 1, .noise = 0.1};
  const auto mean = [&](const std::vector<KrigingKernel>& kernels, std::int64_t keep) {
    return doubles(kriging_predict(kriging_fit(o.xs(), o.ys(), {}, kriging_bank(kernels), keep), xt).mean);
  };
  const CountScope failed(failed_factorisation_counter());
  const auto alone = mean({works, other}, 2);
  CHECK(failed.count() == 0);
  CHECK(std::isnan(mean({fails}, 1)[0]));
  CHECK(failed.count() == 1);
  CHECK(std::isfinite(alone[0]));
  CHECK(mean({fails, works, other}, 3) == alone);
  CHECK(mean({works, fails, other}, 2) == alone);
  CHECK(mean({works, other, fails}, 3) == alone);
}

TEST_CASE("kriging: up to 100 times the jitter, if a covariance matrix is slightly indefinite") {
  const Observed o = draw(20, 1, 8);
  const Tensor xt = normal<double>({1, 3, 1}, 4);
  // Points are 10⁴ length scales apart, so that the first part is −excess · I. The second one has small eigenvalues.
  const auto failures = [&](double excess) {
    const KrigingKernel kernel{.inverse_length = {1e6, 1, 1}, .share = 1 + excess, .ratio = 1e-8};
    const CountScope failed(failed_factorisation_counter());
    const KrigingFit fit = kriging_fit(o.xs(), o.ys(), {}, kriging_bank({kernel}), 1);
    CHECK(std::isfinite(doubles(kriging_predict(fit, xt).std)[0]) == (failed.count() == 0));
    return failed.count();
  };
  for (const double excess : {0.0, 5e-9, 5e-8, 5e-7}) CHECK(failures(excess) == 0);
  for (const double excess : {5e-6, 5e-3}) CHECK(failures(excess) == 1);
}

TEST_CASE("kriging: far from 0 predictions are those near 0, bit for bit") {
  // Multiples of 1/64 that can be added to the shifts without rounding.
  const auto rounded = [](Observed o, double shift) {
    for (double& x : o.x) x = std::round(64 * x) / 64 + shift;
    return o;
  };
  for (std::int64_t dims : {1, 2, 3}) {
    const Observed near = rounded(draw(40, dims, 8), 0), targets = rounded(draw(9, dims, 9), 0);
    const auto predict = [&](double shift) {
      const KrigingFit fit = kriging_fit(rounded(near, shift).xs(), near.ys(), {}, kriging_bank(few_kernels()), 4);
      const KrigingMoments said = kriging_predict(fit, rounded(targets, shift).xs());
      const KrigingMoments others = kriging_leave_one_out(fit, DType::float64);
      return doubles(concat({said.mean, said.std, said.spread, others.mean, others.std}, 1));
    };
    const auto expected = predict(0);
    for (const double value : expected) CHECK(std::isfinite(value));
    for (const double shift : {-1e3, 1e6, 1e9}) CHECK(predict(shift) == expected);
  }
}

TEST_CASE("kriging: a kernel whose period does not exist is impossible") {
  const Observed o = draw(20, 1, 8);
  const KrigingKernel works{.noise = 0.1};
  for (const double period : {-1.0, 0.5, 2.0, 1e300, kNaN, kInfinity}) {
    const KrigingKernel waves{.noise = 0.1, .share = 0.5, .inverse_width = 1, .period = period};
    const KrigingFit fit = kriging_fit(o.xs(), o.ys(), {}, kriging_bank({waves, works}), 2);
    CHECK(doubles(fit.kernels)[kEvidenceField + kKernelFields] == -kInfinity);
  }
}

TEST_CASE("kriging: of kernels with equal evidence the first is kept") {
  // One more than are weighed twice: with fewer, an order that is reversed twice would not show.
  const Observed o = draw(9, 1, 8);
  std::vector<KrigingKernel> bank;
  for (int i = 0; i <= kKrigingFinalists; ++i) bank.push_back({.noise = 0.1, .ratio = 1.0 + i});  // the share is 0
  const auto kept = doubles(kriging_fit(o.xs(), o.ys(), {}, kriging_bank(bank), 1).kernels);
  CHECK(kept[offsetof(KrigingKernel, ratio) / sizeof(double)] == 1);
}

namespace {

/// The frequencies that are found of a strong wave, 20 of which fit into the range of 200 points, and of another one.
std::vector<double> frequencies_of(double amplitude, double waves) {
  Observed o{1, {}, {}};
  for (int i = 0; i < 200; ++i) {
    o.x.push_back(i / 199.0);
    const double angle = 2 * std::numbers::pi * o.x.back();
    o.y.push_back(std::cos(20 * angle) + amplitude * std::cos(waves * angle));
  }
  std::vector<KrigingKernel> bank;
  for (const double number : {0.0, 1.0})
    bank.push_back({.noise = 0.1, .share = 0.5, .inverse_width = 1, .period = number, .log_weight = -1e6 * number});
  const auto kernels = doubles(kriging_fit(o.xs(), o.ys(), {}, kriging_bank(bank), 2).kernels);
  constexpr std::size_t kPeriod = offsetof(KrigingKernel, period) / sizeof(double);
  return {1 / kernels[kPeriod], 1 / kernels[kKernelFields + kPeriod]};
}

}  // namespace

TEST_CASE("kriging: the second period differs from the first by a tenth") {
  // A window of 20 waves has lobes at 21.4 and 18.6, which are higher than the peak of a weak wave.
  const auto weak = frequencies_of(0.15, 8), near = frequencies_of(0.5, 17.2);
  CHECK(std::abs(weak[0] - 20) < 0.3);
  CHECK(std::abs(weak[1] - 8) < 0.3);
  CHECK(std::abs(near[0] - 20) < 0.3);
  CHECK(std::abs(near[1] - 17.2) < 0.3);
}

}  // namespace npzoo
