#include "npzoo/engine/cuda/launch.h"
#include "npzoo/engine/kernels.h"
#include "npzoo/engine/memory.h"

namespace npzoo {

namespace {

constexpr int kThreads = 256;

/// Returns how many columns neighbouring threads take. The rest of the block's threads take other rows.
__host__ __device__ int tile_columns(std::int64_t inner) { return inner < kWarp ? static_cast<int>(inner) : kWarp; }

/// Sums one slice of the middle axis for a tile of columns and multiplies by `factor`: grid (outer · tiles, slices).
/// `y` is (slices, outer, inner).
template <class From, class To>
__global__ void sum_slices(std::int64_t outer, std::int64_t middle, std::int64_t inner, const From* x, double factor,
                           To* y) {
  auto* sums = shared_memory<double>();  // (lanes, columns)
  const int columns = tile_columns(inner), lanes = kThreads / columns;
  const int lane = static_cast<int>(threadIdx.x) / columns;
  const std::int64_t tiles = divide_up(inner, columns), unit = blockIdx.x / tiles;
  const std::int64_t column = blockIdx.x % tiles * columns + threadIdx.x % columns;
  const std::int64_t depth = divide_up(middle, gridDim.y), first = blockIdx.y * depth;
  const std::int64_t last = min(middle, first + depth);
  double sum = 0;
  if (lane < lanes && column < inner)
    for (std::int64_t row = first + lane; row < last; row += lanes)
      sum += static_cast<double>(x[(unit * middle + row) * inner + column]);
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int count = lanes; count > 1;) {
    const int half = (count + 1) / 2;
    if (lane + half < count) sums[threadIdx.x] += sums[threadIdx.x + half * columns];
    count = half;
    __syncthreads();
  }
  if (lane == 0 && column < inner)
    y[(blockIdx.y * outer + unit) * inner + column] = static_cast<To>(sums[threadIdx.x] * factor);
}

template <class T, class To>
void sum_to(Cuda& cuda, const SumMiddle<T>& p, To* y) {
  const int columns = tile_columns(p.inner), lanes = kThreads / columns;
  const std::int64_t blocks = p.outer * divide_up(p.inner, columns);
  // Enough blocks for the device, each with enough rows. A second pass adds up the slices.
  const std::int64_t wanted = divide_up(2 * cuda.multiprocessors, blocks), most = p.middle / (8 * lanes);
  const std::int64_t slices = max(std::int64_t{1}, min(wanted, most));
  constexpr std::size_t kShared = kThreads * sizeof(double);
  if (slices == 1)
    return launch(cuda, "sum_middle", sum_slices<T, To>, blocks, kThreads, kShared, p.outer, p.middle, p.inner, p.x,
                  p.factor, y);
  const Buffer buffer(static_cast<std::size_t>(slices * p.outer * p.inner) * sizeof(double), Device::cuda);
  auto* partial = reinterpret_cast<double*>(buffer.data());
  launch(cuda, "sum_middle", sum_slices<T, double>, {blocks, slices}, kThreads, kShared, p.outer, p.middle, p.inner,
         p.x, 1.0, partial);
  launch(cuda, "sum_middle", sum_slices<double, To>, divide_up(p.outer * p.inner, kWarp), kThreads, kShared,
         std::int64_t{1}, slices, p.outer * p.inner, partial, p.factor, y);
}

}  // namespace

template <class T>
void fill(Cuda& cuda, const Fill<T>& p) {
  for_each(cuda, "fill", p.n, [p] __device__(std::int64_t i) { p.x[i] = p.value; });
}

template <class T>
void convert(Cuda& cuda, const Convert<T>& p) {
  using To = std::remove_reference_t<decltype(*p.y)>;
  for_each(cuda, "convert", p.n, [p] __device__(std::int64_t i) { p.y[i] = static_cast<To>(p.x[i]); });
}

template <class T>
void add_into(Cuda& cuda, const AddInto<T>& p) {
  for_each(cuda, "add_into", p.n, [p] __device__(std::int64_t i) { p.y[i] += p.x[i]; });
}

template <class T>
void sum_middle(Cuda& cuda, const SumMiddle<T>& p) {
  if (p.outer == 0 || p.inner == 0) return;
  p.wide ? sum_to(cuda, p, p.wide) : sum_to(cuda, p, p.y);
}

NPZOO_INSTANTIATE(fill, Fill);
NPZOO_INSTANTIATE(convert, Convert);
NPZOO_INSTANTIATE(add_into, AddInto);
NPZOO_INSTANTIATE(sum_middle, SumMiddle);

}  // namespace npzoo
