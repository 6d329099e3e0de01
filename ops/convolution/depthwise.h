#pragma once

// Depth-wise convolutions on CPUs: each channel sees itself alone. Channels lie side by side in registers; as products
// of matrices they would be products with a single column. Only kernel sources include it.

#include "npzoo/engine/cpu/lanes.h"
#include "npzoo/ops/convolution/window_blocks.h"

namespace npzoo::convolution_block {

constexpr int kSums = 8;                        // registers that are summed up side by side
constexpr std::int64_t kDepthwiseRun = 1 << 6;  // windows that a sum of the weights' gradient goes over

inline bool is_depthwise(const Windows& w) {
  return w.groups > 1 && w.in_channels == w.groups && w.out_channels == w.groups;
}

/// The same windows, of all channels at once.
inline Windows of_all_channels(Windows w) {
  w.groups = 1;
  return w;
}

/// Computes neighbouring windows from the kernel rows within the image. `x` is the first tap of the first window.
template <class T, int windows>
void correlate_side_by_side(const Correlation<T>& p, const RowRange& rows, const T* x, std::int64_t x_row, T* y) {
  const Windows& w = p.windows;
  const std::int64_t channels = w.in_channels, step = w.stride_w * channels;
  for_row<T>(channels, [&](auto get, auto put) {
    Vec<T> sum[windows];
    for (Vec<T>& s : sum) s = p.bias ? get(p.bias) : Vec<T>{};
    for (std::int64_t k = rows.begin; k < rows.end; ++k) {
      const T *from = x + k * x_row, *taps = p.weight + k * w.kernel_w * channels;
      for (std::int64_t l = 0; l < w.kernel_w; ++l, from += channels, taps += channels) {
        const Vec<T> tap = get(taps);
#pragma GCC unroll 8
        for (int i = 0; i < windows; ++i) sum[i] += tap * get(from + i * step);
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < windows; ++i) put(y + i * p.y_column, sum[i]);
  });
}

/// Computes a row of windows from `column` on, `windows` at a time, the rest by half as many, and so on.
template <class T, int windows = kSums>
void correlate_columns(const Correlation<T>& p, const RowRange& rows, const View<T>& x, std::int64_t column,
                       std::int64_t columns, T* y) {
  for (; column + windows <= columns; column += windows)
    correlate_side_by_side<T, windows>(p, rows, x.at + column * p.windows.stride_w * x.column, x.row,
                                       y + column * p.y_column);
  if constexpr (windows > 1) correlate_columns<T, windows / 2>(p, rows, x, column, columns, y);
}

template <class T>
void correlate_depthwise(const Correlation<T>& p, const Block& block) {
  Viewer<T> viewer(of_all_channels(p.windows), p.x, block);
  View<T> x = viewer.group(0);
  T* y = p.y + block.image * p.y_image + block.row * p.y_row + block.column * p.y_column;
  for (std::int64_t row = 0; row < block.rows; ++row, x.at += p.windows.stride_h * x.row, y += p.y_row)
    correlate_columns(p, viewer.kernel_rows(row), x, 0, block.columns, y);
}

/// Adds the products of some rows of windows with their gradients to neighbouring taps of a row of the kernel. `x` and
/// `d_y` are the first window's.
template <class T, int taps>
void add_neighbouring_taps(const Windows& w, const RowRange& rows, std::int64_t columns, const T* x, std::int64_t x_row,
                           const T* d_y, T* d_weight) {
  const std::int64_t channels = w.in_channels;
  for_row<T>(channels, [&](auto get, auto put) {
    Vec<T> sum[taps]{};
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const T *from = x + i * w.stride_h * x_row, *gradient = d_y + i * w.out_w * channels;
      for (std::int64_t j = 0; j < columns; ++j, from += w.stride_w * channels, gradient += channels) {
        const Vec<T> g = get(gradient);
#pragma GCC unroll 8
        for (int t = 0; t < taps; ++t) sum[t] += g * get(from + t * channels);
      }
    }
#pragma GCC unroll 8
    for (int t = 0; t < taps; ++t) put(d_weight + t * channels, get(d_weight + t * channels) + sum[t]);
  });
}

/// Adds to a row of taps from `tap` on, `taps` at a time, the rest by half as many, and so on.
template <class T, int taps = kSums>
void add_taps(const Windows& w, const RowRange& rows, std::int64_t columns, const T* x, std::int64_t x_row,
              const T* d_y, T* d_weight, std::int64_t tap = 0) {
  for (; tap + taps <= w.kernel_w; tap += taps)
    add_neighbouring_taps<T, taps>(w, rows, columns, x + tap * w.in_channels, x_row, d_y,
                                   d_weight + tap * w.in_channels);
  if constexpr (taps > 1) add_taps<T, taps / 2>(w, rows, columns, x, x_row, d_y, d_weight, tap);
}

/// Adds a block's part of the gradient of the weights to `d_weight`.
template <class T>
void add_depthwise_weights(const CorrelationWeights<T>& p, const Block& block, T* d_weight) {
  const Windows& w = p.windows;
  Viewer<T> viewer(of_all_channels(w), p.x, block);
  const View<T> x = viewer.group(0);
  const T* d_y = p.d_y + ((block.image * w.out_h + block.row) * w.out_w + block.column) * w.out_channels;
  const std::int64_t columns = min(block.columns, kDepthwiseRun), rows = max(kDepthwiseRun / columns, 1);
  for (std::int64_t top = 0; top < block.rows; top += rows)
    for (std::int64_t left = 0; left < block.columns; left += columns)
      for (std::int64_t k = 0; k < w.kernel_h; ++k) {
        const RowRange all = viewer.window_rows(k), some{max(all.begin, top), min(all.end, top + rows)};
        add_taps(w, some, min(columns, block.columns - left), x.at + k * x.row + left * w.stride_w * x.column, x.row,
                 d_y + left * w.out_channels, d_weight + k * w.kernel_w * w.in_channels);
      }
}

}  // namespace npzoo::convolution_block
