#pragma once

// Helpers of row-wise kernels. Only kernel sources include them.

#include <limits>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/engine/cpu/simd_math.h"

namespace npzoo::simd {

/// The first n elements, or as many as a register holds; 0 in the other lanes.
template <class T>
[[gnu::always_inline]] inline Vec<T> load_up_to(const T* p, std::int64_t n) {
  return n >= Simd<T>::kLanes ? load(p) : load_first(p, static_cast<int>(n));
}

/// The same with −∞ in the other lanes.
template <class T>
[[gnu::always_inline]] inline Vec<T> load_padded(const T* p, std::int64_t n) {
  if (n >= Simd<T>::kLanes) return load(p);
  const auto count = static_cast<int>(n);
  return select(lane_index<T>() < count, load_first(p, count), splat<T>(-std::numeric_limits<T>::infinity()));
}

/// Stores the first n lanes, or all if there are no more.
template <class T>
[[gnu::always_inline]] inline void store_up_to(T* p, std::type_identity_t<Vec<T>> x, std::int64_t n) {
  if (n >= Simd<T>::kLanes)
    store(p, x);
  else
    store_first(p, x, static_cast<int>(n));
}

/// Calls f(get, put) for every vector of a row: `get(p)` loads from p + i, `put(p, x)` stores there. Lanes behind
/// the end are 0 and not stored.
template <class T, class F>
[[gnu::always_inline]] inline void for_row(std::int64_t width, F f) {
  constexpr int kLanes = Simd<T>::kLanes;
  std::int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes)
    f([i](const T* p) { return load(p + i); }, [i](T* p, Vec<T> x) { store(p + i, x); });
  if (const int rest = static_cast<int>(width - i); rest > 0)
    f([i, rest](const T* p) { return load_first(p + i, rest); },
      [i, rest](T* p, Vec<T> x) { store_first(p + i, x, rest); });
}

/// Sum of registers of T, lane by lane, in double.
template <class T>
class DoubleSum {
 public:
  [[gnu::always_inline]] void add(Vec<T> x) {
    if constexpr (kParts == 1) {
      part_[0] += x;
    } else {
      part_[0] += half<0>(x);
      part_[1] += half<1>(x);
    }
  }

  [[gnu::always_inline]] Vec<T> lanes() const {
    if constexpr (kParts == 1)
      return part_[0];
    else
      return join(__builtin_convertvector(part_[0], Narrow), __builtin_convertvector(part_[1], Narrow));
  }

  [[gnu::always_inline]] double total() const { return sum(kParts == 1 ? part_[0] : part_[0] + part_[kParts - 1]); }

 private:
  using Narrow = typename Simd<T>::Narrow;
  static constexpr int kParts = sizeof(double) / sizeof(T);

  template <int number>
  [[gnu::always_inline]] static Vec<double> half(Vec<T> x) {
    return [x]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
      return widen<T>(__builtin_shufflevector(x, x, (number * int(sizeof...(i)) + i)...));
    }
    (std::make_integer_sequence<int, Simd<double>::kLanes>{});
  }

  [[gnu::always_inline]] static Vec<T> join(Narrow a, Narrow b) {
    return [ a, b ]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
      return __builtin_shufflevector(a, b, i...);
    }
    (std::make_integer_sequence<int, Simd<T>::kLanes>{});
  }

  Vec<double> part_[kParts]{};
};

/// Sums the rows of a matrix in double; they are `stride` elements apart.
template <class T>
void sum_rows(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t width, T* sums) {
  for_row<T>(width, [&](auto get, auto put) {
    DoubleSum<T> sum;
    for (std::int64_t row = 0; row < rows; ++row) sum.add(get(x + row * stride));
    put(sums, sum.lanes());
  });
}

/// x − shift, but 0 where both are the same infinity.
template <class V>
[[gnu::always_inline]] inline V difference(V x, V shift) {
  return select(x == shift, V{}, x - shift);
}

/// Σ exp(x − shift), lane by lane; `shift` is the largest x, or 0 where every x is −∞.
template <class T>
struct ExpSum {
  Vec<T> shift, sum;
};

/// Returns the sum of exponentials of `count` registers at(0), at(1), …; with `across` also over their lanes. Calls
/// `keep(i, exp(at(i) − shift))` for each.
template <class T, class Load, class Keep>
[[gnu::always_inline]] inline ExpSum<T> exp_sum(std::int64_t count, bool across, Load at, Keep keep) {
  const Vec<T> lowest = splat<T>(-std::numeric_limits<T>::infinity());
  Vec<T> shift = lowest;
  for (std::int64_t i = 0; i < count; ++i) shift = max(at(i), shift);
  if (across) shift = splat<T>(largest(shift));
  shift = select(shift == lowest, Vec<T>{}, shift);

  DoubleSum<T> sum;
  for (std::int64_t i = 0; i < count; ++i) {
    const Vec<T> e = exp(difference(at(i), shift));
    sum.add(e);
    keep(i, e);
  }
  return {shift, across ? splat<T>(static_cast<T>(sum.total())) : sum.lanes()};
}

}  // namespace npzoo::simd
