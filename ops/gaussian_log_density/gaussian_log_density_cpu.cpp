#include <cstring>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/engine/cpu/simd_math.h"
#include "npzoo/ops/gaussian_log_density/kernels.h"

namespace npzoo {

namespace {

constexpr std::int64_t kGrain = 1 << 12;  // elements that one thread takes at a time
constexpr std::int64_t kTile = 256;  // elements whose terms are held between the element-wise and the row-wise part
constexpr int kLanes = Simd<double>::kLanes;
constexpr double kHalfLogTwoPi = 0.91893853320467274178;

template <class T>
[[gnu::always_inline]] inline Vec<double> load(const T* p, std::int64_t n) {
  return n >= kLanes ? simd::load_as_double(p) : simd::load_first_as_double(p, static_cast<int>(n));
}

template <class T>
[[gnu::always_inline]] inline void store(T* p, Vec<double> x, std::int64_t n) {
  using Narrow = typename Simd<T>::Narrow;
  if (n >= kLanes) {
    *reinterpret_cast<Narrow*>(p) = __builtin_convertvector(x, Narrow);
  } else {
    for (int i = 0; i < n; ++i) p[i] = static_cast<T>(x[i]);
  }
}

/// One register of standardised residuals and of their scale; NaN if that is not positive.
struct Residual {
  Vec<double> z, std;
};

template <class P>
[[gnu::always_inline]] inline Residual residual(const P& p, std::int64_t i, std::int64_t n) {
  const Vec<double> loaded = load(p.std + i, n);
  const Vec<double> std = simd::select(loaded > 0, loaded, simd::splat<double>(__builtin_nan("")));
  return {(load(p.y + i, n) - load(p.mean + i, n)) / std, std};
}

template <class P>
void density_terms(const P& p, std::int64_t begin, std::int64_t count, double* terms) {
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto [z, std] = residual(p, begin + i, count - i);
    simd::store(terms + i, -0.5 * z * z - simd::log(std) - kHalfLogTwoPi);
  }
}

/// `d_terms`: the cotangent of each element's term.
template <class P>
void element_gradients(const P& p, std::int64_t begin, std::int64_t count, const double* d_terms) {
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const std::int64_t at = begin + i, rest = count - i;
    const auto [z, std] = residual(p, at, rest);
    const Vec<double> scaled = simd::load(d_terms + i) / std, d_mean = scaled * z;
    if (p.d_y) store(p.d_y + at, -d_mean, rest);
    if (p.d_mean) store(p.d_mean + at, d_mean, rest);
    if (p.d_std) store(p.d_std + at, scaled * (z * z - 1), rest);
  }
}

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

}  // namespace

template <class T>
void gaussian_log_density_forward(Cpu& cpu, const GaussianLogDensityForward<T>& p) {
  if (p.width == 0) return void(std::memset(p.out, 0, sizeof(T) * p.rows));
  cpu.parallel_for(p.rows, 1 + kGrain / p.width, [&p](std::int64_t begin, std::int64_t end) {
    double terms[kTile], sum = 0;
    std::int64_t row = begin, left = p.width;
    for (std::int64_t i = begin * p.width; i < end * p.width; i += kTile) {
      const std::int64_t count = smaller(kTile, end * p.width - i);
      density_terms(p, i, count, terms);
      for (std::int64_t j = 0; j < count; ++j) {
        sum += terms[j];
        if (--left > 0) continue;
        p.out[row++] = static_cast<T>(sum);
        sum = 0;
        left = p.width;
      }
    }
  });
}

template <class T>
void gaussian_log_density_backward(Cpu& cpu, const GaussianLogDensityBackward<T>& p) {
  cpu.parallel_for(p.rows, 1 + kGrain / (1 + p.width), [&p](std::int64_t begin, std::int64_t end) {
    double d_terms[kTile] = {};
    std::int64_t row = begin, left = p.width;
    for (std::int64_t i = begin * p.width; i < end * p.width; i += kTile) {
      const std::int64_t count = smaller(kTile, end * p.width - i);
      for (std::int64_t j = 0; j < count; ++j) {
        d_terms[j] = p.d_out[row];
        if (--left > 0) continue;
        ++row;
        left = p.width;
      }
      element_gradients(p, i, count, d_terms);
    }
  });
}

NPZOO_INSTANTIATE(gaussian_log_density_forward, GaussianLogDensityForward);
NPZOO_INSTANTIATE(gaussian_log_density_backward, GaussianLogDensityBackward);

}  // namespace npzoo
