#include "npzoo/engine/cpu/simd_math.h"
#include "npzoo/ops/mean_and_deviation/kernels.h"

namespace npzoo {

namespace {

using namespace simd;

constexpr std::int64_t kGrain = 1 << 12, kTile = 256;  // elements of one half: for a thread, and at a time

template <class V>
[[gnu::always_inline]] inline V value_of(DeviationCurve curve, V s) {
  using T = ScalarOf<V>;
  switch (curve) {
    case DeviationCurve::exp: return exp(s);
    case DeviationCurve::softplus: return softplus(s);
    case DeviationCurve::root_softplus: return sqrt(softplus(s));
    case DeviationCurve::half_exp: break;
  }
  return exp(s * splat<T>(T(0.5)));
}

template <class V>
[[gnu::always_inline]] inline V slope_of(DeviationCurve curve, V s) {
  using T = ScalarOf<V>;
  switch (curve) {
    case DeviationCurve::exp: return exp(s);
    case DeviationCurve::softplus: return sigmoid(s);
    case DeviationCurve::root_softplus: return splat<T>(T(0.5)) / sqrt(softplus(s)) * sigmoid(s);
    case DeviationCurve::half_exp: break;
  }
  return exp(s * splat<T>(T(0.5))) * splat<T>(T(0.5));
}

/// Replaces n numbers by f of them.
template <class T, class F>
void replace(T* x, std::int64_t n, const F& f) {
  constexpr int kLanes = Simd<T>::kLanes;
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const int lanes = static_cast<int>(min(n - i, kLanes));
    store_first(x + i, f(load_first(x + i, lanes)), lanes);
  }
}

/// Calls f(first element of a half, count) for tiles of the elements, in whole rows.
template <class F>
void for_tiles(Cpu& cpu, std::int64_t rows, std::int64_t width, const F& f) {
  if (width == 0) return;
  cpu.parallel_for(rows * width, kGrain, [&f](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += kTile) f(i, min(end - i, kTile));
  });
}

/// Calls f(j, place in raw of element first + j of the first half).
template <class F>
void for_places(std::int64_t first, std::int64_t count, std::int64_t width, const F& f) {
  std::int64_t row = first / width, column = first % width;
  for (std::int64_t j = 0; j < count; ++j) {
    f(j, 2 * row * width + column);
    if (++column < width) continue;
    column = 0;
    ++row;
  }
}

}  // namespace

template <class T>
void mean_and_deviation_forward(Cpu& cpu, const MeanAndDeviationForward<T>& p) {
  const T scale = static_cast<T>(p.form.scale), shift = static_cast<T>(p.form.shift);
  for_tiles(cpu, p.rows, p.width, [&](std::int64_t first, std::int64_t count) {
    for_places(first, count, p.width, [&](std::int64_t j, std::int64_t place) {
      p.mean[first + j] = p.raw[place];
      p.std[first + j] = p.raw[place + p.width];
    });
    replace(p.std + first, count,
            [&](Vec<T> s) { return value_of(p.form.curve, s) * splat<T>(scale) + splat<T>(shift); });
  });
}

template <class T>
void mean_and_deviation_backward(Cpu& cpu, const MeanAndDeviationBackward<T>& p) {
  const T scale = static_cast<T>(p.form.scale);
  for_tiles(cpu, p.rows, p.width, [&](std::int64_t first, std::int64_t count) {
    T slopes[kTile];
    for_places(first, count, p.width, [&](std::int64_t j, std::int64_t place) { slopes[j] = p.raw[place + p.width]; });
    replace(slopes, count, [&](Vec<T> s) { return slope_of(p.form.curve, s) * splat<T>(scale); });
    for_places(first, count, p.width, [&](std::int64_t j, std::int64_t place) {
      p.d_raw[place] = p.d_mean ? p.d_mean[first + j] : T(0);
      p.d_raw[place + p.width] = p.d_std ? p.d_std[first + j] * slopes[j] : T(0);
    });
  });
}

NPZOO_INSTANTIATE(mean_and_deviation_forward, MeanAndDeviationForward);
NPZOO_INSTANTIATE(mean_and_deviation_backward, MeanAndDeviationBackward);

}  // namespace npzoo
