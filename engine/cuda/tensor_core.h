#pragma once

// Products of small matrices on tensor cores: float32 rounded to bfloat16 or TF32, or cut into two TF32 parts, sums in
// float32. A warp multiplies together; which lane holds which elements is as the PTX ISA says for mma.m16n8k16 (bf16)
// and mma.m16n8k8 (tf32). The emulation gathers them from the same places, so that an element in the wrong lane gives a
// wrong product there too. Included by kernel sources only.

#include <bit>
#include <cstring>

#include "npzoo/engine/cuda/device_code.h"

namespace npzoo::tensor_core {

/// Formats of factors: how many registers of a lane hold 16 × 16 elements of a left factor, 16 × 8 of a right one.
struct Bf16 {
  using Element = std::uint16_t;
  static constexpr int kLeft = 4, kRight = 2;
};
struct Tf32 {
  using Element = std::uint32_t;
  static constexpr int kLeft = 8, kRight = 4;
};
/// float32 as it is: a product is three of TF32, of two parts of each factor. It errs by 2⁻²² at most.
struct Tf32Pairs {
  using Element = std::uint32_t;
  static constexpr int kLeft = 8, kRight = 4;
};

namespace {

#ifdef __CUDACC__

__device__ inline std::uint32_t to_tf32(float x) {
  std::uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}

/// Both in one register, `x` in its lower half.
__device__ inline std::uint32_t to_bf16(float x, float y) {
  std::uint32_t bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(y), "f"(x));
  return bits;
}

/// c (16, 8) += a (16, 16) b (16, 8).
__device__ inline void multiply_bf16(float* c, const std::uint32_t* a, const std::uint32_t* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// c (16, 8) += a (16, 8) b (8, 8).
__device__ inline void multiply_tf32(float* c, const std::uint32_t* a, const std::uint32_t* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Four matrices of 8 rows of 16 bytes in shared memory, each to one register: lane 4 i + j gets the j-th 4 bytes of
/// row i. Lane 8 m + i tells where row i of matrix m is, aligned to 16 bytes.
__device__ inline void load_matrices(std::uint32_t* x, const void* row) {
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(at)
               : "memory");
}

/// The same of the transposed matrices of 2-byte elements.
__device__ inline void load_matrices_transposed(std::uint32_t* x, const void* row) {
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(at)
               : "memory");
}

#else

inline std::uint32_t to_tf32(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return 0x7fffffffu;
  return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & ~0x1fffu;
}

inline std::uint32_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return x != x ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}
inline std::uint32_t to_bf16(float x, float y) { return to_bf16(x) | to_bf16(y) << 16; }

struct Operands {
  std::uint32_t a[4], b[2];
};

/// c (16, 8) += Σ over `depth` of left(row, k) right(k, column), which take elements out of the lanes' registers.
template <class Left, class Right>
void multiply(float* c, int depth, Left left, Right right) {
  const int lane = lane_id();
  for (int e = 0; e < 4; ++e)
    for (int k = 0; k < depth; ++k) c[e] += left(lane / 4 + 8 * (e / 2), k) * right(k, lane % 4 * 2 + e % 2);
}

inline void multiply_bf16(float* c, const std::uint32_t* a, const std::uint32_t* b) {
  const auto of_lane = emulator::exchange(Operands{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}});
  const auto element = [](std::uint32_t pair, int i) {
    return std::bit_cast<float>(i % 2 == 0 ? pair << 16 : pair & 0xffff0000u);
  };
  multiply(
      c, 16, [&](int i, int k) { return element(of_lane(i % 8 * 4 + k % 8 / 2).a[i / 8 + 2 * (k / 8)], k); },
      [&](int k, int j) { return element(of_lane(j * 4 + k % 8 / 2).b[k / 8], k); });
}

inline void multiply_tf32(float* c, const std::uint32_t* a, const std::uint32_t* b) {
  const auto of_lane = emulator::exchange(Operands{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}});
  const auto element = [](std::uint32_t bits) { return std::bit_cast<float>(bits & ~0x1fffu); };
  multiply(
      c, 8, [&](int i, int k) { return element(of_lane(i % 8 * 4 + k % 4).a[i / 8 + 2 * (k / 4)]); },
      [&](int k, int j) { return element(of_lane(j * 4 + k % 4).b[k / 4]); });
}

/// Misaligned memory reads as NaN.
template <class T>
T read_row(const void* row, int i) {
  T x;
  std::memset(&x, 0xff, sizeof(T));
  if (reinterpret_cast<std::uintptr_t>(row) % 16 == 0)
    std::memcpy(&x, static_cast<const unsigned char*>(row) + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
  return x;
}

inline void load_matrices(std::uint32_t* x, const void* row) {
  const auto row_of = emulator::exchange(row);
  const int lane = lane_id();
  for (int m = 0; m < 4; ++m) x[m] = read_row<std::uint32_t>(row_of(8 * m + lane / 4), lane % 4);
}

inline void load_matrices_transposed(std::uint32_t* x, const void* row) {
  const auto row_of = emulator::exchange(row);
  const int lane = lane_id();
  const auto element = [&](int i) { return std::uint32_t{read_row<std::uint16_t>(row_of(i), lane / 4)}; };
  for (int m = 0; m < 4; ++m) x[m] = element(8 * m + lane % 4 * 2) | element(8 * m + lane % 4 * 2 + 1) << 16;
}

#endif

/// Numbers that are read or written at once.
template <class T, int n>
struct alignas(sizeof(T) * n) Vector {
  T x[n];
};

/// 16 × 16 elements of a left factor, spread over the warp.
template <class Format>
struct Left {
  std::uint32_t x[Format::kLeft];
};

/// 16 × 8 elements of a right factor.
template <class Format>
struct Right {
  std::uint32_t x[Format::kRight];
};

/// c (16, 8) += a b; lane 4 i + j holds elements (i, 2 j), (i, 2 j + 1), (i + 8, 2 j) and (i + 8, 2 j + 1) of c.
__device__ inline void multiply_add(float* c, const Left<Bf16>& a, const Right<Bf16>& b) { multiply_bf16(c, a.x, b.x); }
__device__ inline void multiply_add(float* c, const Left<Tf32>& a, const Right<Tf32>& b) {
  multiply_tf32(c, a.x, b.x);
  multiply_tf32(c, a.x + 4, b.x + 2);
}

/// A number as an element of four bytes.
__device__ inline std::uint32_t to_word(Tf32, float x) { return to_tf32(x); }
__device__ inline std::uint32_t to_word(Tf32Pairs, float x) { return std::bit_cast<std::uint32_t>(x); }

/// Cuts float32 into the nearest TF32 number and the rest. That of infinity is NaN, so products with infinity are.
template <int n>
__device__ void cut(const std::uint32_t (&x)[n], std::uint32_t (&upper)[n], std::uint32_t (&rest)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) {
    upper[i] = (x[i] + 0x1000u) & ~0x1fffu;
    rest[i] = std::bit_cast<std::uint32_t>(std::bit_cast<float>(x[i]) - std::bit_cast<float>(upper[i]));
  }
}

#ifndef __CUDACC__

struct PairOperands {
  Left<Tf32Pairs> a;
  Right<Tf32Pairs> b;
};

/// The six products of multiply_pairs with one exchange.
inline void multiply_parts(float* c, const Left<Tf32Pairs>& a, const Right<Tf32Pairs>& b, bool mirrored) {
  constexpr int kRest = 0, kUpper = 1;
  const auto of_lane = emulator::exchange(PairOperands{a, b});
  const int lane = lane_id(), first = mirrored ? kUpper : kRest;
  float left[2][2][16], right[2][2][16];  // (part, row or column, depth)
  for (int k = 0; k < 16; ++k) {
    const auto& of_rows = of_lane(lane / 4 * 4 + k % 4).a.x;
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t words[] = {of_rows[k / 8 * 4 + i + k / 4 % 2 * 2],
                                     of_lane((lane % 4 * 2 + i) * 4 + k % 4).b.x[k / 4]};
      std::uint32_t upper[2], rest[2];
      cut(words, upper, rest);
      left[kRest][i][k] = std::bit_cast<float>(rest[0] & ~0x1fffu);
      left[kUpper][i][k] = std::bit_cast<float>(upper[0]);
      right[kRest][i][k] = std::bit_cast<float>(rest[1] & ~0x1fffu);
      right[kUpper][i][k] = std::bit_cast<float>(upper[1]);
    }
  }
  const auto add = [&](int of_left, int of_right, int half) {
    for (int e = 0; e < 4; ++e)
      for (int k = half * 8; k < half * 8 + 8; ++k) c[e] += left[of_left][e / 2][k] * right[of_right][e % 2][k];
  };
  for (int half = 0; half < 2; ++half) {
    add(first, 1 - first, half);
    add(1 - first, first, half);
  }
  for (int half = 0; half < 2; ++half) add(kUpper, kUpper, half);
}

#endif

/// c += a b, of the small parts first. Tensor cores do not round sums to the nearest, so each begins at zero.
/// `mirrored` gives the bits of the product of both factors transposed, in the other order.
__device__ inline void multiply_pairs(float* c, const Left<Tf32Pairs>& a, const Right<Tf32Pairs>& b, bool mirrored) {
  float sum[4] = {};
#ifdef __CUDACC__
  std::uint32_t a_upper[8], a_rest[8], b_upper[4], b_rest[4];
  cut(a.x, a_upper, a_rest);
  cut(b.x, b_upper, b_rest);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if (mirrored) multiply_tf32(sum, a_upper + 4 * half, b_rest + 2 * half);
    multiply_tf32(sum, a_rest + 4 * half, b_upper + 2 * half);
    if (!mirrored) multiply_tf32(sum, a_upper + 4 * half, b_rest + 2 * half);
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) multiply_tf32(sum, a_upper + 4 * half, b_upper + 2 * half);
#else
  multiply_parts(sum, a, b, mirrored);
#endif
#pragma unroll
  for (int i = 0; i < 4; ++i) c[i] += sum[i];
}

__device__ inline void multiply_add(float* c, const Left<Tf32Pairs>& a, const Right<Tf32Pairs>& b) {
  multiply_pairs(c, a, b, false);
}

/// The same sums with the bits that multiply_add gives where both factors, transposed, have changed places.
template <class Format>
__device__ void multiply_add_mirrored(float* c, const Left<Format>& a, const Right<Format>& b) {
  multiply_add(c, a, b);
}
__device__ inline void multiply_add_mirrored(float* c, const Left<Tf32Pairs>& a, const Right<Tf32Pairs>& b) {
  multiply_pairs(c, a, b, true);
}

}  // namespace

}  // namespace npzoo::tensor_core
