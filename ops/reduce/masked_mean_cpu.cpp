#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/reduce/kernels.h"

namespace npzoo {

namespace {

constexpr std::int64_t kGrain = 1 << 14;  // elements that one thread takes at a time
constexpr std::int64_t kTile = 64;        // columns that are summed together

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
constexpr std::int64_t larger(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

template <class P>
std::int64_t length(const P& p, std::int64_t b) {
  return p.lengths ? p.lengths[b] : p.points;
}

template <class T>
void mean_of_columns(const T* x, std::int64_t rows, std::int64_t step, std::int64_t columns, T* out) {
  double sum[kTile] = {};
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < columns; ++k) sum[k] += static_cast<double>(x[i * step + k]);
  for (std::int64_t k = 0; k < columns; ++k) out[k] = static_cast<T>(sum[k] / static_cast<double>(larger(rows, 1)));
}

}  // namespace

template <class T>
void masked_mean_forward(Cpu& cpu, const MaskedMeanForward<T>& p) {
  const std::int64_t tiles = (p.width + kTile - 1) / kTile;
  const std::int64_t grain = 1 + kGrain / (1 + p.points * smaller(p.width, kTile));
  cpu.parallel_for(p.batch * tiles, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t b = item / tiles, column = item % tiles * kTile;
      mean_of_columns(p.x + b * p.points * p.width + column, length(p, b), p.width, smaller(p.width - column, kTile),
                      p.out + b * p.width + column);
    }
  });
}

template <class T>
void masked_mean_backward(Cpu& cpu, const MaskedMeanBackward<T>& p) {
  cpu.parallel_for(p.batch * p.points, 1 + kGrain / (1 + p.width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t b = row / p.points, n = length(p, b);
      const T weight = row % p.points < n ? 1 / static_cast<T>(n) : T(0);
      const T* d_out = p.d_out + b * p.width;
      T* d_x = p.d_x + row * p.width;
      for (std::int64_t k = 0; k < p.width; ++k) d_x[k] = weight * d_out[k];
    }
  });
}

NPZOO_INSTANTIATE(masked_mean_forward, MaskedMeanForward);
NPZOO_INSTANTIATE(masked_mean_backward, MaskedMeanBackward);

}  // namespace npzoo
