#include "npzoo/engine/cpu/simd_math.h"
#include "npzoo/engine/optim/optimiser_kernels.h"

namespace npzoo {

namespace {

using namespace simd;

/// Loads n elements of a gradient from position i on.
template <class T>
[[gnu::always_inline]] inline Vec<T> load_gradient(const Stretch<T>& s, std::int64_t i, int n) {
  Vec<T> sum = load_first(s.gradients.front() + i, n);
  for (const T* part : s.gradients.subspan(1)) sum += load_first(part + i, n);
  return sum;
}

// Without gradients moments shrink until rounding stops them as denormal numbers, with which some processors compute a
// hundred times slower.

template <class V>
[[gnu::always_inline]] inline V normal_first_moment(V m) {
  return select(abs(m) < kSmallest<ScalarOf<V>>, V{}, m);
}
template <class V>
[[gnu::always_inline]] inline V normal_second_moment(V v) {
  return select(v > V{}, max(splat<ScalarOf<V>>(2 * kSmallest<ScalarOf<V>>), v), v);
}

/// Updates all arrays in one pass. `adjust(g, p)` may change both before the moments see the gradient.
/// `second(v, g²)` returns the new second moment.
template <class T, class Update, class Adjust, class Second>
void step(Cpu& cpu, const Update& update, Adjust adjust, Second second) {
  constexpr int kLanes = Simd<T>::kLanes;
  const StepScalars& now = *update.scalars;
  if (now.skip != 0) return;
  const T scale = static_cast<T>(now.gradient_scale);
  const T keep = static_cast<T>(update.beta1), take = static_cast<T>(1 - update.beta1);
  const T rate = static_cast<T>(now.learning_rate / now.bias_correction1);
  const T root_scale = static_cast<T>(1 / std::sqrt(now.bias_correction2));
  const T epsilon = static_cast<T>(update.epsilon);
  cpu.parallel_for(std::ssize(update.stretches), 1, [&](std::int64_t first, std::int64_t) {
    const Stretch<T>& s = update.stretches[static_cast<std::size_t>(first)];
    for (std::int64_t i = s.begin; i < s.end; i += kLanes) {
      const int n = static_cast<int>(min(s.end - i, kLanes));
      Vec<T> p = load_first(s.parameter + i, n);
      Vec<T> g = scale * load_gradient(s, i, n);
      adjust(g, p);
      const Vec<T> m = normal_first_moment(keep * load_first(s.first_moment + i, n) + take * g);
      const Vec<T> v = normal_second_moment(second(load_first(s.second_moment + i, n), g * g));
      store_first(s.first_moment + i, m, n);
      store_first(s.second_moment + i, v, n);
      store_first(s.parameter + i, p - rate * m / (sqrt(v) * root_scale + epsilon), n);
    }
  });
}

}  // namespace

template <class T>
void judge_gradients(Cpu& cpu, const JudgeGradients<T>& p) {
  constexpr int kLanes = Simd<T>::kLanes, kDoubles = Simd<double>::kLanes;
  cpu.parallel_for(std::ssize(p.stretches), 1, [&p](std::int64_t first, std::int64_t) {
    const Stretch<T>& s = p.stretches[static_cast<std::size_t>(first)];
    Vec<double> sum{};
    for (std::int64_t i = s.begin; i < s.end; i += kLanes) {
      T gradient[kLanes];
      store(gradient, load_gradient(s, i, static_cast<int>(min(s.end - i, kLanes))));
      for (int lane = 0; lane < kLanes; lane += kDoubles) {
        const Vec<double> g = load_as_double(gradient + lane);
        sum += g * g;
      }
    }
    p.squares[first] = simd::sum(sum);
  });
  double squares = 0;
  for (std::int64_t i = 0; i < std::ssize(p.stretches); ++i) squares += p.squares[i];
  const double norm = std::sqrt(squares);
  p.scalars->gradient_norm = norm;
  p.scalars->gradient_scale = norm > p.limit ? p.limit / norm : 1;
  if (!std::isfinite(norm) || (p.loss && !std::isfinite(*p.loss))) p.scalars->skip = 1;
}

template <class T>
void adam_update(Cpu& cpu, const AdamUpdate<T>& p) {
  const T keep = static_cast<T>(p.beta2), take = static_cast<T>(1 - p.beta2);
  const T decay = static_cast<T>(p.decoupled_decay ? 0 : p.weight_decay);
  const T shrink = static_cast<T>(p.decoupled_decay ? 1 - p.scalars->learning_rate * p.weight_decay : 1);
  step<T>(
      cpu, p,
      [=](Vec<T>& g, Vec<T>& parameter) {
        g += decay * parameter;
        parameter *= shrink;
      },
      [=](Vec<T> v, Vec<T> square) { return keep * v + take * square; });
}

template <class T>
void yogi_update(Cpu& cpu, const YogiUpdate<T>& p) {
  const T take = static_cast<T>(1 - p.beta2);
  step<T>(
      cpu, p, [](Vec<T>&, Vec<T>&) {},
      [take](Vec<T> v, Vec<T> square) {
        const Vec<T> change = take * square;
        return select(v > square, v - change, select(v < square, v + change, v));
      });
}

NPZOO_INSTANTIATE(judge_gradients, JudgeGradients);
NPZOO_INSTANTIATE(adam_update, AdamUpdate);
NPZOO_INSTANTIATE(yogi_update, YogiUpdate);

}  // namespace npzoo
