#include "npzoo/engine/optim/optimiser_kernels.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "npzoo/engine/backend.h"

namespace npzoo {

namespace {

struct Settings {
  double scale = 1, rate = 1e-2, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, decay = 0;
  bool decoupled = false;
};

template <class T>
struct State {
  std::vector<T> p, m, v;
};

template <class T>
std::vector<T> normal_numbers(std::size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> draw;
  std::vector<T> x(n);
  for (T& value : x) value = static_cast<T>(draw(engine));
  return x;
}

/// The whole state, cut into pieces of 1, 2, … elements.
template <class T>
class Stretches {
 public:
  Stretches(State<T>& state, const std::vector<const T*>& gradients) : gradients_(gradients) {
    const std::int64_t n = std::ssize(state.p);
    for (std::int64_t begin = 0, size = 1; begin < n; begin += size++)
      all_.push_back({begin, std::min(n, begin + size), gradients_, state.p.data(), state.m.data(), state.v.data()});
  }
  operator std::span<const Stretch<T>>() const { return all_; }

 private:
  std::vector<const T*> gradients_;
  std::vector<Stretch<T>> all_;
};

StepScalars scalars_of_step(int t, const Settings& s) {
  return {s.scale, s.rate, 1 - std::pow(s.beta1, t), 1 - std::pow(s.beta2, t)};
}

template <class T, template <class> class Update>
Update<T> arguments(const Stretches<T>& stretches, const StepScalars& scalars, const Settings& s) {
  Update<T> update{
      .stretches = stretches, .scalars = &scalars, .beta1 = s.beta1, .beta2 = s.beta2, .epsilon = s.epsilon};
  if constexpr (requires { update.weight_decay; }) {
    update.weight_decay = s.decay;
    update.decoupled_decay = s.decoupled;
  }
  return update;
}

template <class T>
void run_update(const AdamUpdate<T>& update) {
  with_cpu([&](const Backend& cpu) { adam_update(cpu, update); });
}

template <class T>
void run_update(const YogiUpdate<T>& update) {
  with_cpu([&](const Backend& cpu) { yogi_update(cpu, update); });
}

/// One update by a gradient that is the sum of `parts`.
template <class T, template <class> class Update>
void step(State<T>& state, const std::vector<std::vector<T>>& parts, int t, const Settings& s) {
  std::vector<const T*> gradients;
  for (const std::vector<T>& part : parts) gradients.push_back(part.data());
  const StepScalars scalars = scalars_of_step(t, s);
  run_update(arguments<T, Update>(Stretches<T>(state, gradients), scalars, s));
}

/// One element of one step, in the order of torch.optim (Adam, AdamW) or optax (Yogi).
void exact_step(AdamUpdate<double>*, double& p, double& m, double& v, double g, int t, const Settings& s) {
  if (s.decoupled)
    p *= 1 - s.rate * s.decay;
  else
    g += s.decay * p;
  m = s.beta1 * m + (1 - s.beta1) * g;
  v = s.beta2 * v + (1 - s.beta2) * g * g;
  const double step_size = s.rate / (1 - std::pow(s.beta1, t));
  p -= step_size * m / (std::sqrt(v) / std::sqrt(1 - std::pow(s.beta2, t)) + s.epsilon);
}

void exact_step(YogiUpdate<double>*, double& p, double& m, double& v, double g, int t, const Settings& s) {
  m = s.beta1 * m + (1 - s.beta1) * g;
  const double difference = v - g * g;
  v -= (1 - s.beta2) * (difference > 0 ? 1 : difference < 0 ? -1 : 0) * g * g;
  p -= s.rate * (m / (1 - std::pow(s.beta1, t))) / (std::sqrt(v / (1 - std::pow(s.beta2, t))) + s.epsilon);
}

template <class T, template <class> class Update>
void compare(std::size_t n, double start, const Settings& s) {
  State<T> found{normal_numbers<T>(n, 1), std::vector<T>(n, T(start)), std::vector<T>(n, T(start))};
  State<double> exact{{found.p.begin(), found.p.end()}, std::vector<double>(n, start), std::vector<double>(n, start)};
  for (int t = 1; t <= 20; ++t) {
    const std::vector<T> gradient = normal_numbers<T>(n, 100 + static_cast<unsigned>(t));
    step<T, Update>(found, {gradient}, t, s);
    for (std::size_t i = 0; i < n; ++i)
      exact_step(static_cast<Update<double>*>(nullptr), exact.p[i], exact.m[i], exact.v[i], s.scale * gradient[i], t,
                 s);
  }
  double error = 0;
  for (std::size_t i = 0; i < n; ++i)
    error = std::max({error, std::abs(found.p[i] - exact.p[i]), std::abs(found.m[i] - exact.m[i]),
                      std::abs(found.v[i] - exact.v[i])});
  CHECK(error <= (std::is_same_v<T, float> ? 3e-6 : 3e-15));
}

}  // namespace

TEST_CASE_TEMPLATE("adam_update follows torch.optim.Adam and AdamW", T, float, double) {
  for (const std::size_t n : {0, 1, 15, 33, 20'000}) {
    compare<T, AdamUpdate>(n, 0, {});
    compare<T, AdamUpdate>(n, 0, {.scale = 0.25, .decay = 0.1});
    compare<T, AdamUpdate>(n, 0, {.decay = 0.1, .decoupled = true});
  }
}

TEST_CASE_TEMPLATE("adam_update: the first step is the learning rate against the sign of the gradient", T, float,
                   double) {
  const std::vector<T> gradient{3, -0.5, 1e-3, 0};
  State<T> state{std::vector<T>(4, 1), std::vector<T>(4), std::vector<T>(4)};
  step<T, AdamUpdate>(state, {gradient}, 1, {.epsilon = 0});
  CHECK(state.p[0] == doctest::Approx(0.99));
  CHECK(state.p[1] == doctest::Approx(1.01));
  CHECK(state.p[2] == doctest::Approx(0.99));
  CHECK(std::isnan(state.p[3]));  // 0 / 0, as without an epsilon anywhere
  State<T> still{std::vector<T>(4, 1), std::vector<T>(4), std::vector<T>(4)};
  step<T, AdamUpdate>(still, {std::vector<T>(4)}, 1, {});
  CHECK(still.p == std::vector<T>(4, 1));
}

TEST_CASE_TEMPLATE("yogi_update follows optax.yogi", T, float, double) {
  for (const std::size_t n : {0, 1, 15, 33, 20'000}) {
    compare<T, YogiUpdate>(n, 1e-6, {.epsilon = 1e-3});
    compare<T, YogiUpdate>(n, 1e-6, {.scale = 0.25, .epsilon = 1e-3});
  }
}

TEST_CASE_TEMPLATE("yogi_update leaves the second moment where it equals the square", T, float, double) {
  State<T> state{{1}, {0}, {4}};
  step<T, YogiUpdate>(state, {std::vector<T>{2}}, 1, {.epsilon = 1e-3});
  CHECK(state.v[0] == 4);
}

TEST_CASE_TEMPLATE("adam_update sums the parts of a gradient in their order", T, float, double) {
  constexpr std::size_t kSize = 1003;
  const std::vector<std::vector<T>> parts{normal_numbers<T>(kSize, 1), normal_numbers<T>(kSize, 2),
                                          normal_numbers<T>(kSize, 3)};
  std::vector<T> sum(kSize);
  for (std::size_t i = 0; i < kSize; ++i) sum[i] = parts[0][i] + parts[1][i] + parts[2][i];
  const auto after_one_step = [](const std::vector<std::vector<T>>& gradients) {
    State<T> state{normal_numbers<T>(kSize, 4), normal_numbers<T>(kSize, 5), std::vector<T>(kSize, 1)};
    step<T, AdamUpdate>(state, gradients, 5, {});
    return state;
  };
  const State<T> whole = after_one_step({sum}), summed = after_one_step(parts);
  CHECK(summed.p == whole.p);
  CHECK(summed.m == whole.m);
  CHECK(summed.v == whole.v);
}

TEST_CASE_TEMPLATE("optimiser steps do not depend on the number of threads", T, float, double) {
  const int before = thread_pool().threads();
  const auto after_one_step = [](int threads) {
    set_threads(threads);
    State<T> state{normal_numbers<T>(50'001, 1), normal_numbers<T>(50'001, 2), std::vector<T>(50'001, 1)};
    step<T, AdamUpdate>(state, {normal_numbers<T>(50'001, 3), normal_numbers<T>(50'001, 4)}, 5, {});
    return state.p;
  };
  const std::vector<T> alone = after_one_step(1);
  for (int threads : {2, 3}) CHECK(after_one_step(threads) == alone);
  set_threads(before);
}

TEST_CASE_TEMPLATE("optimiser kernels: moments without gradients do not become denormal", T, float, double) {
  constexpr std::size_t kN = 37;
  constexpr T kStart = 8 * kSmallest<T>;
  State<T> state{std::vector<T>(kN, T(0)), std::vector<T>(kN, -kStart), std::vector<T>(kN, kStart)};
  const auto normal = [](T x) { return x == 0 || std::isnormal(x); };
  for (int t = 1; t <= 3000; ++t) {
    step<T, AdamUpdate>(state, {std::vector<T>(kN, T(0))}, t, {.epsilon = 0});
    CHECK((std::ranges::all_of(state.m, normal) && std::ranges::all_of(state.v, normal)));
  }
  CHECK(state.m == std::vector<T>(kN, 0));
  CHECK(state.v == std::vector<T>(kN, 2 * kSmallest<T>));
  for (const T p : state.p) CHECK((std::isfinite(p) && p > 0));
  State<T> untouched{std::vector<T>(kN, T(1)), std::vector<T>(kN), std::vector<T>(kN)};
  step<T, AdamUpdate>(untouched, {std::vector<T>(kN)}, 1, {.epsilon = 1e-8});
  CHECK(untouched.v == std::vector<T>(kN));
}

}  // namespace npzoo
