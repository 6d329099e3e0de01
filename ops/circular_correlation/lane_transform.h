#pragma once

#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <numbers>
#include <vector>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/engine/memory.h"

namespace npzoo {

/// A complex number in each lane of two registers. std::complex is for numbers of the language alone: with libc++ it
/// compiles with no others.
template <class T>
struct LaneComplex {
  Vec<T> re{}, im{};

  friend LaneComplex operator+(LaneComplex a, LaneComplex b) { return {a.re + b.re, a.im + b.im}; }
  friend LaneComplex operator-(LaneComplex a, LaneComplex b) { return {a.re - b.re, a.im - b.im}; }
  friend LaneComplex operator*(LaneComplex a, LaneComplex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend LaneComplex operator*(LaneComplex a, Vec<T> b) { return {a.re * b, a.im * b}; }
  friend LaneComplex conj(LaneComplex a) { return {a.re, -a.im}; }
  LaneComplex& operator+=(LaneComplex b) { return *this = *this + b; }
};

/// The discrete Fourier transform of as many signals as there are lanes, as they lie in memory: kissfft's algorithm for
/// registers, after its kissfft.hh (Copyright (c) 2003-2010, Mark Borgerding; SPDX-License-Identifier: BSD-3-Clause).
template <class T>
class LaneFourier {
 public:
  using Complex = LaneComplex<T>;

  /// length > 0
  explicit LaneFourier(std::size_t length) : length_(length), twiddles_(length) {
    const T step = static_cast<T>(-2 * std::numbers::pi / static_cast<double>(length));
    for (std::size_t i = 0; i < length; ++i) {
      const double angle = static_cast<T>(static_cast<double>(i) * static_cast<double>(step));
      twiddles_[i] = {simd::splat<T>(static_cast<T>(std::cos(angle))), simd::splat<T>(static_cast<T>(std::sin(angle)))};
    }
    // Factors: 4 as often as possible, then 2, then odd ones.
    std::size_t rest = length, factor = 4;
    do {
      while (rest % factor != 0) {
        factor = factor == 4 ? 2 : factor == 2 ? 3 : factor + 2;
        if (factor * factor > rest) factor = rest;
      }
      rest /= factor;
      stages_.push_back({factor, rest});
    } while (rest > 1);
  }

  void transform(const Complex* in, Complex* out, std::size_t stage = 0, std::size_t stride = 1) const {
    const auto [factor, rest] = stages_[stage];
    for (std::size_t i = 0; i < factor; ++i, in += stride) {
      if (rest == 1)
        out[i] = *in;
      else
        transform(in, out + i * rest, stage + 1, stride * factor);
    }
    switch (factor) {
      case 2: return join2(out, stride, rest);
      case 3: return join3(out, stride, rest);
      case 4: return join4(out, stride, rest);
      case 5: return join5(out, stride, rest);
      default: return join(out, stride, rest, factor);
    }
  }

 private:
  struct Stage {
    std::size_t factor, rest;
  };

  // Each joins transforms of m steps to one of as many times m.
  void join2(Complex* out, std::size_t stride, std::size_t m) const {
    for (std::size_t k = 0; k < m; ++k) {
      const Complex t = out[m + k] * twiddles_[k * stride];
      out[m + k] = out[k] - t;
      out[k] += t;
    }
  }

  void join3(Complex* out, std::size_t stride, std::size_t m) const {
    const Complex third = twiddles_[stride * m];
    for (std::size_t k = 0; k < m; ++k, ++out) {
      const Complex a = out[m] * twiddles_[k * stride], b = out[2 * m] * twiddles_[2 * k * stride];
      const Complex sum = a + b, difference = (a - b) * third.im;
      out[m] = out[0] - sum * simd::splat<T>(T(0.5));
      out[0] += sum;
      out[2 * m] = {out[m].re + difference.im, out[m].im - difference.re};
      out[m] += Complex{-difference.im, difference.re};
    }
  }

  void join4(Complex* out, std::size_t stride, std::size_t m) const {
    for (std::size_t k = 0; k < m; ++k) {
      const Complex a = out[k + m] * twiddles_[k * stride], b = out[k + 2 * m] * twiddles_[k * stride * 2],
                    c = out[k + 3 * m] * twiddles_[k * stride * 3];
      const Complex low = out[k] - b, sum = a + c, difference = a - c, turned{difference.im, -difference.re};
      out[k] += b;
      out[k + 2 * m] = out[k] - sum;
      out[k] += sum;
      out[k + m] = low + turned;
      out[k + 3 * m] = low - turned;
    }
  }

  void join5(Complex* out, std::size_t stride, std::size_t m) const {
    const Complex ya = twiddles_[stride * m], yb = twiddles_[stride * 2 * m];
    for (std::size_t k = 0; k < m; ++k, ++out) {
      const Complex first = out[0];
      const Complex a = out[m] * twiddles_[k * stride], b = out[2 * m] * twiddles_[2 * k * stride],
                    c = out[3 * m] * twiddles_[3 * k * stride], d = out[4 * m] * twiddles_[4 * k * stride];
      const Complex outer = a + d, outer_difference = a - d, inner = b + c, inner_difference = b - c;
      out[0] += outer;
      out[0] += inner;
      const Complex p = first + Complex{outer.re * ya.re + inner.re * yb.re, outer.im * ya.re + inner.im * yb.re};
      const Complex q{outer_difference.im * ya.im + inner_difference.im * yb.im,
                      -outer_difference.re * ya.im - inner_difference.re * yb.im};
      out[m] = p - q;
      out[4 * m] = p + q;
      const Complex r = first + Complex{outer.re * yb.re + inner.re * ya.re, outer.im * yb.re + inner.im * ya.re};
      const Complex s{-outer_difference.im * yb.im + inner_difference.im * ya.im,
                      outer_difference.re * yb.im - inner_difference.re * ya.im};
      out[2 * m] = r + s;
      out[3 * m] = r - s;
    }
  }

  void join(Complex* out, std::size_t stride, std::size_t m, std::size_t factor) const {
    scratch_.resize(factor);
    for (std::size_t u = 0; u < m; ++u) {
      for (std::size_t i = 0; i < factor; ++i) scratch_[i] = out[u + i * m];
      for (std::size_t k = u; k < factor * m; k += m) {
        std::size_t twiddle = 0;
        out[k] = scratch_[0];
        for (std::size_t i = 1; i < factor; ++i) {
          twiddle += stride * k;
          if (twiddle >= length_) twiddle -= length_;
          out[k] += scratch_[i] * twiddles_[twiddle];
        }
      }
    }
  }

  std::size_t length_;
  std::vector<Complex> twiddles_;
  std::vector<Stage> stages_{};
  mutable std::vector<Complex> scratch_{};
};

/// The length of the transform for series of `length` steps: their own if its prime factors are those that the
/// transform is fast at; otherwise one that holds a series with a period before it, so that nothing comes around.
inline std::int64_t transform_length(std::int64_t length) {
  const auto smooth = [](std::int64_t n, std::initializer_list<std::int64_t> factors) {
    for (std::int64_t factor : factors)
      while (n % factor == 0) n /= factor;
    return n == 1;
  };
  if (smooth(length, {2, 3, 5, 7})) return length;
  std::int64_t n = 2 * length - 1;
  while (!smooth(n, {2, 3, 5})) ++n;
  return n;
}

/// Transforms of real series, two registers of them at a time: one as the real, one as the imaginary part. A copy is
/// one thread's own.
template <class T>
class LaneTransform {
 public:
  using Complex = LaneComplex<T>;
  static constexpr std::int64_t kSeries = 2 * Simd<T>::kLanes;

  /// length > 0
  explicit LaneTransform(std::int64_t length)
      : length_(length), size_(transform_length(length)), plan_(static_cast<std::size_t>(size_)) {}

  std::int64_t size() const { return size_; }
  bool longer() const { return size_ > length_; }

  /// `count` arrays of `size()` numbers.
  Buffer memory(std::int64_t count) const { return Buffer(static_cast<std::size_t>(count * size_) * sizeof(Complex)); }
  Complex* array(const Buffer& memory, std::int64_t i) const {
    return reinterpret_cast<Complex*>(memory.data()) + i * size_;
  }

  void operator()(const Complex* in, Complex* out) const { plan_.transform(in, out); }

  /// Columns of `rows` (length, width) from the first on, as many as there are up to kSeries. Behind the last step
  /// come 0, or, with `again`, all steps but the last once more and then 0.
  void load(const T* rows, std::int64_t width, std::int64_t columns, bool again, Complex* to) const {
    constexpr int kLanes = Simd<T>::kLanes;
    const int left = static_cast<int>(simd::min<std::int64_t>(columns, kLanes));
    const int right = static_cast<int>(simd::min<std::int64_t>(columns - left, kLanes));
    for (std::int64_t t = 0; t < length_; ++t, rows += width)
      to[t] = {simd::load_first(rows, left), right > 0 ? simd::load_first(rows + kLanes, right) : Vec<T>{}};
    for (std::int64_t t = length_; t < size_; ++t) to[t] = again && t < 2 * length_ - 1 ? to[t - length_] : Complex();
  }

 private:
  std::int64_t length_, size_;
  LaneFourier<T> plan_;
};

}  // namespace npzoo
