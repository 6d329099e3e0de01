#pragma once

#include "npzoo/ops/masked_attention/masked_attention.h"
#include "tests/reference.h"
#include "tests/testing.h"

// Helpers for tests of attention.

namespace npzoo::testing {

struct AttentionSize {
  std::int64_t batch, queries, keys;
  int heads;
  std::int64_t width, value_width;
};

/// q, k and v.
template <class T>
std::vector<Tensor> draw(const AttentionSize& s) {
  return {normal<T>({s.batch, s.queries, s.heads * s.width}, 1), normal<T>({s.batch, s.keys, s.heads * s.width}, 2),
          normal<T>({s.batch, s.keys, s.heads * s.value_width}, 3)};
}

inline Function attention_under(const PrefixMask& mask, int heads, double scale = 0) {
  return [=](const auto& in) { return masked_attention(in[0], in[1], in[2], mask, {.heads = heads, .scale = scale}); };
}

/// Output and gradients from plain loops.
inline std::vector<Tensor> attention_by_loops(const reference::Attention& options, const std::vector<Tensor>& in) {
  const Tensor out = reference::attention(options, in[0], in[1], in[2]);
  const auto d = reference::attention_backward(options, in[0], in[1], in[2], cotangent(out));
  return {out, d.q, d.k, d.v};
}

/// Returns masks of every kind, with every special count.
inline std::vector<PrefixMask> masks_of(const AttentionSize& s) {
  Tensor counts = Tensor::empty({s.batch}, DType::int64, Device::cpu),
         row_counts = Tensor::empty({s.batch, s.queries}, DType::int64, Device::cpu);
  Random random(7);
  for (std::int64_t& count : counts.values<std::int64_t>()) count = random.integer(-1, s.keys + 3);
  for (std::int64_t& count : row_counts.values<std::int64_t>()) count = random.integer(-1, s.keys + 3);
  return {PrefixMask::all(),       PrefixMask::first(0),        PrefixMask::first(s.keys / 2),
          PrefixMask::growing(0),  PrefixMask::growing(1),      PrefixMask::growing(s.keys - 3),
          PrefixMask::growing(-2), PrefixMask::lengths(counts), PrefixMask::lengths(row_counts),
          PrefixMask::lengths({})};
}

/// Point `i` of every batch element of x (batch, points, channels), filled with `value`.
inline void fill_point(Tensor& x, std::int64_t i, double value) {
  for (std::int64_t b = 0; b < x.dim(0); ++b)
    for (std::int64_t c = 0; c < x.dim(2); ++c) {
      const std::int64_t at = (b * x.dim(1) + i) * x.dim(2) + c;
      if (x.dtype() == DType::float32)
        x.data<float>()[at] = static_cast<float>(value);
      else
        x.data<double>()[at] = value;
    }
}

/// The points of every batch element in another order.
inline Tensor permuted(const Tensor& x, const std::vector<std::int64_t>& order) {
  Tensor out = x.clone();
  for (std::int64_t b = 0; b < x.dim(0); ++b)
    for (std::size_t i = 0; i < order.size(); ++i)
      std::copy_n(x.data<double>() + (b * x.dim(1) + order[i]) * x.dim(2), x.dim(2),
                  out.data<double>() + (b * x.dim(1) + static_cast<std::int64_t>(i)) * x.dim(2));
  return out;
}

}  // namespace npzoo::testing
