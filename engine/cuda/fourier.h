#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "npzoo/engine/kernel.h"

namespace npzoo {

/// Series of `length` > 0 steps that are transformed at a time. The number follows from the length alone, so that the
/// bits of a series do not depend on how many others there are; it is even, so that all starts are aligned to two
/// elements.
constexpr std::int64_t fourier_series_at_once(std::int64_t length) {
  constexpr std::int64_t kElements = std::int64_t{1} << 20;
  return static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(kElements / length, 2, 1024))));
}

/// `series` rounded up to a multiple of fourier_series_at_once(length).
constexpr std::int64_t padded_series(std::int64_t series, std::int64_t length) {
  const std::int64_t at_once = fourier_series_at_once(length);
  return (series + at_once - 1) / at_once * at_once;
}

/// Discrete Fourier transforms of `batch` real series: spectrum(f) = Σ over t of real(t) exp(−2πi f t / length) for
/// 0 ≤ f ≤ length / 2; or the inverse times `length`, which overwrites the spectra. `batch` is a multiple of
/// fourier_series_at_once(length), and length > 0.
template <class T>
struct RealFourier {
  std::int64_t batch, length;
  T* real;      // (batch, length), aligned to 2 elements
  T* spectrum;  // (batch, length / 2 + 1, 2), aligned to 2 elements
  bool inverse;
};

/// By cuFFT; on the emulated device by kissfft. The first transform of a length cannot be captured: it is planned then.
NPZOO_CUDA_KERNEL(real_fourier, RealFourier);

}  // namespace npzoo
