#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "npzoo/engine/cpu/simd.h"

/// Elementary functions of a register of float or double, for kernel sources. NaN gives NaN. Relative errors are below
/// 2.5e-7 in float and 5e-16 in double wherever the exact value is a normal number; smaller ones may be flushed to 0.
/// The coefficients are minimax fits (Remez) for the interval at hand unless noted.
namespace npzoo::simd {

/// The binary format of T.
template <class T>
struct Format {
  static constexpr int kMantissaBits = std::numeric_limits<T>::digits - 1;
  static constexpr int kBias = std::numeric_limits<T>::max_exponent - 1;
  /// Added to a small number, leaves its nearest integer in the lowest bits of the sum.
  static constexpr T kRounder = static_cast<T>(std::int64_t{3} << (kMantissaBits - 1));
  static constexpr T kInfinity = std::numeric_limits<T>::infinity();
  static constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
  /// ln 2 = high + low, with n · high exact for every exponent n.
  static constexpr T kLn2High = sizeof(T) == 4 ? T(0.693359375) : T(6.93147180369123816490e-01);
  static constexpr T kLn2Low = sizeof(T) == 4 ? T(-2.12194440054690583e-4) : T(1.90821492927058770002e-10);
};

/// c₀ xⁿ + … + cₙ.
template <class V, class... C>
[[gnu::always_inline]] inline V horner(V x, double highest, C... rest) {
  using T = ScalarOf<V>;
  V y = splat<T>(static_cast<T>(highest));
  ((y = y * x + static_cast<T>(rest)), ...);
  return y;
}

template <class V>
[[gnu::always_inline]] inline V copy_sign(V magnitude, V sign) {
  const auto mask = std::numeric_limits<typename Simd<ScalarOf<V>>::Integer>::min();
  return from_bits<V>((bits_of(magnitude) & ~mask) | (bits_of(sign) & mask));
}

template <class V>
[[gnu::always_inline]] inline V sqrt(V x) {
#if defined(__AVX512F__)
  // With a mask of all lanes here and below: g++ 12 warns of uninitialised values in the plain forms.
  if constexpr (sizeof(x[0]) == 4)
    return _mm512_maskz_sqrt_ps(0xFFFF, x);
  else
    return _mm512_maskz_sqrt_pd(0xFF, x);
#elif defined(__AVX2__)
  if constexpr (sizeof(x[0]) == 4)
    return _mm256_sqrt_ps(x);
  else
    return _mm256_sqrt_pd(x);
#else
  for (int i = 0; i < kLanesOf<V>; ++i) x[i] = std::sqrt(x[i]);
  return x;
#endif
}

/// The nearest integer, ties to even, where |x| < 2^(mantissa bits - 1).
template <class V>
[[gnu::always_inline]] inline V nearest(V x) {
  constexpr auto kRounder = Format<ScalarOf<V>>::kRounder;
  return (x + kRounder) - kRounder;
}

/// The nearest integer, ties to even.
template <class V>
[[gnu::always_inline]] inline V round(V x) {
  constexpr auto kAllIntegers = static_cast<ScalarOf<V>>(std::int64_t{1} << Format<ScalarOf<V>>::kMantissaBits);
  const V size = abs(x);
  return select(size < kAllIntegers, copy_sign((size + kAllIntegers) - kAllIntegers, x), x);
}

/// 2ⁿ for integers n whose power is a normal number.
template <class V>
[[gnu::always_inline]] inline V power_of_two(V n) {
  using F = Format<ScalarOf<V>>;
  return from_bits<V>(bits_of(n + (F::kRounder + F::kBias)) << F::kMantissaBits);
}

/// x 2ⁿ, where x is near 1 and n an integer whose half has a power; overflows to infinity and underflows to 0.
template <class V>
[[gnu::always_inline]] inline V scale_by_power(V x, V n) {
#if defined(__AVX512F__)
  if constexpr (sizeof(x[0]) == 4)
    return _mm512_maskz_scalef_ps(0xFFFF, x, n);
  else
    return _mm512_maskz_scalef_pd(0xFF, x, n);
#else
  const V half = nearest(n * ScalarOf<V>(0.5));
  return x * power_of_two(half) * power_of_two(n - half);
#endif
}

/// x = n ln 2 + r with |r| <= ln 2 / 2; `growth` is exp(r) - 1.
template <class V>
struct ExpParts {
  V n, growth;
};

template <class V>
[[gnu::always_inline]] inline ExpParts<V> split_exp(V x) {
  using T = ScalarOf<V>;
  using F = Format<T>;
  const V n = nearest(x * T(1.44269504088896340736));
  const V r = (x - n * F::kLn2High) - n * F::kLn2Low;
  V q;
  if constexpr (std::is_same_v<T, float>)
    q = horner(r, 0.00139463653, 0.00836658444, 0.0416662834, 0.16666543, 0.500000006);
  else
    q = horner(r, 2.511448078424315e-8, 2.7626326727947965e-7, 2.7557227934502722e-6, 2.4801504445394165e-5,
               0.00019841269903048081, 0.0013888888932379414, 0.0083333333333145854, 0.041666666666573622,
               0.16666666666666686, 0.50000000000000056);
  return {n, r + r * r * q};
}

template <class V>
[[gnu::always_inline]] inline V exp(V x) {
  using T = ScalarOf<V>;
  constexpr T kZeroBelow = sizeof(T) == 4 ? -104 : -746, kInfiniteAbove = sizeof(T) == 4 ? 89 : 710;
  const auto [n, growth] = split_exp(max(splat<T>(kZeroBelow), min(splat<T>(kInfiniteAbove), x)));
  return scale_by_power(1 + growth, n);
}

/// 2ˣ of x <= 0, for attention, where nothing else costs as much: exactly 1 at 0, exactly 0 at -inf.
template <class V>
[[gnu::always_inline]] inline V exp2_below_one(V x) {
  using T = ScalarOf<V>;
#if defined(__AVX512F__)
  // x = n + f with 0 <= f < 1; the scaling rounds its exponent down by itself.
  if constexpr (std::is_same_v<T, float>) {
    const V f = _mm512_maskz_reduce_ps(0xFFFF, x, _MM_FROUND_TO_NEG_INF);
    const V q = horner(f, 1.86713008e-3, 9.01703028e-3, 5.57999131e-2, 0.24016445, 0.693151312);
    return _mm512_maskz_scalef_ps(0xFFFF, 1 + f * q, x);
  } else {
    const V f = _mm512_maskz_reduce_pd(0xFF, x, _MM_FROUND_TO_NEG_INF);
    const V q = horner(f, 6.2634652734225903e-10, 6.5595298355172713e-9, 1.025321230405209e-7, 1.3208367308220050e-6,
                       1.5253175053795246e-5, 1.5403512309733949e-4, 1.3333558629562676e-3, 9.6181290995508956e-3,
                       5.5504108665602239e-2, 0.24022650695906330, 0.69314718055994593);
    return _mm512_maskz_scalef_pd(0xFF, 1 + f * q, x);
  }
#else
  x = max(splat<T>(-Format<T>::kBias), x);  // whose power is 0
  const V n = nearest(x), f = x - n;
  V q;
  if constexpr (std::is_same_v<T, float>)
    q = horner(f, 1.55946782e-4, 1.34066439e-3, 9.61769297e-3, 5.55031055e-2, 0.240226528, 0.693147215);
  else
    q = horner(f, 4.0780719295883367e-10, 7.0725704128144235e-9, 1.0180647659234139e-7, 1.3215442675329822e-6,
               1.5252727395193868e-5, 1.5403530441572130e-4, 1.3333558153439965e-3, 9.6181291076070024e-3,
               5.5504108664790395e-2, 0.24022650695910098, 0.69314718055994570);
  return (1 + f * q) * power_of_two(n);
#endif
}

/// exp(x) - 1 without cancellation.
template <class V>
[[gnu::always_inline]] inline V expm1(V x) {
  using T = ScalarOf<V>;
  constexpr T kMinusOneBelow = -40, kInfiniteAbove = sizeof(T) == 4 ? 89 : 710;
  const auto [n, growth] = split_exp(max(splat<T>(kMinusOneBelow), min(splat<T>(kInfiniteAbove), x)));
  const V half = power_of_two(n - 1);  // of the scale, which itself may overflow
  return 2 * (half * growth + (half - T(0.5)));
}

/// x = 2ᵉ (1 + f) with 1 + f in [√½, √2), for positive x.
template <class V>
struct LogParts {
  V e, f;
};

template <class V>
[[gnu::always_inline]] inline LogParts<V> split_log(V x) {
  using T = ScalarOf<V>;
  using F = Format<T>;
  using Unsigned = std::make_unsigned_t<typename Simd<T>::Integer>;
  typedef Unsigned Bits __attribute__((vector_size(kVectorBytes)));
  constexpr T kPower = static_cast<T>(std::int64_t{1} << F::kMantissaBits);
  constexpr auto kPowerBits = std::bit_cast<Unsigned>(kPower), kOneBits = std::bit_cast<Unsigned>(T(1)),
                 kRootHalfBits = std::bit_cast<Unsigned>(T(0.70710678118654752440));
  const auto denormal = x < std::numeric_limits<T>::min();
  const auto bits = reinterpret_cast<Bits>(select(denormal, x * kPower, x));
  const Bits biased = (bits - kRootHalfBits + kOneBits) >> F::kMantissaBits;
  const V m = reinterpret_cast<V>(bits - (biased << F::kMantissaBits) + kOneBits);
  const V integer = reinterpret_cast<V>(biased + kPowerBits) - (kPower + F::kBias);
  return {select(denormal, integer - F::kMantissaBits, integer), m - 1};
}

/// e ln 2 + log(1 + f). Method and coefficients of fdlibm: log((1 + s) / (1 - s)) as a series in s².
template <class V>
[[gnu::always_inline]] inline V join_log(LogParts<V> parts) {
  using T = ScalarOf<V>;
  using F = Format<T>;
  const auto [e, f] = parts;
  const V s = f / (2 + f), z = s * s, half_square = T(0.5) * f * f;
  V series;
  if constexpr (std::is_same_v<T, float>)
    series = z * horner(z, 0.24279078841, 0.28498786688, 0.40000972152, 0.66666662693);
  else
    series = z * horner(z, 1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
                        2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01,
                        6.666666666666735130e-01);
  return e * F::kLn2High - ((half_square - (s * (half_square + series) + e * F::kLn2Low)) - f);
}

/// `result` where x is a positive number, else what the logarithm of x is: -inf for 0, NaN below, x for inf and NaN.
template <class V>
[[gnu::always_inline]] inline V log_or_limit(V x, V result) {
  using F = Format<ScalarOf<V>>;
  const V limit = select(x == 0, splat<ScalarOf<V>>(-F::kInfinity), select(x < 0, splat<ScalarOf<V>>(F::kNaN), x));
  return select((x > 0) & (x < F::kInfinity), result, limit);
}

template <class V>
[[gnu::always_inline]] inline V log(V x) {
  return log_or_limit(x, join_log(split_log(x)));
}

/// log(1 + x) without cancellation.
template <class V>
[[gnu::always_inline]] inline V log1p(V x) {
  using T = ScalarOf<V>;
  const auto [e, f] = split_log(1 + x);
  const auto small = (x > T(-0.29)) & (x < T(0.41));  // where f would be x, had 1 + x not been rounded
  return log_or_limit(1 + x, join_log<V>({select(small, V{}, e), select(small, x, f)}));
}

template <class V>
[[gnu::always_inline]] inline V tanh(V x) {
  constexpr int kOneAbove = 22;
  const V t = expm1(2 * min(splat<ScalarOf<V>>(kOneAbove), abs(x)));
  return copy_sign(t / (t + 2), x);
}

/// 1 / (1 + exp(-x)).
template <class V>
[[gnu::always_inline]] inline V sigmoid(V x) {
  return 1 / (1 + exp(-x));
}

/// log(1 + exp(x)).
template <class V>
[[gnu::always_inline]] inline V softplus(V x) {
  return max(V{}, x) + log1p(exp(-abs(x)));
}

/// Below 1 an odd polynomial; above, 1 - exp of a polynomial fitted to log(erfc), weighted by what reaches the result.
template <class V>
[[gnu::always_inline]] inline V erf(V x) {
  using T = ScalarOf<V>;
  constexpr T kOneAbove = sizeof(T) == 4 ? 4 : 6;
  const V size = abs(x), z = x * x, u = min(splat<T>(kOneAbove), size) - 1;
  V ratio, log_erfc;
  if constexpr (std::is_same_v<T, float>) {
    ratio = horner(z, -0.000563143626, 0.00491755403, -0.0267113125, 0.112801801, -0.376123262, 1.12837912);
    log_erfc =
        -horner(u, -0.000186374159, 0.0018293673, -0.00989544222, 0.0415034881, 0.84311761, 2.63896688, 1.84960552);
  } else {
    ratio = horner(z, -7.77946775109170913e-10, 1.37109802026457157e-8, -1.62063137696900328e-7, 1.64471315814366213e-6,
                   -0.0000149247123036256006, 0.000120552935770272644, -0.000854832592931994102, 0.00522397760611859805,
                   -0.0268661706431114799, 0.112837916709441848, -0.376126389031835195, 1.12837916709551257);
    log_erfc = -horner(u, -1.77035854297681268e-11, 3.68534501262116097e-10, -3.25053113724437563e-9,
                       1.40999257302810609e-8, -8.73063993388518411e-9, -2.95213727420261436e-7, 2.25271444748405817e-6,
                       -9.78932397907200471e-6, 0.0000272827594217857286, -0.0000263390464906902669,
                       -0.000237301158256569522, 0.00197789751864182674, -0.0100338246055222561, 0.0415610979726774183,
                       0.843107256361853518, 2.63896751423473229, 1.84960550993324841);
  }
  return select(size < 1, x * ratio, copy_sign(1 - exp(log_erfc), x));
}

}  // namespace npzoo::simd
