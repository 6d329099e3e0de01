#include "npzoo/engine/cpu/gemm_block.h"
#include "npzoo/ops/convolution/kernels.h"

namespace npzoo {

namespace {

using namespace gemm_block;

constexpr std::int64_t kDepth = 2048;          // of the sum that a pass over a block of windows takes
constexpr std::int64_t kWindowsAtOnce = 128;   // that a pass of the weights' gradient sums over
constexpr std::int64_t kBlockBytes = 1 << 18;  // of input that a block of windows sees
constexpr std::int64_t kBlockFlops = 1 << 21;  // that are worth handing to another thread
constexpr std::int64_t kWidestBlock = 256;     // windows side by side
constexpr std::int64_t kBlocks = 16;           // that there should be, where they are not too small then
constexpr std::int64_t kMostSlices = 16;       // of images that the weights' gradient is summed over apart
constexpr std::int64_t kGrain = 1 << 15;       // elements that are worth handing to another thread

/// Windows of an image that are worked with at a time.
struct Block {
  std::int64_t image, row, rows, column, columns;
};

/// All of them. They depend on the extents alone.
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
  /// The size of almost equal parts that are at most as large.
  static std::int64_t even(std::int64_t extent, std::int64_t most) {
    return divide_up(extent, max(divide_up(extent, most), 1));
  }

  Windows w_;
  std::int64_t rows_, columns_, high_, wide_;
};

/// The channels of one group that a block of windows reads: in place, or a copy with zeros at its sides if a window
/// reaches beyond the image or there are other groups. Rows outside of the image must not be read.
template <class T>
struct View {
  const T* at;  // the first window's first tap
  std::int64_t row, column;
};

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

  /// The rows of the kernel that lie within the image for the block's row i of windows, and the rows of windows for
  /// which row k of the kernel does.
  struct Range {
    std::int64_t begin, end;
  };
  Range kernel_rows(std::int64_t i) const { return within(first_row_ + i * w_.stride_h, 1, w_.kernel_h); }
  Range window_rows(std::int64_t k) const { return within(first_row_ + k, w_.stride_h, b_.rows); }

 private:
  static void fill_zeros(T* to, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = 0;
  }
  static void copy(const T* from, std::int64_t n, T* to) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
  }
  /// Those i < n for which row first + i step exists.
  Range within(std::int64_t first, std::int64_t step, std::int64_t n) const {
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

/// The weights as right factors, k rows each: panels of columns of each group, in place where tiles can read them so.
template <class T>
class Panels {
 public:
  template <Isa isa>
  Panels(CpuContext<isa>& cpu, const Correlation<T>& p)
      : k_(p.windows.kernel_h * p.windows.kernel_w * (p.windows.in_channels / p.windows.groups)),
        columns_(p.windows.out_channels / p.windows.groups),
        pitch_(p.windows.out_channels),
        weight_(p.weight),
        in_place_(reads_in_place(product(0)) || k_ == 0),
        packed_(in_place_ ? 0 : p.windows.groups * k_ * padded<T>(columns_)) {
    if (in_place_) return;
    const std::int64_t cost = max(k_ * columns_, 1);
    cpu.parallel_for(p.windows.groups, kGrain / cost + 1, [this](std::int64_t begin, std::int64_t end) {
      for (std::int64_t group = begin; group < end; ++group)
        for_panels(product(group), [&](const Gemm<T>& panel, std::int64_t j) {
          pack_panel(panel, packed_.data() + (group * padded<T>(columns_) + j) * k_);
        });
    });
  }

  /// Calls f(product, first column) for the panels of a group; b, b_row and n of the product are set.
  template <class F>
  void for_each(std::int64_t group, F f) {
    for_panels(product(group), [&](Gemm<T> panel, std::int64_t j) {
      if (!in_place_) {
        panel.b = packed_.data() + (group * padded<T>(columns_) + j) * k_;
        panel.b_row = padded<T>(panel.n);
      }
      f(panel, j);
    });
  }

 private:
  Gemm<T> product(std::int64_t group) const {
    return {.m = kWidestBlock,
            .n = columns_,
            .k = k_,
            .a = nullptr,
            .a_row = 0,
            .a_col = 1,
            .b = weight_ + group * columns_,
            .b_row = pitch_,
            .b_col = 1,
            .c = nullptr,
            .c_row = 0};
  }

  std::int64_t k_, columns_, pitch_;
  const T* weight_;
  bool in_place_;
  Scratch<T> packed_;
};

/// The taps of a pass: rows [row, row + rows) of the kernel, and of each of them `depth` neighbours, a tap's channels
/// and then the next tap's, from `first` on.
struct Pass {
  std::int64_t row, rows, first, depth;
};

/// Calls f(pass) for all taps in order; once if there are none.
template <class F>
void for_passes(const Windows& w, F f) {
  const std::int64_t run = w.kernel_w * (w.in_channels / w.groups);
  const std::int64_t parts = max(divide_up(run, kDepth), 1), depth = divide_up(run, parts);
  const std::int64_t rows = parts > 1 ? 1 : max(kDepth / max(run, 1), 1);
  if (w.kernel_h == 0) return f(Pass{0, 0, 0, 0});
  for (std::int64_t row = 0; row < w.kernel_h; row += rows)
    for (std::int64_t i = 0; i < parts; ++i) {
      const std::int64_t first = min(i * depth, run);
      f(Pass{row, min(rows, w.kernel_h - row), first, min(depth, run - first)});
    }
}

/// Row `row` of a block's windows by a panel of weights, as far as one pass goes. The first pass that has taps for it,
/// or the first of all where none has, starts the sums.
template <class T>
void correlate_row(const Windows& w, const Viewer<T>& viewer, const View<T>& x, const Pass& pass, std::int64_t row,
                   Gemm<T> product) {
  const auto [begin, end] = viewer.kernel_rows(row);
  const std::int64_t first = max(begin, pass.row), last = min(end, pass.row + pass.rows);
  const bool starts = pass.first == 0 && (begin < end ? pass.row <= begin : pass.row == 0);
  const std::int64_t rows = max(last - first, 0), run = w.kernel_w * (w.in_channels / w.groups);
  if (rows == 0 && !(starts && begin == end)) return;
  product.accumulate = !starts;
  if (!starts) product.bias = nullptr;
  product.k = pass.depth;
  if (rows > 0) {
    product.a = x.at + (row * w.stride_h + first) * x.row + pass.first;
    product.b += (first * run + pass.first) * product.b_row;
  }
  product.a_row = w.stride_w * x.column;
  multiply_panel(product, {rows, x.row, run * product.b_row});
}

template <class T>
void correlate_block(const Correlation<T>& p, const Block& block, Panels<T>& panels) {
  const Windows& w = p.windows;
  Viewer<T> viewer(w, p.x, block);
  const std::int64_t width = w.out_channels / w.groups;
  for (std::int64_t group = 0; group < w.groups; ++group) {
    const View<T> x = viewer.group(group);
    T* y = p.y + block.image * p.y_image + block.row * p.y_row + block.column * p.y_column + group * width;
    panels.for_each(group, [&](Gemm<T> product, std::int64_t j) {
      product.m = block.columns;
      product.c_row = p.y_column;
      product.bias = p.bias ? p.bias + group * width + j : nullptr;
      for_passes(w, [&](const Pass& pass) {
        for (std::int64_t row = 0; row < block.rows; ++row) {
          product.c = y + row * p.y_row + j;
          correlate_row(w, viewer, x, pass, row, product);
        }
      });
    });
  }
}

/// A block's part of the gradient of the weights, added to `d_weight`.
template <class T>
void add_block_weights(const CorrelationWeights<T>& p, const Block& block, T* d_weight) {
  const Windows& w = p.windows;
  Viewer<T> viewer(w, p.x, block);
  const std::int64_t width = w.out_channels / w.groups, run = w.kernel_w * (w.in_channels / w.groups);
  const bool in_place = width % kLanes<T> == 0;
  Scratch<T> packed(in_place ? 0 : block.rows * block.columns * kPanel<T>);
  const std::int64_t rows_at_once = max(kWindowsAtOnce / block.columns, 1);
  for (std::int64_t group = 0; group < w.groups; ++group) {
    const View<T> x = viewer.group(group);
    const T* d_y =
        p.d_y + ((block.image * w.out_h + block.row) * w.out_w + block.column) * w.out_channels + group * width;
    Gemm<T> all{.m = run,
                .n = width,
                .k = block.columns,
                .a = nullptr,
                .a_row = 1,
                .a_col = w.stride_w * x.column,
                .b = d_y,
                .b_row = w.out_channels,
                .b_col = 1,
                .c = d_weight + group * width,
                .c_row = w.out_channels,
                .accumulate = true};
    for_panels(all, [&](Gemm<T> panel, std::int64_t) {
      std::int64_t row_step = w.out_w * w.out_channels;
      if (!in_place) {
        row_step = block.columns * padded<T>(panel.n);
        Gemm<T> row = panel;
        for (std::int64_t i = 0; i < block.rows; ++i, row.b += w.out_w * w.out_channels)
          pack_panel(row, packed.data() + i * row_step);
        panel.b = packed.data();
        panel.b_row = padded<T>(panel.n);
      }
      for (std::int64_t top = 0; top < block.rows; top += rows_at_once)
        for (std::int64_t k = 0; k < w.kernel_h; ++k) {
          const auto [begin, end] = viewer.window_rows(k);
          const std::int64_t first = max(begin, top), rows = min(end, top + rows_at_once) - first;
          if (rows <= 0) continue;
          Gemm<T> product = panel;
          product.a = x.at + (first * w.stride_h + k) * x.row;
          product.b += first * row_step;
          product.c += k * run * w.out_channels;
          multiply_panel(product, {rows, w.stride_h * x.row, row_step});
        }
    });
  }
}

/// How many parts of the images to sum over apart: no larger together than the images.
template <class T>
std::int64_t slices_of(const CorrelationWeights<T>& p, std::int64_t blocks, std::int64_t size) {
  const Windows& w = p.windows;
  const std::int64_t images = w.batch * (w.in_h * w.in_w * w.in_channels + w.out_h * w.out_w * w.out_channels);
  const std::int64_t flops = 2 * w.batch * w.out_h * w.out_w * size;
  return max(min(min(blocks, kMostSlices), min(images / max(size, 1), flops / kBlockFlops)), 1);
}

}  // namespace

template <class T, Isa isa>
void correlate(CpuContext<isa>& cpu, const Correlation<T>& p) {
  if (p.windows.out_channels == 0) return;
  const Blocks blocks(p.windows, sizeof(T));
  Panels<T> panels(cpu, p);
  cpu.parallel_for(blocks.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) correlate_block(p, blocks.at(i), panels);
  });
}

template <class T, Isa isa>
void correlate_weights(CpuContext<isa>& cpu, const CorrelationWeights<T>& p) {
  const Windows& w = p.windows;
  const std::int64_t size = w.kernel_h * w.kernel_w * (w.in_channels / w.groups) * w.out_channels;
  if (size == 0) return;
  const Blocks blocks(w, sizeof(T));
  const std::int64_t slices = slices_of(p, blocks.count(), size), count = blocks.count();
  Scratch<T> partial((slices - 1) * size);  // of all but the first
  const auto part = [&](std::int64_t slice) { return slice == 0 ? p.d_weight : partial.data() + (slice - 1) * size; };
  cpu.parallel_for(slices, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t slice = begin; slice < end; ++slice) {
      T* d_weight = part(slice);
      for (std::int64_t i = 0; i < size; ++i) d_weight[i] = 0;
      for (std::int64_t i = slice * count / slices; i < (slice + 1) * count / slices; ++i)
        add_block_weights(p, blocks.at(i), d_weight);
    }
  });
  cpu.parallel_for(size, kGrain / slices, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t slice = 1; slice < slices; ++slice) {
      const T* more = part(slice);
      for (std::int64_t i = begin; i < end; ++i) p.d_weight[i] += more[i];
    }
  });
}

template <class T, Isa isa>
void kernel_taps(CpuContext<isa>& cpu, const KernelTaps<T>& p) {
  const std::int64_t size = p.in_width * p.groups * p.out_width;
  cpu.parallel_for(p.taps_h * p.taps_w, kGrain / (size + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t tap = begin; tap < end; ++tap) {
      const std::int64_t row = p.first_h + tap / p.taps_w * p.step_h, column = p.first_w + tap % p.taps_w * p.step_w;
      const T* from = p.weight + (row * p.kernel_w + column) * size;
      T* to = p.taps + tap * size;
      if (!p.transposed) {
        for (std::int64_t i = 0; i < size; ++i) to[i] = from[i];
        continue;
      }
      for (std::int64_t group = 0; group < p.groups; ++group)
        for (std::int64_t in = 0; in < p.in_width; ++in)
          for (std::int64_t out = 0; out < p.out_width; ++out)
            to[(out * p.groups + group) * p.in_width + in] = from[(in * p.groups + group) * p.out_width + out];
    }
  });
}

NPZOO_INSTANTIATE(correlate, Correlation);
NPZOO_INSTANTIATE(correlate_weights, CorrelationWeights);
NPZOO_INSTANTIATE(kernel_taps, KernelTaps);

}  // namespace npzoo
