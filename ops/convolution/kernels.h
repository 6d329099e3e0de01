#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

/// How a window moves over images: the extents that all kernels here share. `first` is the row and column of the input
/// where the first window begins, negative in the padding.
struct Windows {
  std::int64_t batch, groups;
  std::int64_t in_h, in_w, in_channels;
  std::int64_t kernel_h, kernel_w;
  std::int64_t stride_h, stride_w;
  std::int64_t first_h, first_w;
  std::int64_t out_h, out_w, out_channels;
};

/// y = bias + Σ over the window of x weight, for every window.
template <class T>
struct Correlation {
  Windows windows;
  const T* x;       // (batch, in_h, in_w, in_channels)
  const T* weight;  // (kernel_h, kernel_w, in_channels / groups, out_channels)
  const T* bias;    // (out_channels) or null
  T* y;             // window (i, j) of image b at b y_image + i y_row + j y_column
  std::int64_t y_image, y_row, y_column;
};

/// d_weight = Σ over images and windows of x d_y.
template <class T>
struct CorrelationWeights {
  Windows windows;
  const T* x;    // (batch, in_h, in_w, in_channels)
  const T* d_y;  // (batch, out_h, out_w, out_channels)
  T* d_weight;   // (kernel_h, kernel_w, in_channels / groups, out_channels)
};

/// Some taps of a kernel in another order: tap (i, j) is (first_h + i step_h, first_w + j step_w) of the weight. With
/// `transposed` input and output channels change their roles, within each group.
template <class T>
struct KernelTaps {
  std::int64_t groups, in_width, out_width;  // channels of a group
  std::int64_t kernel_w;
  std::int64_t taps_h, taps_w, first_h, first_w, step_h, step_w;
  bool transposed;
  const T* weight;  // (…, kernel_w, in_width, groups · out_width)
  T* taps;  // (taps_h, taps_w, in_width, groups · out_width) or (taps_h, taps_w, out_width, groups · in_width)
};

NPZOO_KERNEL(correlate, Correlation);
NPZOO_KERNEL(correlate_weights, CorrelationWeights);
NPZOO_KERNEL(kernel_taps, KernelTaps);

}  // namespace npzoo
