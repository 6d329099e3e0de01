#include "npzoo/engine/cuda/launch.h"
#include "npzoo/ops/mean_and_deviation/kernels.h"

namespace npzoo {

namespace {

template <class T>
__device__ T softplus_of(T s) {
  return max(T(0), s) + log_one_plus(exponential(-absolute(s)));
}

template <class T>
__device__ T value_of(DeviationCurve curve, T s) {
  switch (curve) {
    case DeviationCurve::exp: return exponential(s);
    case DeviationCurve::softplus: return softplus_of(s);
    case DeviationCurve::root_softplus: return square_root(softplus_of(s));
    case DeviationCurve::half_exp: break;
  }
  return exponential(s * T(0.5));
}

template <class T>
__device__ T slope_of(DeviationCurve curve, T s) {
  const T sigmoid = T(1) / (T(1) + exponential(-s));
  switch (curve) {
    case DeviationCurve::exp: return exponential(s);
    case DeviationCurve::softplus: return sigmoid;
    case DeviationCurve::root_softplus: return T(0.5) / square_root(softplus_of(s)) * sigmoid;
    case DeviationCurve::half_exp: break;
  }
  return exponential(s * T(0.5)) * T(0.5);
}

}  // namespace

template <class T>
void mean_and_deviation_forward(Cuda& cuda, const MeanAndDeviationForward<T>& p) {
  for_each(cuda, "mean_and_deviation", p.rows * p.width, [p] __device__(std::int64_t i) {
    const T* raw = p.raw + i + i / p.width * p.width;
    p.mean[i] = raw[0];
    p.std[i] = value_of(p.form.curve, raw[p.width]) * static_cast<T>(p.form.scale) + static_cast<T>(p.form.shift);
  });
}

template <class T>
void mean_and_deviation_backward(Cuda& cuda, const MeanAndDeviationBackward<T>& p) {
  for_each(cuda, "mean_and_deviation_backward", p.rows * p.width, [p] __device__(std::int64_t i) {
    const std::int64_t place = i + i / p.width * p.width;
    p.d_raw[place] = p.d_mean ? p.d_mean[i] : T(0);
    const T slope = slope_of(p.form.curve, p.raw[place + p.width]) * static_cast<T>(p.form.scale);
    p.d_raw[place + p.width] = p.d_std ? p.d_std[i] * slope : T(0);
  });
}

NPZOO_INSTANTIATE(mean_and_deviation_forward, MeanAndDeviationForward);
NPZOO_INSTANTIATE(mean_and_deviation_backward, MeanAndDeviationBackward);

}  // namespace npzoo
