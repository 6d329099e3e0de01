#pragma once

// Included by kernel sources only: they are compiled once per instruction set, with NPZOO_ISA naming it.

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "npzoo/engine/cpu/context.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace npzoo {

/// The instruction set of this translation unit.
constexpr Isa kIsa = Isa::NPZOO_ISA;
using Cpu = CpuContext<kIsa>;
using KernelContext = Cpu;

constexpr int kVectorBytes = kIsa == Isa::avx512 ? 64 : kIsa == Isa::avx2 ? 32 : 16;

template <class T>
struct IntegerOf;
template <>
struct IntegerOf<float> {
  using type = std::int32_t;
};
template <>
struct IntegerOf<double> {
  using type = std::int64_t;
};

/// One register of T. It differs between instruction sets, as all that kernel sources define does: kernel_objects.sh
/// hides these names from each other.
template <class T>
struct Simd {
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
  using Scalar = T;
  using Integer = typename IntegerOf<T>::type;
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
  typedef Integer Mask __attribute__((vector_size(kVectorBytes)));
  /// As many of T as a register has doubles.
  typedef T Narrow
      __attribute__((vector_size(kVectorBytes / sizeof(double) * sizeof(T)), aligned(alignof(T)), may_alias));
};

template <class T>
using Vec = typename Simd<T>::Vector;

/// Vocabulary of kernels beyond the operators that the compiler gives to vectors. Everything here is always inlined:
/// vectors stay in registers.
namespace simd {

template <class V>
using ScalarOf = std::remove_cvref_t<decltype(std::declval<V&>()[0])>;
template <class V>
using MaskOf = typename Simd<ScalarOf<V>>::Mask;
template <class V>
constexpr int kLanesOf = Simd<ScalarOf<V>>::kLanes;

template <class T>
[[gnu::always_inline]] inline Vec<T> load(const T* p) {
  return *reinterpret_cast<const typename Simd<T>::Unaligned*>(p);
}

template <class T>
[[gnu::always_inline]] inline void store(T* p, std::type_identity_t<Vec<T>> x) {
  *reinterpret_cast<typename Simd<T>::Unaligned*>(p) = x;
}

/// x in every lane. Subtracting +0 changes no value, not even the sign of -0, and compiles to the bare broadcast.
template <class T>
[[gnu::always_inline]] inline Vec<T> splat(std::type_identity_t<T> x) {
  return x - Vec<T>{};
}

/// 0, 1, 2, ...
template <class T>
[[gnu::always_inline]] inline typename Simd<T>::Mask lane_index() {
  return []<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    return typename Simd<T>::Mask{i...};
  }
  (std::make_integer_sequence<int, Simd<T>::kLanes>{});
}

/// The first n elements, 0 < n <= lanes; the other lanes are 0. Nothing behind p[n - 1] is touched.
template <class T>
[[gnu::always_inline]] inline Vec<T> load_first(const T* p, int n) {
  if (n == Simd<T>::kLanes) return load(p);
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>(_bzhi_u32(~0u, static_cast<unsigned>(n))), p);
  else
    return _mm512_maskz_loadu_pd(static_cast<__mmask8>(_bzhi_u32(~0u, static_cast<unsigned>(n))), p);
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4)
    return _mm256_maskload_ps(p, reinterpret_cast<__m256i>(lane_index<T>() < n));
  else
    return _mm256_maskload_pd(p, reinterpret_cast<__m256i>(lane_index<T>() < n));
#else
  Vec<T> x{};
  for (int i = 0; i < n; ++i) x[i] = p[i];
  return x;
#endif
}

/// Stores the first n lanes, 0 < n <= lanes. Nothing behind p[n - 1] is touched.
template <class T>
[[gnu::always_inline]] inline void store_first(T* p, std::type_identity_t<Vec<T>> x, int n) {
  if (n == Simd<T>::kLanes) return store(p, x);
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>(_bzhi_u32(~0u, static_cast<unsigned>(n))), x);
  else
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>(_bzhi_u32(~0u, static_cast<unsigned>(n))), x);
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4)
    _mm256_maskstore_ps(p, reinterpret_cast<__m256i>(lane_index<T>() < n), x);
  else
    _mm256_maskstore_pd(p, reinterpret_cast<__m256i>(lane_index<T>() < n), x);
#else
  for (int i = 0; i < n; ++i) p[i] = x[i];
#endif
}

/// Doubles from as many T.
template <class T>
[[gnu::always_inline]] inline Vec<double> widen(typename Simd<T>::Narrow x) {
#if defined(__AVX512F__)  // g++ 12 converts in two halves
  if constexpr (sizeof(T) == 4) return _mm512_maskz_cvtps_pd(0xFF, reinterpret_cast<__m256>(x));
#endif
  return __builtin_convertvector(x, Vec<double>);
}

/// A register of doubles from as many elements of T, for sums that need them.
template <class T>
[[gnu::always_inline]] inline Vec<double> load_as_double(const T* p) {
  return widen<T>(*reinterpret_cast<const typename Simd<T>::Narrow*>(p));
}
template <class T>
[[gnu::always_inline]] inline Vec<double> load_first_as_double(const T* p, int n) {
  if (n == Simd<double>::kLanes) return load_as_double(p);
  if constexpr (sizeof(T) == sizeof(double)) {
    return load_first(p, n);
  } else {
#if defined(__AVX512F__)
    return widen<T>(_mm256_maskz_loadu_ps(static_cast<__mmask8>(_bzhi_u32(~0u, static_cast<unsigned>(n))), p));
#elif defined(__AVX2__)
    return widen<T>(_mm_maskload_ps(p, _mm_cmpgt_epi32(_mm_set1_epi32(n), _mm_setr_epi32(0, 1, 2, 3))));
#else
    return Vec<double>{p[0]};  // of two
#endif
  }
}

/// a where the mask (as comparisons make it) is set, else b.
template <class V>
[[gnu::always_inline]] inline V select(MaskOf<V> mask, V a, std::type_identity_t<V> b) {
  return mask ? a : b;
}

/// The smaller one, of registers or of numbers; b where either is NaN.
template <class V>
[[gnu::always_inline]] constexpr V min(V a, std::type_identity_t<V> b) {
  // The instruction itself, since g++ 12 does not find it when an operand is a constant.
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<V, Vec<float>>) return _mm512_maskz_min_ps(0xFFFF, a, b);
  if constexpr (std::is_same_v<V, Vec<double>>) return _mm512_maskz_min_pd(0xFF, a, b);
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<V, Vec<float>>) return _mm256_min_ps(a, b);
  if constexpr (std::is_same_v<V, Vec<double>>) return _mm256_min_pd(a, b);
#endif
  return a < b ? a : b;
}

/// The larger one, of registers or of numbers; b where either is NaN.
template <class V>
[[gnu::always_inline]] constexpr V max(V a, std::type_identity_t<V> b) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<V, Vec<float>>) return _mm512_maskz_max_ps(0xFFFF, a, b);
  if constexpr (std::is_same_v<V, Vec<double>>) return _mm512_maskz_max_pd(0xFF, a, b);
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<V, Vec<float>>) return _mm256_max_ps(a, b);
  if constexpr (std::is_same_v<V, Vec<double>>) return _mm256_max_pd(a, b);
#endif
  return a > b ? a : b;
}

/// How many parts of size b it takes to cover a.
[[gnu::always_inline]] constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The lanes' bits as integers, and back.
template <class V>
[[gnu::always_inline]] inline MaskOf<V> bits_of(V x) {
  return reinterpret_cast<MaskOf<V>>(x);
}
template <class V>
[[gnu::always_inline]] inline V from_bits(MaskOf<V> bits) {
  return reinterpret_cast<V>(bits);
}

template <class V>
[[gnu::always_inline]] inline V abs(V x) {
  return from_bits<V>(bits_of(x) & std::numeric_limits<typename Simd<ScalarOf<V>>::Integer>::max());
}

/// op over all lanes, pairwise, in every lane of the result.
template <class V, class F, int distance = kLanesOf<V> / 2>
[[gnu::always_inline]] inline V fold(V x, F op) {
  if constexpr (distance == 0) {
    return x;
  } else {
    const V other = [x]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
      return __builtin_shufflevector(x, x, (i ^ distance)...);
    }
    (std::make_integer_sequence<int, kLanesOf<V>>{});
    return fold<V, F, distance / 2>(op(x, other), op);
  }
}

template <class V>
[[gnu::always_inline]] inline ScalarOf<V> sum(V x) {
  return fold(x, [](V a, V b) { return a + b; })[0];
}

/// The largest lane; any NaN is passed over or returned.
template <class V>
[[gnu::always_inline]] inline ScalarOf<V> largest(V x) {
  return fold(x, [](V a, V b) { return max(a, b); })[0];
}

/// Lane l of the result is lane pattern(l) of a and b side by side.
template <class V, class F>
[[gnu::always_inline]] inline V shuffle(V a, V b, F) {
  return [ a, b ]<int... lane>(std::integer_sequence<int, lane...>) __attribute__((always_inline)) {
    return __builtin_shufflevector(a, b, F{}(lane)...);
  }
  (std::make_integer_sequence<int, kLanesOf<V>>{});
}

/// Transposes the squares in the 16-byte blocks of as many rows as a block has lanes.
template <class V>
[[gnu::always_inline]] inline void transpose_in_blocks(V* x) {
  constexpr int kLanes = kLanesOf<V>, kSide = 16 / sizeof(x[0][0]);
  const auto low = [](int l) { return l / kSide * kSide + l % kSide / 2 + l % 2 * kLanes; };
  const auto high = [](int l) { return l / kSide * kSide + kSide / 2 + l % kSide / 2 + l % 2 * kLanes; };
  if constexpr (kSide == 2) {
    const V a = x[0], b = x[1];
    x[0] = shuffle(a, b, low);
    x[1] = shuffle(a, b, high);
  } else {
    const auto first = [](int l) { return l / 4 * 4 + l % 2 + l % 4 / 2 * kLanes; };
    const auto second = [](int l) { return l / 4 * 4 + 2 + l % 2 + l % 4 / 2 * kLanes; };
    const V a = shuffle(x[0], x[1], low), b = shuffle(x[0], x[1], high), c = shuffle(x[2], x[3], low),
            d = shuffle(x[2], x[3], high);
    x[0] = shuffle(a, c, first);
    x[1] = shuffle(a, c, second);
    x[2] = shuffle(b, d, first);
    x[3] = shuffle(b, d, second);
  }
}

/// Transposes the 16-byte blocks of x[0], x[step], …, as many rows as a register has blocks.
template <class V>
[[gnu::always_inline]] inline void transpose_blocks(V* x, int step) {
  constexpr int kLanes = kLanesOf<V>, kSide = 16 / sizeof(x[0][0]), kBlocks = kLanes / kSide;
  // The even (odd) blocks of a, then those of b.
  const auto even = [](int l) { return l / kSide * 2 * kSide + l % kSide; };
  const auto odd = [](int l) { return l / kSide * 2 * kSide + kSide + l % kSide; };
  if constexpr (kBlocks == 2) {
    const V a = x[0], b = x[step];
    x[0] = shuffle(a, b, even);
    x[step] = shuffle(a, b, odd);
  } else if constexpr (kBlocks == 4) {
    const V a = shuffle(x[0], x[step], even), b = shuffle(x[0], x[step], odd),
            c = shuffle(x[2 * step], x[3 * step], even), d = shuffle(x[2 * step], x[3 * step], odd);
    x[0] = shuffle(a, c, even);
    x[step] = shuffle(b, d, even);
    x[2 * step] = shuffle(a, c, odd);
    x[3 * step] = shuffle(b, d, odd);
  }
}

/// Transposes a square of lanes: x[i][j] becomes x[j][i]. Within blocks of 16 bytes first, since processors shuffle
/// these at twice the speed, then the blocks.
template <class V>
[[gnu::always_inline]] inline void transpose(V (&x)[kLanesOf<V>]) {
  constexpr int kSide = 16 / sizeof(x[0][0]);
#pragma GCC unroll 8
  for (int i = 0; i < kLanesOf<V>; i += kSide) transpose_in_blocks(x + i);
#pragma GCC unroll 4
  for (int i = 0; i < kSide; ++i) transpose_blocks(x + i, kSide);
}

}  // namespace simd

}  // namespace npzoo
