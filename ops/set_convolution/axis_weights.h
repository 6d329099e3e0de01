#pragma once

#include <cmath>

#include "npzoo/engine/cpu/lanes.h"
#include "npzoo/ops/set_convolution/regular_grid.h"

namespace npzoo::simd {

/// Gaussian weights between points and the nodes of an axis, for several scales. Nodes are equidistant: with the node
/// next to a point at distance d, steps of h and a = 1 / (2 l²),
///   exp(−(d − i h)² a) = exp(−d² a) · exp(2 d h a)ⁱ · exp(−i² h² a),
/// where the last factor is the same for all points. Two products take the place of an exponential; the error grows by
/// a rounding a step, where weights fall.
template <class T>
class AxisWeights {
 public:
  /// Numbers of working memory that it takes.
  static std::int64_t elements(const GridAxis& axis, std::int64_t scales, double reach) {
    return (1 + steps_within(axis, reach)) * scales;
  }
  /// `inverse` (scales) holds a; `factors` is the working memory. All must live as long as this.
  AxisWeights(const GridAxis& axis, const T* inverse, std::int64_t scales, double reach, T* factors)
      : axis_(axis), inverse_(inverse), scales_(scales), steps_(steps_within(axis, reach)), factors_(factors) {
    constexpr double kLargest = 40;  // exponent: exp(2 d h a)ⁱ stays finite, since d is at most h / 2
    T most = 0;
    for (std::int64_t s = 0; s < scales; ++s) most = most < inverse[s] ? inverse[s] : most;
    const double square = axis.step * axis.step,
                 growth = square * static_cast<double>(most) * static_cast<double>(steps_);
    by_factors_ = 2 * scales >= Simd<T>::kLanes && growth < kLargest;
    for (std::int64_t i = 0; by_factors_ && i <= steps_; ++i)
      write(static_cast<T>(-square * static_cast<double>(i * i)), factors + i * scales);
    for_row<T>(by_factors_ ? (steps_ + 1) * scales : 0, [&](auto get, auto put) { put(factors, exp(get(factors))); });
  }

  /// Writes the weights (nodes, scales) between x and the nodes of a range.
  void operator()(const NodeRange& range, double x, T* weights) const {
    const double next = std::nearbyint((x - axis_.origin) / axis_.step);
    if (!by_factors_ || !(std::abs(next) < 0x1p40)) return directly(range, x, weights);
    const auto middle = static_cast<std::int64_t>(next);
    if (middle - range.begin > steps_ || range.end - 1 - middle > steps_) return directly(range, x, weights);
    constexpr int kRegisters = 4;
    constexpr std::int64_t kLanes = Simd<T>::kLanes;
    const Place place{range, middle, x - axis_.node(middle)};
    std::int64_t s = 0;
    for (; s + kRegisters * kLanes <= scales_; s += kRegisters * kLanes) around<kRegisters>(place, s, weights + s);
    for (; s < scales_; s += kLanes) around<1>(place, s, weights + s);
  }

 private:
  /// A point, by its distance from the node next to it, and the nodes around it.
  struct Place {
    NodeRange range;
    std::int64_t middle;
    double distance;
  };

  /// Writes weights of some registers of scales, the first at `s`, in both directions from the middle or the end next
  /// to it.
  template <int registers>
  void around(const Place& place, std::int64_t s, T* weights) const {
    constexpr std::int64_t kLanes = Simd<T>::kLanes;
    const std::int64_t begin = place.range.begin, end = place.range.end;
    const std::int64_t first = max(begin, min(end - 1, place.middle)), left = scales_ - s;
    const double slope = 2 * place.distance * axis_.step;
    const auto start =
                   static_cast<T>(-place.distance * place.distance + slope * static_cast<double>(first - place.middle)),
               up = static_cast<T>(slope);
    Vec<T> rising[registers], falling[registers], growth[registers], decay[registers];
    for (int r = 0; r < registers; ++r) {
      const Vec<T> a = load_up_to(inverse_ + s + r * kLanes, left - r * kLanes);
      rising[r] = exp(start * a);
      growth[r] = exp(up * a);
      decay[r] = exp(-up * a);
      falling[r] = rising[r] * decay[r];
    }
    const auto put = [&](std::int64_t n, Vec<T>(&grown)[registers], const Vec<T>(&ratio)[registers])
        __attribute__((always_inline)) {
      const T* factors = factors_ + (n < place.middle ? place.middle - n : n - place.middle) * scales_ + s;
      T* to = weights + (n - begin) * scales_;
#pragma GCC unroll 4
      for (int r = 0; r < registers; ++r) {
        if constexpr (registers > 1)
          store(to + r * kLanes, grown[r] * load(factors + r * kLanes));
        else
          store_up_to(to, grown[r] * load_up_to(factors, left), left);
        grown[r] *= ratio[r];
      }
    };
    for (std::int64_t n = first; n < end; ++n) put(n, rising, growth);
    for (std::int64_t n = first; n-- > begin;) put(n, falling, decay);
  }

  /// Nodes between a point and the furthest one that it reaches.
  static std::int64_t steps_within(const GridAxis& axis, double reach) {
    const double steps = reach / axis.step + 2, count = static_cast<double>(axis.count);
    return steps < count ? static_cast<std::int64_t>(steps) : axis.count;
  }
  void write(T squared, T* to) const {
    for (std::int64_t s = 0; s < scales_; ++s) to[s] = squared * inverse_[s];
  }
  void directly(const NodeRange& range, double x, T* weights) const {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const double distance = x - axis_.node(i);
      write(static_cast<T>(-distance * distance), weights + (i - range.begin) * scales_);
    }
    for_row<T>((range.end - range.begin) * scales_, [&](auto get, auto put) { put(weights, exp(get(weights))); });
  }

  const GridAxis& axis_;
  const T* inverse_;
  std::int64_t scales_, steps_;
  T* factors_;
  bool by_factors_ = false;
};

}  // namespace npzoo::simd
