#include "npzoo/engine/cpu/simd.h"
#include "npzoo/engine/kernels.h"
#include "npzoo/engine/memory.h"

namespace npzoo {

namespace {

using namespace simd;

constexpr std::int64_t kGrain = 1 << 15;                          // elements that are worth handing to another thread
constexpr std::int64_t kColumnBlock = 64 * Simd<double>::kLanes;  // columns that one thread sums

template <class T>
constexpr int kLanes = Simd<T>::kLanes;

/// Calls f(i, n) for consecutive runs of n = kLanes elements of [begin, end); the last may be shorter.
template <class T, class F>
[[gnu::always_inline]] inline void for_each_vector(std::int64_t begin, std::int64_t end, F f) {
  for (std::int64_t i = begin; i < end; i += kLanes<T>) f(i, static_cast<int>(min(end - i, kLanes<T>)));
}

constexpr int kDoubles = Simd<double>::kLanes;

/// Sums n neighbours.
template <class T>
[[gnu::always_inline]] inline double sum_along(const T* x, std::int64_t n) {
  constexpr int kChains = 4;  // additions in flight
  Vec<double> sum[kChains] = {};
  std::int64_t i = 0;
  for (; i + kChains * kDoubles <= n; i += kChains * kDoubles)
#pragma GCC unroll 4
    for (int chain = 0; chain < kChains; ++chain) sum[chain] += load_as_double(x + i + chain * kDoubles);
  for (; i < n; i += kDoubles) sum[0] += load_first_as_double(x + i, static_cast<int>(min(n - i, kDoubles)));
  return simd::sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/// Sums each of `registers` · kDoubles columns, or the first `columns` of one register, down its rows.
template <int registers, class From, class To>
void sum_down(const From* x, std::int64_t rows, std::int64_t stride, int columns, double factor, To* sums) {
  Vec<double> even[registers] = {}, odd[registers] = {};
  const auto add = [&](Vec<double>* sum, std::int64_t row) {
#pragma GCC unroll 2
    for (int i = 0; i < registers; ++i) sum[i] += load_first_as_double(x + row * stride + i * kDoubles, columns);
  };
  for (std::int64_t row = 0; row + 2 <= rows; row += 2) {
    add(even, row);
    add(odd, row + 1);
  }
  if (rows % 2) add(even, rows - 1);
  for (int i = 0; i < registers; ++i)
    for (int lane = 0; lane < columns; ++lane)
      sums[i * kDoubles + lane] = static_cast<To>(((even[i] + odd[i]) * factor)[lane]);
}

/// Sums whole columns of (outer, middle, inner) and multiplies by `factor`. Threads share out the blocks of columns.
template <class From, class To>
void sum_whole(Cpu& cpu, std::int64_t outer, std::int64_t middle, std::int64_t inner, const From* x, double factor,
               To* y) {
  const std::int64_t blocks = divide_up(inner, kColumnBlock);
  const std::int64_t grain = max(kGrain / (min(inner, kColumnBlock) * middle + 1), 1);
  cpu.parallel_for(outer * blocks, grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const From* from = x + unit / blocks * middle * inner;
      To* to = y + unit / blocks * inner;
      if (inner == 1) {
        *to = static_cast<To>(sum_along(from, middle) * factor);
        continue;
      }
      const std::int64_t last = min(inner, (unit % blocks + 1) * kColumnBlock);
      std::int64_t j = unit % blocks * kColumnBlock;
      for (; j + 2 * kDoubles <= last; j += 2 * kDoubles)
        sum_down<2>(from + j, middle, inner, kDoubles, factor, to + j);
      for (; j < last; j += kDoubles)
        sum_down<1>(from + j, middle, inner, static_cast<int>(min(last - j, kDoubles)), factor, to + j);
    }
  });
}

/// Cuts the rows of a single matrix into slices if its blocks of columns are too few for the threads. Slices are deep,
/// so that their sums take little memory beside x.
template <class T, class To>
void sum_slices(Cpu& cpu, const SumMiddle<T>& p, To* y) {
  constexpr std::int64_t kMostUnits = 64, kShallowest = 16;
  const std::int64_t units = kMostUnits / max(divide_up(p.inner, kColumnBlock), 1);
  const std::int64_t slices =
      p.outer == 1 ? min(units, min(p.middle / kShallowest, p.middle * p.inner / kGrain)) : std::int64_t{1};
  if (slices < 2) return sum_whole(cpu, p.outer, p.middle, p.inner, p.x, p.factor, y);

  const std::int64_t depth = p.middle / slices, rest = p.middle - slices * depth;
  const Buffer buffer(static_cast<std::size_t>((slices + 1) * p.inner) * sizeof(double));
  auto* partial = reinterpret_cast<double*>(buffer.data());
  sum_whole(cpu, slices, depth, p.inner, p.x, 1, partial);
  sum_whole(cpu, 1, rest, p.inner, p.x + slices * depth * p.inner, 1, partial + slices * p.inner);
  sum_whole(cpu, 1, slices + 1, p.inner, partial, p.factor, y);
}

}  // namespace

template <class T>
void add_into(Cpu& cpu, const AddInto<T>& p) {
  cpu.parallel_for(p.n, kGrain, [&p](std::int64_t begin, std::int64_t end) {
    for_each_vector<T>(begin, end, [&p](std::int64_t i, int n) {
      store_first(p.y + i, load_first(p.y + i, n) + load_first(p.x + i, n), n);
    });
  });
}

template <class T>
void sum_middle(Cpu& cpu, const SumMiddle<T>& p) {
  p.wide ? sum_slices(cpu, p, p.wide) : sum_slices(cpu, p, p.y);
}

NPZOO_INSTANTIATE(add_into, AddInto);
NPZOO_INSTANTIATE(sum_middle, SumMiddle);

}  // namespace npzoo
