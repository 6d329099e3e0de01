#pragma once

// Cuts the windows of an image into blocks, one for a thread at a time, and gives views of the image that a block
// reads. Only kernel sources include it.

#include "npzoo/engine/cpu/gemm_block.h"
#include "npzoo/ops/convolution/kernels.h"

namespace npzoo::convolution_block {

using namespace gemm_block;

constexpr std::int64_t kBlockBytes = 1 << 18;  // of input that a block of windows reads
constexpr std::int64_t kBlockFlops = 1 << 21;  // worth handing to another thread
constexpr std::int64_t kWidestBlock = 256;     // windows side by side
constexpr std::int64_t kBlocks = 16;           // wanted, if they do not get too small

/// Windows of an image that are worked with at a time.
struct Block {
  std::int64_t image, row, rows, column, columns;
};

/// All blocks of some images. They depend on the extents alone. `convolution` limits strides and padding so that no
/// product here overflows.
class Blocks {
 public:
  Blocks(const Windows& w, std::int64_t element) : w_(w) {
    columns_ = even(w.out_w, kWidestBlock);
    const std::int64_t row_bytes = (columns_ * w.stride_w + w.kernel_w) * max(w.in_channels, 1) * element * w.stride_h;
    const std::int64_t row_flops = 2 * columns_ * w.kernel_h * w.kernel_w * w.in_channels / w.groups * w.out_channels;
    const std::int64_t wanted = divide_up(w.out_h * w.batch, kBlocks), least = kBlockFlops / max(row_flops, 1);
    rows_ = even(w.out_h, max(min(kBlockBytes / row_bytes, max(wanted, least)), 1));
    high_ = divide_up(w.out_h, max(rows_, 1));
    wide_ = divide_up(w.out_w, max(columns_, 1));
  }

  std::int64_t count() const { return w_.batch * high_ * wide_; }
  Block at(std::int64_t i) const {
    const std::int64_t row = i / wide_ % high_ * rows_, column = i % wide_ * columns_;
    return {i / wide_ / high_, row, min(rows_, w_.out_h - row), column, min(columns_, w_.out_w - column)};
  }

 private:
  /// Returns the size of almost equal parts that are at most `most` large.
  static std::int64_t even(std::int64_t extent, std::int64_t most) {
    return divide_up(extent, max(divide_up(extent, most), 1));
  }

  Windows w_;
  std::int64_t rows_, columns_, high_, wide_;
};

/// The channels of one group that a block of windows reads. Rows outside of the image must not be read.
template <class T>
struct View {
  const T* at;  // the first window's first tap
  std::int64_t row, column;
};

struct RowRange {
  std::int64_t begin, end;
};

/// Makes views of a block: in place, or a copy with zeros at its sides if a window reaches beyond the image or there
/// are other groups.
template <class T>
class Viewer {
 public:
  Viewer(const Windows& w, const T* x, const Block& b)
      : w_(w),
        b_(b),
        x_(x + b.image * w.in_h * w.in_w * w.in_channels),
        first_row_(w.first_h + b.row * w.stride_h),
        first_column_(w.first_w + b.column * w.stride_w),
        rows_((b.rows - 1) * w.stride_h + w.kernel_h),
        columns_((b.columns - 1) * w.stride_w + w.kernel_w),
        in_place_(w.groups == 1 && first_column_ >= 0 && first_column_ + columns_ <= w.in_w),
        copy_(in_place_ ? 0 : rows_ * columns_ * (w.in_channels / w.groups)) {}

  View<T> group(std::int64_t group) {
    const std::int64_t width = w_.in_channels / w_.groups, pitch = w_.in_w * w_.in_channels;
    if (in_place_) return {x_ + first_row_ * pitch + first_column_ * width, pitch, width};
    const std::int64_t first = min(max(-first_column_, 0), columns_),
                       last = max(min(columns_, w_.in_w - first_column_), first);
    for (std::int64_t i = max(-first_row_, 0); i < min(rows_, w_.in_h - first_row_); ++i) {
      T* row = copy_.data() + i * columns_ * width;
      const T* from = x_ + (first_row_ + i) * pitch + (first_column_ + first) * w_.in_channels + group * width;
      fill_zeros(row, first * width);
      if (w_.groups == 1)
        copy(from, (last - first) * width, row + first * width);
      else
        for (std::int64_t j = first; j < last; ++j) copy(from + (j - first) * w_.in_channels, width, row + j * width);
      fill_zeros(row + last * width, (columns_ - last) * width);
    }
    return {copy_.data(), columns_ * width, width};
  }

  /// Returns the rows of the kernel that lie within the image for the block's row i of windows, and the rows of windows
  /// for which row k of the kernel lies within it.
  RowRange kernel_rows(std::int64_t i) const { return within(first_row_ + i * w_.stride_h, 1, w_.kernel_h); }
  RowRange window_rows(std::int64_t k) const { return within(first_row_ + k, w_.stride_h, b_.rows); }

 private:
  static void fill_zeros(T* to, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = 0;
  }
  static void copy(const T* from, std::int64_t n, T* to) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
  }
  /// Returns the i < n for which row first + i step exists.
  RowRange within(std::int64_t first, std::int64_t step, std::int64_t n) const {
    const std::int64_t begin = min(divide_up(max(-first, 0), step), n);
    return {begin, max(min(n, divide_up(max(w_.in_h - first, 0), step)), begin)};
  }

  Windows w_;
  Block b_;
  const T* x_;
  std::int64_t first_row_, first_column_, rows_, columns_;
  bool in_place_;
  Scratch<T> copy_;
};

}  // namespace npzoo::convolution_block
