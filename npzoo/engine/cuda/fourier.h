#pragma once

#include <cstdint>

#include "npzoo/engine/kernel.h"

namespace npzoo {

/// Discrete Fourier transforms of `batch` real series: spectrum(f) = Σ over t of real(t) exp(−2πi f t / length), of
/// which 0 ≤ f ≤ length / 2 say all; or the inverse, `length` times as large, which spoils the spectra. length > 0.
template <class T>
struct RealFourier {
  std::int64_t batch, length;
  T* real;      // (batch, length)
  T* spectrum;  // (batch, length / 2 + 1, 2), aligned to 2 elements
  bool inverse;
};

/// By cuFFT; where the device is emulated, by kissfft. The first transform of an extent cannot be captured: it is
/// planned then.
NPZOO_CUDA_KERNEL(real_fourier, RealFourier);

}  // namespace npzoo
