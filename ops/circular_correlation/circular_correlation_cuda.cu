#include "npzoo/engine/cuda/fourier.h"
#include "npzoo/engine/cuda/launch.h"
#include "npzoo/ops/circular_correlation/kernels.h"

namespace npzoo {

namespace {

/// rows(b, c, t) = x(b, t, c): every channel a series of its own. Rows up to `count` that no channel fills are 0.
template <class T>
void series_of_channels(Cuda& cuda, std::int64_t batch, std::int64_t length, std::int64_t channels, const T* x, T* rows,
                        std::int64_t count) {
  const std::int64_t filled = batch * channels;
  for_each(cuda, "series_of_channels", count * length, [=] __device__(std::int64_t i) {
    const std::int64_t t = i % length, row = i / length;
    rows[i] = row < filled ? x[(row / channels * length + t) * channels + row % channels] : T(0);
  });
}

/// spectrum(b, f) = Σ over c of q(b, c, f) times the conjugate of k(b, c, f), divided by the length.
template <class T>
void add_cross_spectra(Cuda& cuda, const CircularCorrelation<T>& p, const T* q, const T* k, T* spectrum) {
  const std::int64_t frequencies = p.length / 2 + 1;
  for_each(cuda, "cross_spectra", p.results() * frequencies, [=] __device__(std::int64_t i) {
    const std::int64_t b = i / frequencies, first = b * p.channels * frequencies + i % frequencies;
    double real = 0, imaginary = 0;
    for (std::int64_t c = 0; b < p.batch && c < p.channels; ++c) {
      const std::int64_t at = 2 * (first + c * frequencies);
      const double a = static_cast<double>(q[at]), d = static_cast<double>(q[at + 1]);
      const double u = static_cast<double>(k[at]), v = static_cast<double>(k[at + 1]);
      real += a * u + d * v;
      imaginary += d * u - a * v;
    }
    spectrum[2 * i] = static_cast<T>(real / static_cast<double>(p.length));
    spectrum[2 * i + 1] = static_cast<T>(imaginary / static_cast<double>(p.length));
  });
}

/// values(b, c, f) = weights(b, f) · values(b, c, f) / length, with the conjugate of the weights unless `reversed`.
template <class T>
void weigh_spectra(Cuda& cuda, const DelayedSum<T>& p, const T* weights, T* values) {
  const std::int64_t frequencies = p.length / 2 + 1;
  for_each(cuda, "weigh_spectra", p.batch * p.channels * frequencies, [=] __device__(std::int64_t i) {
    const std::int64_t of_weights = 2 * (i / (p.channels * frequencies) * frequencies + i % frequencies);
    const T scale = T(1) / static_cast<T>(p.length);
    const T a = weights[of_weights] * scale, b = (p.reversed ? scale : -scale) * weights[of_weights + 1];
    const T u = values[2 * i], v = values[2 * i + 1];
    values[2 * i] = a * u - b * v;
    values[2 * i + 1] = a * v + b * u;
  });
}

}  // namespace

template <class T>
void circular_correlation_fourier(Cuda& cuda, const CircularCorrelation<T>& p) {
  if (p.batch == 0 || p.length == 0) return;
  const std::int64_t each = p.batch * p.channels, frequencies = p.length / 2 + 1;
  T* const spectra = p.work;  // of q, of k, of the result; numbers of two parts come first, where memory is aligned
  T* const result = spectra + 2 * p.inputs() * frequencies;
  T* const rows = result + 2 * p.results() * frequencies;
  series_of_channels(cuda, p.batch, p.length, p.channels, p.q, rows, each);
  series_of_channels(cuda, p.batch, p.length, p.channels, p.k, rows + each * p.length, p.inputs() - each);
  real_fourier(cuda, RealFourier<T>{p.inputs(), p.length, rows, spectra, false});
  add_cross_spectra(cuda, p, spectra, spectra + 2 * each * frequencies, result);
  real_fourier(cuda, RealFourier<T>{p.results(), p.length, rows, result, true});
  for_each(cuda, "correlations", p.batch * p.length, [=] __device__(std::int64_t i) { p.out[i] = rows[i]; });
}

template <class T>
void delayed_sum_fourier(Cuda& cuda, const DelayedSum<T>& p) {
  if (p.batch == 0 || p.length == 0 || p.channels == 0) return;
  const std::int64_t each = p.batch * p.channels, frequencies = p.length / 2 + 1;
  const std::int64_t all = p.weight_series() + p.value_series();
  T* const spectra = p.work;  // of weights, of values
  T* const of_values = spectra + 2 * p.weight_series() * frequencies;
  T* const rows = spectra + 2 * all * frequencies;
  series_of_channels(cuda, p.batch, p.length, 1, p.weights, rows, p.weight_series());
  series_of_channels(cuda, p.batch, p.length, p.channels, p.values, rows + p.weight_series() * p.length,
                     p.value_series());
  real_fourier(cuda, RealFourier<T>{all, p.length, rows, spectra, false});
  weigh_spectra(cuda, p, spectra, of_values);
  real_fourier(cuda, RealFourier<T>{p.value_series(), p.length, rows, of_values, true});
  for_each(cuda, "steps_of_series", each * p.length, [=] __device__(std::int64_t i) {
    const std::int64_t c = i % p.channels, row = i / p.channels;
    p.out[i] = rows[(row / p.length * p.channels + c) * p.length + row % p.length];
  });
}

NPZOO_INSTANTIATE(circular_correlation_fourier, CircularCorrelation);
NPZOO_INSTANTIATE(delayed_sum_fourier, DelayedSum);

}  // namespace npzoo
