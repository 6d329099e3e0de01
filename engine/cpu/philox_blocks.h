#pragma once

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/engine/random.h"

namespace npzoo::simd {

/// Numbers of 64 bits, of which Philox needs the lower halves.
struct PhiloxLanes {
  static constexpr int kBlocks = kVectorBytes / 8;  // that are drawn together
  static constexpr int kWords = 4 * kBlocks;
  typedef std::uint64_t Vector __attribute__((vector_size(kVectorBytes)));

  /// Products of the lower halves.
  [[gnu::always_inline]] static Vector multiply(Vector a, std::uint32_t b) {
#if defined(__AVX512F__)
    return reinterpret_cast<Vector>(
        _mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), _mm512_set1_epi64(static_cast<long long>(b))));
#elif defined(__AVX2__)
    return reinterpret_cast<Vector>(
        _mm256_mul_epu32(reinterpret_cast<__m256i>(a), _mm256_set1_epi64x(static_cast<long long>(b))));
#else
    return (a & 0xFFFFFFFF) * b;
#endif
  }

  /// a(first), b(first), a(first + 2), b(first + 2) …
  template <int first, int... i>
  [[gnu::always_inline]] static Vector pairs(Vector a, Vector b, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(a, b, (i % 2 * kBlocks + i / 2 * 2 + first)...);
  }
};

/// Writes the words of `philox` for so many blocks, the first at `first`, to 4 · kBlocks places, block by block: the
/// same bits (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
[[gnu::always_inline]] inline void philox_blocks(const RandomState& first, std::uint32_t* words) {
  using Lanes = PhiloxLanes;
  using V = Lanes::Vector;
  constexpr int kHalf = Lanes::kBlocks / 2;
  constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57, kWeyl0 = 0x9E3779B9,
                          kWeyl1 = 0xBB67AE85;
  V place;  // even lanes have the first half of the blocks: pairs of lanes then go to memory as they are
  for (int lane = 0; lane < Lanes::kBlocks; ++lane)
    place[lane] = static_cast<std::uint64_t>(lane % 2 * kHalf + lane / 2);
  const V offset = place + first.offset;
  V c0 = offset, c1 = offset >> 32, c2 = V{} + first.stream, c3 = V{} + (first.stream >> 32);
  auto k0 = static_cast<std::uint32_t>(first.seed), k1 = static_cast<std::uint32_t>(first.seed >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const V p0 = Lanes::multiply(c0, kMultiplier0), p1 = Lanes::multiply(c2, kMultiplier1);
    c0 = (p1 >> 32) ^ c1 ^ std::uint64_t{k0};
    c2 = (p0 >> 32) ^ c3 ^ std::uint64_t{k1};
    c1 = p1;
    c3 = p0;
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  const V a = (c0 & 0xFFFFFFFF) | c1 << 32, b = (c2 & 0xFFFFFFFF) | c3 << 32;
  const auto sequence = std::make_integer_sequence<int, Lanes::kBlocks>();
  const V pairs[] = {Lanes::template pairs<0>(a, b, sequence), Lanes::template pairs<1>(a, b, sequence)};
  __builtin_memcpy(words, pairs, sizeof(pairs));
}

}  // namespace npzoo::simd
