#pragma once

#include <cmath>
#include <complex>
#include <concepts>
#include <cstddef>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/engine/memory.h"

namespace npzoo {

/// A register as the scalar of kissfft, which then transforms as many signals as there are lanes at a time, as they
/// lie in memory. A number is the same in all lanes, and what is a number to the library is that of the first one.
template <class T, Isa isa = kIsa>
struct Lanes {
  Vec<T> v{};

  Lanes() = default;
  Lanes(Vec<T> x) : v(x) {}
  template <class N>
  requires std::integral<N> || std::floating_point<N> Lanes(N x) : v(simd::splat<T>(static_cast<T>(x))) {}
  operator double() const { return static_cast<double>(v[0]); }

  friend Lanes operator+(Lanes a, Lanes b) { return a.v + b.v; }
  friend Lanes operator-(Lanes a, Lanes b) { return a.v - b.v; }
  friend Lanes operator*(Lanes a, Lanes b) { return a.v * b.v; }
  friend Lanes operator*(Lanes a, double b) { return a * Lanes(b); }
  friend Lanes operator*(std::size_t a, Lanes b) { return static_cast<double>(a) * static_cast<double>(b); }
  friend Lanes operator-(Lanes a) { return -a.v; }
  Lanes& operator+=(Lanes b) { return *this = *this + b; }
  Lanes& operator-=(Lanes b) { return *this = *this - b; }
  Lanes& operator*=(Lanes b) { return *this = *this * b; }
};

}  // namespace npzoo

#include <kissfft/kissfft.hh>  // which looks for the operators above

namespace npzoo {

/// The length of the transform for series of `length` steps: their own where its prime factors are those that kissfft
/// is fast at; otherwise one that holds a series with a period before it, so that nothing comes around.
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
template <class T, Isa isa = kIsa>
class LaneTransform {
 public:
  using Complex = std::complex<Lanes<T>>;
  static constexpr std::int64_t kSeries = 2 * Simd<T>::kLanes;

  /// length > 0
  explicit LaneTransform(std::int64_t length)
      : length_(length), size_(transform_length(length)), plan_(static_cast<std::size_t>(size_), false) {}

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
  kissfft<Lanes<T>> plan_;
};

}  // namespace npzoo
