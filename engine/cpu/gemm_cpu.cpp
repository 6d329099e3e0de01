#include "engine/cpu/gemm.h"

#include "engine/cpu/simd.h"
#include "engine/memory.h"

namespace npzoo {

namespace {

using namespace simd;

/// A tile of C lives in registers while it is summed. Narrow tiles are taller, to keep enough sums in flight.
constexpr int kSumRegisters = kIsa == Isa::avx512 ? 24 : kIsa == Isa::avx2 ? 12 : 8;
constexpr int kMaxVectors = kIsa == Isa::avx512 ? 4 : 2;
constexpr int kMaxRows = 10;
constexpr int tile_rows(int vectors) { return kSumRegisters / vectors < kMaxRows ? kSumRegisters / vectors : kMaxRows; }

template <class T>
constexpr int kLanes = Simd<T>::kLanes;
template <class T>
constexpr int kPanel = kMaxVectors* kLanes<T>;  // columns of B that are packed side by side

constexpr std::int64_t kDepth = 256;           // of the block of B that one pass works with
constexpr std::int64_t kWide = 512;            // columns from which on it pays to pack A as well
constexpr std::int64_t kChunkFlops = 1 << 20;  // work that is worth handing to another thread
constexpr std::int64_t kCost = 8;              // of reading or writing an element, in multiply-adds

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
constexpr std::int64_t larger(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return divide_up(a, b) * b; }

/// Uninitialised working memory: on the stack where it is small, so that tiny products touch no lock.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t count) {
    if (count <= kLocal) return;
    pooled_ = Buffer(static_cast<std::size_t>(count) * sizeof(T));
    data_ = reinterpret_cast<T*>(pooled_.data());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() { return data_; }

 private:
  static constexpr std::int64_t kLocal = 16384 / sizeof(T);
  alignas(64) T local_[kLocal];
  Buffer pooled_;
  T* data_ = local_;
};

template <class T>
Gemm<T> rows_of(Gemm<T> p, std::int64_t begin, std::int64_t count) {
  p.m = count;
  p.a += begin * p.a_row;
  p.c += begin * p.c_row;
  return p;
}

template <class T>
Gemm<T> columns_of(Gemm<T> p, std::int64_t begin, std::int64_t count) {
  p.n = count;
  p.b += begin * p.b_col;
  p.c += begin;
  if (p.bias) p.bias += begin;
  return p;
}

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

/// What becomes of a sum: `n` elements of C at c, in column `column`.
template <class T>
[[gnu::always_inline]] inline void finish(const Gemm<T>& p, Vec<T> sum, T* c, std::int64_t column, int n) {
  sum *= p.alpha;
  if (p.accumulate) sum += load_first(c, n);
  if (p.bias) sum += load_first(p.bias + column, n);
  if (p.activation == Activation::relu) sum = select(sum < 0, Vec<T>{}, sum);
  store_first(c, sum, n);
}

/// The micro-kernel: m = rows, n at most `vectors` registers, rows of B in whole registers.
template <class T, int rows, int vectors>
void multiply_tile(const Gemm<T>& p) {
  Vec<T> sum[rows][vectors];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) sum[i][j] = Vec<T>{};

  const T* a = p.a;
  const T* b = p.b;
  const std::int64_t a_row = p.a_row, a_col = p.a_col, b_row = p.b_row;
  if (p.accumulate)
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) __builtin_prefetch(p.c + i * p.c_row + j * kLanes<T>, 1);
#pragma GCC unroll 2
  for (std::int64_t k = p.k; k > 0; --k) {
    Vec<T> y[vectors];
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) y[j] = load(b + j * kLanes<T>);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const Vec<T> x = splat<T>(a[i * a_row]);
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) sum[i][j] += x * y[j];
    }
    a += a_col;
    b += b_row;
  }

  const int last = static_cast<int>(p.n) - (vectors - 1) * kLanes<T>;
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j)
      finish(p, sum[i][j], p.c + i * p.c_row + j * kLanes<T>, j * kLanes<T>, j + 1 < vectors ? kLanes<T> : last);
}

template <class T>
using TileFunction = void (*)(const Gemm<T>&);

template <class T, int rows, int vectors>
constexpr TileFunction<T> tile_function() {
  if constexpr (rows <= tile_rows(vectors))
    return multiply_tile<T, rows, vectors>;
  else
    return nullptr;
}

template <class T>
struct TileTable {
  TileFunction<T> functions[kMaxRows * kMaxVectors];
  TileFunction<T> at(std::int64_t rows, std::int64_t vectors) const {
    return functions[(rows - 1) * kMaxVectors + vectors - 1];
  }
};

template <class T>
constexpr TileTable<T> kTiles = []<int... i>(std::integer_sequence<int, i...>) {
  return TileTable<T>{{tile_function<T, i / kMaxVectors + 1, i % kMaxVectors + 1>()...}};
}
(std::make_integer_sequence<int, kMaxRows * kMaxVectors>{});

/// Cuts m rows into tiles of almost equal height.
struct RowTiles {
  std::int64_t count, height, taller;
  RowTiles(std::int64_t m, int most) : count(divide_up(m, most)), height(m / count), taller(m % count) {}

  /// Calls f(first row, rows).
  template <class F>
  void for_each(F f) const {
    std::int64_t row = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t rows = height + (i < taller);
      f(row, rows);
      row += rows;
    }
  }
};

/// Copies A tile by tile, so that a tile reads its rows side by side.
template <class T>
void pack_a(const Gemm<T>& p, T* out) {
  RowTiles(p.m, tile_rows(kMaxVectors)).for_each([&p, out](std::int64_t first, std::int64_t rows) mutable {
    const T* a = p.a + first * p.a_row;
    for (std::int64_t k = 0; k < p.k; ++k, a += p.a_col)
      for (std::int64_t i = 0; i < rows; ++i) *out++ = a[i * p.a_row];
  });
}

/// Copies up to a square of lanes, transposed; what is missing becomes 0.
template <class T>
void transpose_square(const T* b, std::int64_t stride, int columns, int depth, T* out, std::int64_t out_stride) {
  Vec<T> x[kLanes<T>];
  if (columns == kLanes<T> && depth == kLanes<T>) {
#pragma GCC unroll 16
    for (int j = 0; j < kLanes<T>; ++j) x[j] = load(b + j * stride);
  } else {
    for (int j = 0; j < kLanes<T>; ++j) x[j] = j < columns ? load_first(b + j * stride, depth) : Vec<T>{};
  }
  transpose(x);
  for (int k = 0; k < depth; ++k) store(out + k * out_stride, x[k]);
}

/// Copies up to kPanel columns of B as k rows of whole registers, filled up with 0.
template <class T>
void pack_panel(const Gemm<T>& p, T* out) {
  const std::int64_t width = round_up(p.n, kLanes<T>);
  for (std::int64_t j = 0; j < p.n; j += kLanes<T>) {
    const int columns = static_cast<int>(smaller(kLanes<T>, p.n - j));
    const T* b = p.b + j * p.b_col;
    if (p.b_col == 1) {
      for (std::int64_t k = 0; k < p.k; ++k) store(out + k * width + j, load_first(b + k * p.b_row, columns));
    } else {
      for (std::int64_t k = 0; k < p.k; k += kLanes<T>)
        transpose_square(b + k, p.b_col, columns, static_cast<int>(smaller(kLanes<T>, p.k - k)), out + k * width + j,
                         width);
    }
  }
}

/// Copies B in panels, the last as wide as it needs to be.
template <class T>
void pack_b(const Gemm<T>& p, T* out) {
  for (std::int64_t j = 0; j < p.n; j += kPanel<T>)
    pack_panel(columns_of(p, j, smaller(kPanel<T>, p.n - j)), out + j * p.k);
}

/// Whether tiles can read B where it lies: whole registers, and few or short rows, so that packing would not pay.
template <class T>
bool reads_in_place(const Gemm<T>& p) {
  if (p.b_col != 1 || p.n % kLanes<T> != 0) return false;
  return p.m <= 4 * kMaxRows || (p.n <= 2 * kPanel<T> && p.b_row <= 4 * kPanel<T>);
}

/// One pass over a block of the reduction. `b` is packed, or null for B in place.
template <class T>
void multiply_block(const Gemm<T>& p, const T* b) {
  const bool pack = p.n >= kWide;
  Scratch<T> a(pack ? p.m * p.k : 0);
  if (pack) pack_a(p, a.data());
  for (std::int64_t j = 0; j < p.n; j += kPanel<T>) {
    Gemm<T> panel = columns_of(p, j, smaller(kPanel<T>, p.n - j));
    const std::int64_t vectors = divide_up(panel.n, kLanes<T>);
    if (b) {
      panel.b = b + j * p.k;
      panel.b_row = vectors * kLanes<T>;
    }
    const RowTiles tiles(p.m, tile_rows(pack ? kMaxVectors : static_cast<int>(vectors)));
    tiles.for_each([&](std::int64_t first, std::int64_t rows) {
      Gemm<T> tile = rows_of(panel, first, rows);
      if (pack) {
        tile.a = a.data() + first * p.k;
        tile.a_row = 1;
        tile.a_col = rows;
      }
      kTiles<T>.at(rows, vectors)(tile);
    });
  }
}

/// Calls f(part, first k) for parts of the reduction of almost kDepth; once when k = 0.
template <class T, class F>
void for_depths(const Gemm<T>& p, F f) {
  const std::int64_t parts = larger(1, divide_up(p.k, kDepth));
  const std::int64_t depth = divide_up(p.k, parts);
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t begin = smaller(i * depth, p.k);
    f(depth_of(p, begin, smaller(depth, p.k - begin)), begin);
  }
}

template <class T>
void multiply_serial(const Gemm<T>& p) {
  const bool in_place = reads_in_place(p);
  Scratch<T> b(in_place ? 0 : smaller(kDepth, p.k) * round_up(p.n, kLanes<T>));
  for_depths(p, [&b, in_place](const Gemm<T>& part, std::int64_t) {
    if (!in_place) pack_b(part, b.data());
    multiply_block<T>(part, in_place ? nullptr : b.data());
  });
}

/// How many items make a chunk of work for a thread, when each stands for `flops`.
constexpr std::int64_t chunk_of(std::int64_t flops) { return larger(1, kChunkFlops / larger(1, flops)); }

/// B is packed once for all threads, who share out the rows: enough at a time to make good use of each panel of B.
template <class T, Isa isa>
void multiply_rows(CpuContext<isa>& cpu, const Gemm<T>& p) {
  const bool in_place = reads_in_place(p);
  const std::int64_t columns = round_up(p.n, kLanes<T>);
  Scratch<T> b(in_place ? 0 : p.k * columns);
  if (!in_place)
    cpu.parallel_for(
        divide_up(p.n, kPanel<T>), chunk_of(8 * kPanel<T> * p.k), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t j = begin * kPanel<T>; j < smaller(end * kPanel<T>, p.n); j += kPanel<T>)
            for_depths(columns_of(p, j, smaller(kPanel<T>, p.n - j)), [&](const Gemm<T>& panel, std::int64_t first) {
              pack_panel(panel, b.data() + first * columns + j * panel.k);
            });
        });

  const std::int64_t fewest = p.n >= kWide ? 192 : 48;
  const std::int64_t rows = round_up(larger(fewest, chunk_of(2 * p.n * (p.k + kCost))), tile_rows(kMaxVectors));
  cpu.parallel_for(p.m, rows, [&](std::int64_t begin, std::int64_t end) {
    for_depths(rows_of(p, begin, end - begin), [&](const Gemm<T>& part, std::int64_t first) {
      multiply_block<T>(part, in_place ? nullptr : b.data() + first * columns);
    });
  });
}

/// Few rows: threads share out the columns, and each packs what it needs of B.
template <class T, Isa isa>
void multiply_columns(CpuContext<isa>& cpu, const Gemm<T>& p) {
  const std::int64_t columns = round_up(chunk_of(2 * p.k * (p.m + kCost)), kPanel<T>);
  cpu.parallel_for(p.n, columns,
                   [&p](std::int64_t begin, std::int64_t end) { multiply_serial(columns_of(p, begin, end - begin)); });
}

/// Sums up the slices in their order.
template <class T>
void add_slices(const Gemm<T>& p, std::int64_t row, const T* partials, std::int64_t slices, std::int64_t stride) {
  for (std::int64_t j = 0; j < p.n; j += kLanes<T>) {
    Vec<T> sum = load(partials + j);
    for (std::int64_t s = 1; s < slices; ++s) sum += load(partials + s * stride + j);
    finish(p, sum, p.c + row * p.c_row + j, j, static_cast<int>(smaller(kLanes<T>, p.n - j)));
  }
}

/// For long sums and a small C: threads share out slices of the sum, which depend on the sizes alone.
template <class T, Isa isa>
void multiply_slices(CpuContext<isa>& cpu, const Gemm<T>& p, std::int64_t slices) {
  const std::int64_t depth = divide_up(p.k, slices);
  const std::int64_t columns = round_up(p.n, kLanes<T>);
  Scratch<T> partials(slices * p.m * columns);
  cpu.parallel_for(slices, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      Gemm<T> part = depth_of(p, s * depth, smaller(depth, p.k - s * depth));
      part.c = partials.data() + s * p.m * columns;
      part.c_row = columns;
      part.alpha = 1;
      part.accumulate = false;
      part.bias = nullptr;
      part.activation = Activation::none;
      multiply_serial(part);
    }
  });
  const std::int64_t grain = chunk_of(8 * slices * columns);
  cpu.parallel_for(p.m, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) add_slices(p, i, partials.data() + i * columns, slices, p.m * columns);
  });
}

/// How many slices to cut the sum into; 1 where rows or columns are the better way to share out the work.
template <class T>
std::int64_t slices_of(const Gemm<T>& p) {
  constexpr std::int64_t kLargestC = 1 << 16, kPartials = 1 << 19, kShallowest = 128, kMost = 64;
  if (p.m * p.n > kLargestC || p.k < 4 * larger(p.m, p.n)) return 1;
  const std::int64_t depth = larger(kShallowest, chunk_of(2 * p.m * p.n));
  return smaller(p.k / depth, smaller(kMost, kPartials / (p.m * p.n)));
}

/// Narrow C: most lanes would be empty, so it is the transposed product that is computed, then copied.
template <class T, Isa isa>
void multiply_transposed(CpuContext<isa>& cpu, const Gemm<T>& p) {
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
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      T& out = p.c[i * p.c_row + j];
      T sum = p.alpha * c.data()[j * p.m + i];
      if (p.accumulate) sum += out;
      if (p.bias) sum += p.bias[j];
      out = p.activation == Activation::relu && sum < 0 ? 0 : sum;
    }
}

}  // namespace

template <class T, Isa isa>
void gemm_serial(CpuContext<isa>&, const Gemm<T>& p) {
  if (p.m > 0 && p.n > 0) multiply_serial(p);
}

template <class T, Isa isa>
void gemm(CpuContext<isa>& cpu, const Gemm<T>& p) {
  constexpr std::int64_t kFewRows = 32;
  if (p.m <= 0 || p.n <= 0) return;
  if (p.n <= kLanes<T> / 4 && p.m >= kLanes<T>) return multiply_transposed(cpu, p);
  if (const std::int64_t slices = slices_of(p); slices > 1) return multiply_slices(cpu, p, slices);
  if (p.m <= kFewRows && p.n > kPanel<T>) return multiply_columns(cpu, p);
  multiply_rows(cpu, p);
}

template void gemm(CpuContext<kIsa>&, const Gemm<float>&);
template void gemm(CpuContext<kIsa>&, const Gemm<double>&);
template void gemm_serial(CpuContext<kIsa>&, const Gemm<float>&);
template void gemm_serial(CpuContext<kIsa>&, const Gemm<double>&);

}  // namespace npzoo
