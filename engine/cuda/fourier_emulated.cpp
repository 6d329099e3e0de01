#include <algorithm>
#include <cmath>
#include <complex>
#include <set>
#include <utility>
#include <vector>

#include <kissfft/kissfft.hh>

#include "npzoo/engine/cuda/emulated_runtime.h"
#include "npzoo/engine/cuda/fourier.h"
#include "npzoo/engine/error.h"

namespace npzoo {

using Cuda = CudaContext<Gpu::emulated>;
using KernelContext = Cuda;

namespace {

template <class T>
void transform_rows(const RealFourier<T>& p) {
  const std::int64_t frequencies = p.length / 2 + 1;
  const kissfft<T> transform(static_cast<std::size_t>(p.length), p.inverse);
  std::vector<std::complex<T>> in(static_cast<std::size_t>(p.length)), out(in.size());
  for (std::int64_t row = 0; row < p.batch; ++row) {
    T* const real = p.real + row * p.length;
    auto* const spectrum = reinterpret_cast<std::complex<T>*>(p.spectrum) + row * frequencies;
    if (!p.inverse) {
      std::copy(real, real + p.length, in.begin());
      transform.transform(in.data(), out.data());
      std::copy(out.begin(), out.begin() + frequencies, spectrum);
      continue;
    }
    for (std::int64_t f = 0; f < p.length; ++f)
      in[static_cast<std::size_t>(f)] = f < frequencies ? spectrum[f] : std::conj(spectrum[p.length - f]);
    transform.transform(in.data(), out.data());
    std::transform(out.begin(), out.end(), real, [](const std::complex<T>& z) { return z.real(); });
    std::fill(spectrum, spectrum + frequencies, std::complex<T>(NAN, NAN));
  }
}

/// Nothing to plan here, but what a GPU refuses is refused.
template <class T>
void plan(const RealFourier<T>& p) {
  static std::set<std::pair<bool, std::int64_t>> plans;
  const std::pair key(p.inverse, p.length);
  if (plans.contains(key)) return;
  check(!gpu_runtime().capturing(), "[fourier] the first transform of series of {} steps cannot be captured", p.length);
  plans.insert(key);
}

}  // namespace

template <class T>
void real_fourier(Cuda& /*cuda*/, const RealFourier<T>& p) {
  check(p.batch % fourier_series_at_once(p.length) == 0, "[fourier] {} series found, expected a multiple of {}",
        p.batch, fourier_series_at_once(p.length));
  if (p.batch == 0) return;
  plan(p);
  emulator::submit([p] { transform_rows(p); });
}

NPZOO_INSTANTIATE(real_fourier, RealFourier);

}  // namespace npzoo
