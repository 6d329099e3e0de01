#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "npzoo/ops/kriging/kriging.h"
#include "tests/ops/kriging_fixtures.h"

// Matérn kernels on a line are predicted by states on a CPU, and by a dense factor where gradients are recorded and on
// a GPU.

namespace npzoo {

namespace {

using namespace testing;

struct Both {
  std::vector<double> mean, std;
};

Both moments_of(const KrigingMoments& said) { return {doubles(said.mean), doubles(said.std)}; }

Both by_factor(const KrigingFit& fit, const std::vector<double>& places) {
  Tensor x = Tensor::from<double>({1, std::ssize(places), 1}, std::span(places)).to(default_device());
  Tape tape;
  tape.watch(x);
  const Recording on(tape);
  return moments_of(kriging_predict(fit, x));
}

Both by_states(const KrigingFit& fit, const std::vector<double>& places) {
  return moments_of(
      kriging_predict(fit, Tensor::from<double>({1, std::ssize(places), 1}, std::span(places)).to(default_device())));
}

void check_same(const Both& found, const Both& expected, double tolerance) {
  for (std::size_t i = 0; i < expected.mean.size(); ++i) {
    INFO(i);
    CHECK(std::abs(found.mean[i] - expected.mean[i]) <= tolerance * std::max(expected.std[i], 1e-3));
    CHECK(std::abs(found.std[i] - expected.std[i]) <= tolerance * expected.std[i]);
  }
}

/// Regular places, gaps between them, pairs nearly at one place, and one place twice.
std::vector<Observed> lines() {
  std::vector<Observed> all;
  Observed regular{1, {}, {}}, gaps{1, {}, {}};
  for (int i = 0; i < 90; ++i) regular.x.push_back(i / 16.0);
  for (int i = 0; i < 300; ++i)
    if (i % 7 > 2 && (i < 100 || i > 180)) gaps.x.push_back(i / 64.0 - 2);
  for (Observed* o : {&regular, &gaps})
    for (std::size_t i = 0; i < o->x.size(); ++i)
      o->y.push_back(std::sin(3 * o->x[i]) + 0.1 * std::cos(40.0 * static_cast<double>(i)));
  Observed near = testing::draw(60, 1, 3);
  for (std::size_t i = 0; i < 60; i += 4) near.x[i] = near.x[i + 1] + 1e-9;
  near.x[2] = near.x[3];
  all.push_back(std::move(regular));
  all.push_back(std::move(gaps));
  all.push_back(std::move(near));
  return all;
}

}  // namespace

TEST_CASE("kriging: Matern kernels on a line by states are those by a dense factor") {
  for (const Observed& o : lines())
    for (const double smoothness : {0.0, 1.0, 2.0})
      for (const double inverse : {0.05, 1.0, 30.0})
        for (const double noise : {1e-5, 0.2}) {
          INFO(o.count(), " points, smoothness ", smoothness, ", inverse length ", inverse, ", noise ", noise);
          const KrigingKernel kernel{.smoothness = smoothness, .inverse_length = {inverse, 1, 1}, .noise = noise};
          const KrigingFit fit = kriging_fit(o.xs(), o.ys(), {}, kriging_bank({kernel}), 1);
          std::vector<double> places{-9, -2, 0.3, 12, o.x[0], o.x[5], o.x[5], 0.3};
          check_same(by_states(fit, places), by_factor(fit, places), 1e-6);
        }
}

TEST_CASE("kriging: a value that is well known keeps its digits though process and mean are not known") {
  const Observed o = lines()[1];
  // Computed with 50 digits.
  for (const auto& [smoothness, expected] :
       {std::pair{1.0, 0.00387998148222065}, std::pair{2.0, 0.00339007209403516}}) {
    const KrigingKernel kernel{.smoothness = smoothness, .inverse_length = {0.05, 1, 1}, .noise = 1e-5};
    const KrigingFit fit = kriging_fit(o.xs(), o.ys(), {}, kriging_bank({kernel}), 1);
    const double variance = doubles(fit.kernels)[offsetof(KrigingKernel, variance) / sizeof(double)];
    CHECK(by_states(fit, {-2}).std[0] / std::sqrt(variance) == doctest::Approx(expected).epsilon(1e-9));
  }
}

TEST_CASE("kriging: leaving one out on a line is kriging without it, for each smoothness") {
  for (const double smoothness : {0.0, 1.0, 2.0}) {
    const Observed o = testing::draw(25, 1, 11);
    const KrigingKernel kernel{.smoothness = smoothness, .inverse_length = {2, 1, 1}, .noise = 0.01};
    const auto fit_of = [&](const Observed& some) {
      return kriging_fit(some.xs(), some.ys(), {}, kriging_bank({kernel}), 1);
    };
    const auto variance_of = [](const KrigingFit& fit) {
      return doubles(fit.kernels)[offsetof(KrigingKernel, variance) / sizeof(double)];
    };
    const KrigingFit all = fit_of(o);
    const Both left_out = moments_of(kriging_leave_one_out(all, DType::float64));
    for (std::size_t i = 0; i < o.x.size(); ++i) {
      Observed others = o;
      others.x.erase(others.x.begin() + static_cast<std::ptrdiff_t>(i));
      others.y.erase(others.y.begin() + static_cast<std::ptrdiff_t>(i));
      const KrigingFit without = fit_of(others);
      const Both expected = by_factor(without, {o.x[i]});
      CHECK(left_out.mean[i] == doctest::Approx(expected.mean[0]).epsilon(1e-6));
      // The variance of the process is that of all points.
      CHECK(left_out.std[i] ==
            doctest::Approx(expected.std[0] * std::sqrt(variance_of(all) / variance_of(without))).epsilon(1e-6));
    }
  }
}

TEST_CASE("kriging: a target that is not a number has moments that are none, and the others theirs") {
  const Observed o = testing::draw(30, 1, 4);
  const KrigingFit fit = kriging_fit(o.xs(), o.ys(), {}, kriging_bank({{.noise = 0.1}}), 1);
  const double none = std::numeric_limits<double>::quiet_NaN();
  const Both found = by_states(fit, {0.2, none, -1}), expected = by_states(fit, {0.2, 0.1, -1});
  CHECK(std::isnan(found.mean[1]));
  for (const std::size_t i : {0u, 2u}) {
    CHECK(found.mean[i] == doctest::Approx(expected.mean[i]).epsilon(1e-9));
    CHECK(found.std[i] == doctest::Approx(expected.std[i]).epsilon(1e-9));
  }
}

TEST_CASE("kriging: a Matern kernel takes a line of 20,000 points in linear time and memory") {
  if (default_device() != Device::cpu) return;  // a dense factor takes 3 GB there
  Observed o{1, {}, {}};
  for (int i = 0; i < 20000; ++i) {
    o.x.push_back(i / 5000.0 - 2);
    o.y.push_back(std::sin(3 * o.x.back()));
  }
  const KrigingKernel kernel{.smoothness = 1, .inverse_length = {2, 1, 1}, .noise = 1e-3};
  const KrigingFit fit = kriging_fit(o.xs(), o.ys(), {}, kriging_bank({kernel}), 1);
  const Both left_out = moments_of(kriging_leave_one_out(fit, DType::float64));
  for (std::size_t i = 0; i < o.y.size(); i += 999) CHECK(std::abs(left_out.mean[i] - o.y[i]) < 2e-3);
}

TEST_CASE(
    "kriging: kernels beside one that needs more jitter, or is impossible, have the evidence that they have alone") {
  const Observed o = testing::draw(20, 1, 8);
  const KrigingKernel needs_jitter{.inverse_length = {1e6, 1, 1}, .share = 1 + 5e-8, .ratio = 1e-8},
      has_no_period{.share = 0.5, .inverse_width = 4, .period = 9};
  std::vector<KrigingKernel> bank;
  for (int i = 0; i < 11; ++i) bank.push_back({.smoothness = i % 3 * 1.0, .noise = 0.01 * (i + 1)});
  bank.insert(bank.begin() + 2, needs_jitter);
  bank.insert(bank.begin() + 5, has_no_period);
  const auto evidences = [&](const std::vector<KrigingKernel>& some) {
    const auto fields = doubles(kriging_fit(o.xs(), o.ys(), {}, kriging_bank(some), std::ssize(some)).kernels);
    std::vector<double> found;
    for (std::size_t k = 0; k < some.size(); ++k) found.push_back(fields[k * kKernelFields + kEvidenceField]);
    return found;
  };
  std::vector<double> alone;
  for (const KrigingKernel& kernel : bank) alone.push_back(evidences({kernel})[0]);
  std::ranges::sort(alone, std::greater());
  const std::vector<double> together = evidences(bank);
  CHECK(std::isinf(alone.back()));
  CHECK(together.back() == alone.back());
  for (std::size_t k = 0; k + 1 < alone.size(); ++k) CHECK(together[k] == doctest::Approx(alone[k]).epsilon(1e-12));
}

}  // namespace npzoo
