#include "npzoo/engine/gemm.h"

#include "npzoo/engine/cpu/gemm_block.h"
#include "npzoo/engine/cpu/gemm_slices.h"

namespace npzoo {

namespace {

using namespace gemm_block;
using gemm_plan::chunk_of;

constexpr std::int64_t kDepth = 256;       // of the block of B that one pass works with
constexpr std::int64_t kWide = 512;        // columns from which on it pays to pack A as well
constexpr std::int64_t kElementCost = 16;  // of reading or writing an element, in flops

/// A part of the reduction. The parts run in order: the first starts C, the last finishes it.
template <class T>
Gemm<T> depth_of(Gemm<T> p, std::int64_t begin, std::int64_t count) {
  if (begin > 0) p.accumulate = true;
  if (begin + count < p.k) {
    p.bias = nullptr;
    p.activation = Activation::none;
  }
  p.k = count;
  p.a += begin * p.a_col;
  p.b += begin * p.b_row;
  return p;
}

/// Calls f(part of p, first k) for equal parts of the reduction, none deeper than kDepth; once when k = 0.
template <class T, class F>
void for_depths(const Gemm<T>& p, F f) {
  const std::int64_t parts = max(divide_up(p.k, kDepth), 1);
  const std::int64_t depth = divide_up(p.k, parts);
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t begin = min(i * depth, p.k);
    f(depth_of(p, begin, min(depth, p.k - begin)), begin);
  }
}

/// Copies A tile by tile, so that a tile reads its rows side by side.
template <class T>
void pack_a(const Gemm<T>& p, T* out) {
  gemm_tile::for_row_tiles(p.m, gemm_tile::max_rows(gemm_tile::kMaxVectors),
                           [&](std::int64_t first, std::int64_t rows) {
                             const T* a = p.a + first * p.a_row;
                             for (std::int64_t k = 0; k < p.k; ++k, a += p.a_col)
                               for (std::int64_t i = 0; i < rows; ++i) *out++ = a[i * p.a_row];
                           });
}

/// One part of the reduction. `b` holds the packed panels of B, or is null for B in place.
template <class T>
void multiply_block(const Gemm<T>& p, const T* b) {
  const bool pack = p.n >= kWide;
  Scratch<T> a(pack ? p.m * p.k : 0);
  if (pack) pack_a(p, a.data());
  for_panels(p, [&](Gemm<T> panel, std::int64_t j) {
    if (b) {
      panel.b = b + j * p.k;
      panel.b_row = padded<T>(panel.n);
    }
    if (!pack && multiply_whole_registers(panel)) return;
    const int vectors = pack ? gemm_tile::kMaxVectors : static_cast<int>(divide_up(panel.n, kLanes<T>));
    gemm_tile::for_row_tiles(p.m, gemm_tile::max_rows(vectors), [&](std::int64_t first, std::int64_t rows) {
      Gemm<T> tile = rows_of(panel, first, rows);
      if (pack) {
        tile.a = a.data() + first * p.k;
        tile.a_row = 1;
        tile.a_col = rows;
      }
      gemm_tile::multiply(tile, {});
    });
  });
}

template <class T>
void multiply_serial(const Gemm<T>& p) {
  if (reads_in_place(p)) {
    for_depths(p, [](const Gemm<T>& part, std::int64_t) { multiply_block<T>(part, nullptr); });
    return;
  }
  Scratch<T> b(min(kDepth, p.k) * padded<T>(p.n));
  for_depths(p, [&b](const Gemm<T>& part, std::int64_t) {
    for_panels(part, [&](const Gemm<T>& panel, std::int64_t j) { pack_panel(panel, b.data() + j * panel.k); });
    multiply_block<T>(part, b.data());
  });
}

/// Packs B once for all threads, which then share the rows: enough at a time to make good use of each panel of B.
template <class T>
void multiply_rows(Cpu& cpu, const Gemm<T>& p) {
  const bool in_place = reads_in_place(p);
  const std::int64_t columns = padded<T>(p.n);
  Scratch<T> b(in_place ? 0 : p.k * columns);
  if (!in_place)
    cpu.parallel_for(p.n, kPanel<T> * chunk_of(kElementCost * kPanel<T> * p.k),
                     [&](std::int64_t begin, std::int64_t end) {
                       for_panels(columns_of(p, begin, end - begin), [&](const Gemm<T>& panel, std::int64_t j) {
                         for_depths(panel, [&](const Gemm<T>& part, std::int64_t first) {
                           pack_panel(part, b.data() + first * columns + (begin + j) * part.k);
                         });
                       });
                     });

  constexpr int kTileRows = gemm_tile::max_rows(gemm_tile::kMaxVectors);
  const std::int64_t fewest = p.n >= kWide ? 192 : 48;
  const std::int64_t rows = max(fewest, chunk_of(p.n * (2 * p.k + kElementCost)));
  cpu.parallel_for(p.m, divide_up(rows, kTileRows) * kTileRows, [&](std::int64_t begin, std::int64_t end) {
    for_depths(rows_of(p, begin, end - begin), [&](const Gemm<T>& part, std::int64_t first) {
      multiply_block<T>(part, in_place ? nullptr : b.data() + first * columns);
    });
  });
}

/// For few rows: threads share out the columns, and each packs what it needs of B.
template <class T>
void multiply_columns(Cpu& cpu, const Gemm<T>& p) {
  const std::int64_t panels = chunk_of(kPanel<T> * p.k * (2 * p.m + kElementCost));
  cpu.parallel_for(p.n, kPanel<T> * panels,
                   [&p](std::int64_t begin, std::int64_t end) { multiply_serial(columns_of(p, begin, end - begin)); });
}

/// Returns p without bias, activation and accumulation, with its result in c.
template <class T>
Gemm<T> bare(Gemm<T> p, T* c, std::int64_t c_row) {
  return {.m = p.m,
          .n = p.n,
          .k = p.k,
          .a = p.a,
          .a_row = p.a_row,
          .a_col = p.a_col,
          .b = p.b,
          .b_row = p.b_row,
          .b_col = p.b_col,
          .c = c,
          .c_row = c_row};
}

/// Brings sums to their place in C, row i, from column j on.
template <class T>
void finish(const Gemm<T>& p, std::int64_t i, std::int64_t j, Vec<T> sum) {
  const int n = static_cast<int>(min(kLanes<T>, p.n - j));
  T* c = p.c + i * p.c_row + j;
  sum *= p.alpha;
  if (p.accumulate) sum += load_first(c, n);
  if (p.bias) sum += load_first(p.bias + j, n);
  if (p.activation == Activation::relu) sum = max(Vec<T>{}, sum);
  store_first(c, sum, n);
}

/// For long sums and a small C: threads share out slices of the sum, whose results are added up in their order.
template <class T>
void multiply_slices(Cpu& cpu, const Gemm<T>& p, std::int64_t slices) {
  const std::int64_t depth = divide_up(p.k, slices);
  const std::int64_t columns = padded<T>(p.n), stride = p.m * columns;
  Scratch<T> partial(slices * stride);
  cpu.parallel_for(slices, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      const std::int64_t first = min(s * depth, p.k);
      multiply_serial(bare(depth_of(p, first, min(depth, p.k - first)), partial.data() + s * stride, columns));
    }
  });
  cpu.parallel_for(p.m, chunk_of(kElementCost * slices * columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t j = 0; j < p.n; j += kLanes<T>) {
        const T* at = partial.data() + i * columns + j;
        Vec<T> sum = load(at);
        for (std::int64_t s = 1; s < slices; ++s) sum += load(at + s * stride);
        finish(p, i, j, sum);
      }
  });
}

/// For so few columns that most lanes would stay empty: computes Cᵀ, whose rows are long.
template <class T>
void multiply_transposed(Cpu& cpu, const Gemm<T>& p) {
  Scratch<T> c(p.n * p.m);
  gemm(cpu, Gemm<T>{.m = p.n,
                    .n = p.m,
                    .k = p.k,
                    .a = p.b,
                    .a_row = p.b_col,
                    .a_col = p.b_row,
                    .b = p.a,
                    .b_row = p.a_col,
                    .b_col = p.a_row,
                    .c = c.data(),
                    .c_row = p.m});
  for (std::int64_t i = 0; i < p.m; ++i) {
    Vec<T> sum{};
    for (std::int64_t j = 0; j < p.n; ++j) sum[j] = c.data()[j * p.m + i];
    finish(p, i, 0, sum);
  }
}

/// Products of no depth read nothing of A and B, whose pointers may be null: no offset may be added to these.
template <class T>
Gemm<T> with_operands(Gemm<T> p) {
  if (p.k > 0) return p;
  p.a = p.b = p.c;
  p.a_row = p.a_col = p.b_row = p.b_col = 0;
  return p;
}

}  // namespace

template <class T>
void gemm_serial(Cpu&, const Gemm<T>& p) {
  if (p.m > 0 && p.n > 0) multiply_serial(with_operands(p));
}

template <class T>
void gemm(Cpu& cpu, const Gemm<T>& given) {
  constexpr std::int64_t kFewRows = 32;
  const Gemm<T> p = with_operands(given);
  if (p.m <= 0 || p.n <= 0) return;
  if (p.n <= kLanes<T> / 4 && p.m >= kLanes<T> && p.a_row == 1) return multiply_transposed(cpu, p);
  if (ThreadPool::inside_loop()) return multiply_serial(p);
  if (const std::int64_t slices = gemm_plan::slices_of(p.m, p.n, p.k); slices > 1)
    return multiply_slices(cpu, p, slices);
  if (p.m <= kFewRows && p.n > kPanel<T>) return multiply_columns(cpu, p);
  multiply_rows(cpu, p);
}

NPZOO_INSTANTIATE(gemm, Gemm);
NPZOO_INSTANTIATE(gemm_serial, Gemm);

}  // namespace npzoo
