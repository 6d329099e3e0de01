#pragma once

// Matrices in shared memory as factors of products on tensor cores. Included by kernel sources only.

#include "npzoo/engine/cuda/tensor_core.h"

namespace npzoo::tensor_core {

namespace {

// Matrices in shared memory have rows `pitch` elements apart, at multiples of 16 bytes. Those of four-byte elements are
// loaded in one way whatever becomes of them.

/// Rows [0, 16), columns [0, 16) as a left factor.
__device__ inline void load_left(Left<Bf16>& a, const std::uint16_t* x, int pitch) {
  const int lane = lane_id();
  load_matrices(a.x, x + lane % 16 * pitch + lane / 16 * 8);
}
template <class Words>
__device__ void load_left(Left<Words>& a, const std::uint32_t* x, int pitch) {
  const int lane = lane_id();
  const std::uint32_t* row = x + lane % 16 * pitch + lane / 16 * 4;
  load_matrices(a.x, row);
  load_matrices(a.x + 4, row + 8);
}

/// Rows [0, 16), columns [0, 16), transposed, as two right factors side by side.
__device__ inline void load_transposed_right(Right<Bf16> (&b)[2], const std::uint16_t* x, int pitch) {
  const int lane = lane_id();
  std::uint32_t all[4];
  load_matrices(all, x + (lane / 16 * 8 + lane % 8) * pitch + lane / 8 % 2 * 8);
  b[0] = {{all[0], all[1]}};
  b[1] = {{all[2], all[3]}};
}
template <class Words>
__device__ void load_transposed_right(Right<Words> (&b)[2], const std::uint32_t* x, int pitch) {
  const int lane = lane_id();
  const std::uint32_t* row = x + lane % 8 * pitch + lane / 8 * 4;
  load_matrices(b[0].x, row);
  load_matrices(b[1].x, row + 8 * pitch);
}

// A product can be the left factor of the next one without any exchange between lanes. In TF32 that takes the
// terms of its sum in another order: first the even ones of eight, then the odd ones.

/// Two products side by side as a left factor.
__device__ inline void to_left(Left<Bf16>& a, const float* c, const float* next) {
  a = {{to_bf16(c[0], c[1]), to_bf16(c[2], c[3]), to_bf16(next[0], next[1]), to_bf16(next[2], next[3])}};
}
template <class Words>
__device__ void to_left(Left<Words>& a, const float* c, const float* next) {
  a = {{to_word(Words{}, c[0]), to_word(Words{}, c[2]), to_word(Words{}, c[1]), to_word(Words{}, c[3]),
        to_word(Words{}, next[0]), to_word(Words{}, next[2]), to_word(Words{}, next[1]), to_word(Words{}, next[3])}};
}

/// Rows [0, 16), columns [0, 16), transposed, as two right factors side by side, for left factors that `to_left` made.
__device__ inline void load_transposed_right_of_product(Right<Bf16> (&b)[2], const std::uint16_t* x, int pitch) {
  load_transposed_right(b, x, pitch);
}
template <class Words>
__device__ void load_transposed_right_of_product(Right<Words> (&b)[2], const std::uint32_t* x, int pitch) {
  const std::uint32_t* at = x + lane_id() / 4 * pitch + lane_id() % 4 * 2;
#pragma unroll
  for (int i = 0; i < 2; ++i, at += 8 * pitch) {
    const auto pair = [at](int column) { return *reinterpret_cast<const Vector<std::uint32_t, 2>*>(at + column); };
    b[i] = {{pair(0).x[0], pair(0).x[1], pair(8).x[0], pair(8).x[1]}};
  }
}

/// Rows [0, 16), columns [0, 16) as two right factors side by side, for left factors that `to_left` made.
__device__ inline void load_right(Right<Bf16> (&b)[2], const std::uint16_t* x, int pitch) {
  const int lane = lane_id();
  std::uint32_t all[4];
  load_matrices_transposed(all, x + lane % 16 * pitch + lane / 16 * 8);
  b[0] = {{all[0], all[1]}};
  b[1] = {{all[2], all[3]}};
}
template <class Words>
__device__ void load_right(Right<Words> (&b)[2], const std::uint32_t* x, int pitch) {
  const int lane = lane_id();
  const std::uint32_t* at = x + lane % 4 * 2 * pitch + lane / 4;
  for (int i = 0; i < 2; ++i, at += 8) b[i] = {{at[0], at[pitch], at[8 * pitch], at[9 * pitch]}};
}

/// Rows [0, 16), columns [0, 16) as a left factor for `load_right`.
__device__ inline void load_left_of_product(Left<Bf16>& a, const std::uint16_t* x, int pitch) {
  load_left(a, x, pitch);
}
template <class Words>
__device__ void load_left_of_product(Left<Words>& a, const std::uint32_t* x, int pitch) {
  const std::uint32_t* at = x + lane_id() / 4 * pitch + lane_id() % 4 * 2;
#pragma unroll
  for (int i = 0; i < 2; ++i, at += 8) {
    const auto upper = *reinterpret_cast<const Vector<std::uint32_t, 2>*>(at),
               lower = *reinterpret_cast<const Vector<std::uint32_t, 2>*>(at + 8 * pitch);
    a.x[4 * i] = upper.x[0];
    a.x[4 * i + 1] = lower.x[0];
    a.x[4 * i + 2] = upper.x[1];
    a.x[4 * i + 3] = lower.x[1];
  }
}

/// Rows [0, 16), columns [0, 16), transposed, as a left factor for `load_right`.
__device__ inline void load_transposed_left(Left<Bf16>& a, const std::uint16_t* x, int pitch) {
  const int lane = lane_id();
  load_matrices_transposed(a.x, x + (lane / 16 * 8 + lane % 8) * pitch + lane / 8 % 2 * 8);
}
template <class Words>
__device__ void load_transposed_left(Left<Words>& a, const std::uint32_t* x, int pitch) {
  const std::uint32_t* at = x + lane_id() % 4 * 2 * pitch + lane_id() / 4;
#pragma unroll
  for (int i = 0; i < 2; ++i, at += 8 * pitch) {
    a.x[4 * i] = at[0];
    a.x[4 * i + 1] = at[8];
    a.x[4 * i + 2] = at[pitch];
    a.x[4 * i + 3] = at[pitch + 8];
  }
}

/// Writes two neighbours to a matrix.
__device__ inline void store_pair(Bf16, std::uint16_t* to, float x, float y) {
  *reinterpret_cast<std::uint32_t*>(to) = to_bf16(x, y);
}
template <class Words>
__device__ void store_pair(Words format, std::uint32_t* to, float x, float y) {
  *reinterpret_cast<Vector<std::uint32_t, 2>*>(to) = {{to_word(format, x), to_word(format, y)}};
}

/// Four numbers as elements of a matrix.
__device__ inline Vector<std::uint32_t, 2> round_four(Bf16, const float* x) {
  return {{to_bf16(x[0], x[1]), to_bf16(x[2], x[3])}};
}
template <class Words>
__device__ Vector<std::uint32_t, 4> round_four(Words format, const float* x) {
  return {{to_word(format, x[0]), to_word(format, x[1]), to_word(format, x[2]), to_word(format, x[3])}};
}

/// The nearest finite numbers that `cut` does not round to infinity.
__device__ inline Vector<std::uint32_t, 4> round_four(Tf32Pairs, const float* x) {
  Vector<std::uint32_t, 4> words;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(x[i]);
    const std::uint32_t size = bits & 0x7fffffffu;
    words.x[i] = size >= 0x7f7ff000u && size < 0x7f800000u ? bits - 0x1000u : bits;
  }
  return words;
}

__device__ inline float to_float(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
__device__ inline float to_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// x as a factor.
__device__ inline float rounded(Bf16, float x) { return std::bit_cast<float>(to_bf16(0, x)); }
template <class Words>
__device__ float rounded(Words format, float x) {
  return std::bit_cast<float>(to_word(format, x));
}

/// The elements of a register, with 0 in the place of non-finite ones.
__device__ inline std::uint32_t finite_part(Bf16, std::uint32_t pair) {
  if ((pair & 0x7f80u) == 0x7f80u) pair &= 0xffff0000u;
  return (pair & 0x7f800000u) == 0x7f800000u ? pair & 0xffffu : pair;
}
template <class Words>
__device__ std::uint32_t finite_part(Words, std::uint32_t bits) {
  return (bits & 0x7f800000u) == 0x7f800000u ? 0 : bits;
}

}  // namespace

}  // namespace npzoo::tensor_core
