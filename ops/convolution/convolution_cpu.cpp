#include "npzoo/ops/convolution/depthwise.h"
#include "npzoo/ops/convolution/window_blocks.h"

namespace npzoo {

namespace {

using namespace convolution_block;

constexpr std::int64_t kDepth = 2048;         // of the sum that a pass over a block of windows takes
constexpr std::int64_t kWindowsAtOnce = 128;  // that a pass of the weights' gradient sums over
constexpr std::int64_t kMostSlices = 16;      // of images that the weights' gradient is summed over apart
constexpr std::int64_t kGrain = 1 << 15;      // elements that are worth handing to another thread

/// The weights as right factors, k rows each: panels of columns of each group, in place where tiles can read them so.
template <class T>
class Panels {
 public:
  Panels(Cpu& cpu, const Correlation<T>& p)
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
    product.a_row = w.stride_w * x.column;
    product.b += (first * run + pass.first) * product.b_row;
  } else {  // nothing is read, but no offset may be added to a null pointer
    product.a = product.b;
    product.a_row = 0;
  }
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

/// Returns into how many parts the images are cut, each with its own sums for the weights. Together these sums take no
/// more memory than the images.
template <class T>
std::int64_t slices_of(const CorrelationWeights<T>& p, std::int64_t blocks, std::int64_t size) {
  const Windows& w = p.windows;
  const std::int64_t images = w.batch * (w.in_h * w.in_w * w.in_channels + w.out_h * w.out_w * w.out_channels);
  const std::int64_t flops = 2 * w.batch * w.out_h * w.out_w * size;
  return max(min(min(blocks, kMostSlices), min(images / max(size, 1), flops / kBlockFlops)), 1);
}

}  // namespace

template <class T>
void correlate(Cpu& cpu, const Correlation<T>& p) {
  if (p.windows.out_channels == 0) return;
  const Blocks blocks(p.windows, sizeof(T));
  if (is_depthwise(p.windows)) {
    cpu.parallel_for(blocks.count(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) correlate_depthwise(p, blocks.at(i));
    });
    return;
  }
  Panels<T> panels(cpu, p);
  cpu.parallel_for(blocks.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) correlate_block(p, blocks.at(i), panels);
  });
}

template <class T>
void correlate_weights(Cpu& cpu, const CorrelationWeights<T>& p) {
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
        is_depthwise(w) ? add_depthwise_weights(p, blocks.at(i), d_weight)
                        : add_block_weights(p, blocks.at(i), d_weight);
    }
  });
  cpu.parallel_for(size, kGrain / slices, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t slice = 1; slice < slices; ++slice) {
      const T* more = part(slice);
      for (std::int64_t i = begin; i < end; ++i) p.d_weight[i] += more[i];
    }
  });
}

template <class T>
void kernel_taps(Cpu& cpu, const KernelTaps<T>& p) {
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
