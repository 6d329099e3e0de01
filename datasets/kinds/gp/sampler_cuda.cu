#include <numbers>

#include "npzoo/datasets/gaussian_processes/correlation.h"
#include "npzoo/datasets/kinds/gp/kernels.h"
#include "npzoo/engine/cuda/launch.h"
#include "npzoo/engine/cuda/pack.h"
#include "npzoo/engine/memory.h"
#include "npzoo/engine/philox.h"

namespace npzoo {

namespace {

constexpr int kPanel = 16;  // columns of a factor that are computed together
constexpr int kMostThreads = 512;

/// Working memory of a batch. Tasks that share their locations share one factor.
struct Work {
  std::int64_t size;  // of a factor: the points, and then an identity matrix up to whole panels
  double* x;          // (factors, points, dims)
  double* z;          // (batch, points), standard normal
  double* f;          // (batch, points)
  double* l;          // (factors, size, size), column by column; nothing above the diagonal
};

/// 53 random bits as a number in [0, 1).
__device__ double unit_interval_of(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>((static_cast<std::uint64_t>(high) << 21) ^ (low >> 11)) * 0x1p-53;
}

/// The number that Random::uniform draws at this offset of the batch's stream.
template <class T>
__device__ double draw_uniform(const GpTasks<T>& p, std::uint64_t offset) {
  std::uint32_t words[4];
  philox_words({p.seed, p.stream, offset}, words);
  return unit_interval_of(words[0], words[1]);
}

/// Number i of those that Random::fill_normal draws from `begin` on.
template <class T>
__device__ double draw_normal(const GpTasks<T>& p, std::uint64_t begin, std::int64_t i) {
  std::uint32_t words[4];
  philox_words({p.seed, p.stream, begin + static_cast<std::uint64_t>(i / 2)}, words);
  const double u = 1 - unit_interval_of(words[0], words[1]), v = unit_interval_of(words[2], words[3]);
  const double radius = sqrt(-2 * log(u)), angle = 2 * std::numbers::pi * v;
  return radius * (i % 2 == 0 ? cos(angle) : sin(angle));
}

/// The same bits as on the CPU: steep kernels magnify differences of locations.
template <class T>
__device__ double draw_coordinate(const GpTasks<T>& p, std::int64_t task, std::int64_t i) {
  const std::int64_t random = (p.points - p.grid) * p.dims;
  if (i < random)
    return p.low + __dmul_rn(p.high - p.low, draw_uniform(p, p.draws[task].locations + static_cast<std::uint64_t>(i)));
  std::int64_t place = (i - random) / p.dims;
  for (std::int64_t axis = (i - random) % p.dims; axis > 0; --axis) place /= p.grid_width;
  const double step = p.grid_width > 1 ? (p.high - p.low) / static_cast<double>(p.grid_width - 1) : 0;
  return p.low + __dmul_rn(step, static_cast<double>(place % p.grid_width));
}

__device__ double covariance_of(const Kernel& kernel, const double* a, const double* b, std::int64_t dims) {
  const double d2 = squared_distance(a, b, dims);
  double result = 0;
  with_correlation(kernel, [&](const auto& correlation) { result = covariance_at(kernel, correlation, d2); });
  return result;
}

/// Element i of the lower triangles in w.l.
template <class T>
__device__ void fill_covariance(const GpTasks<T>& p, const Work& w, std::int64_t i) {
  const std::int64_t task = i / (w.size * w.size), column = i / w.size % w.size, row = i % w.size;
  if (row < column) return;
  const double* x = w.x + task * p.points * p.dims;
  w.l[i] = row < p.points ? covariance_of(p.draws[task].kernel, x + row * p.dims, x + column * p.dims, p.dims)
                          : (row == column ? 1 : 0);
}

/// Row `i` of the columns that start at `first`, less what the columns before contribute. Neighbouring threads have
/// neighbouring rows.
__device__ void reduce_row(const double* l, std::int64_t size, std::int64_t first, std::int64_t i,
                           double (&row)[kPanel]) {
  constexpr int kAtATime = 4;
  for (int j = 0; j < kPanel; ++j) row[j] = i >= first + j ? l[(first + j) * size + i] : 0;
  for (std::int64_t k = 0; k < first; k += kAtATime) {
    double own[kAtATime];
    for (int e = 0; e < kAtATime; ++e) own[e] = l[(k + e) * size + i];
    for (int e = 0; e < kAtATime; ++e)
      for (int j = 0; j < kPanel; j += 2) {
        const Pack<double, 2> other = load<2>(l + (k + e) * size + first + j);
        row[j] -= own[e] * other.lane[0];
        row[j + 1] -= own[e] * other.lane[1];
      }
  }
}

/// The first warp has the rows of the diagonal block and some below. Factorises the block, solves for the rows below,
/// and leaves the block's columns in `block`, with the reciprocals of the pivots on the diagonal.
__device__ void factorise_block(double (&row)[kPanel], double* block) {
  const int lane = lane_id();
#pragma unroll  // keeps the row in registers
  for (int j = 0; j < kPanel; ++j) {
    const double pivot = __shfl_sync(kAllLanes, row[j], j);
    const double root = pivot > 0 ? sqrt(pivot) : nan(""), inverse = 1 / root;
    row[j] = lane == j ? root : row[j] * inverse;
    for (int k = j + 1; k < kPanel; ++k) row[k] -= row[j] * __shfl_sync(kAllLanes, row[j], k);
    if (lane < kPanel) block[j * kPanel + lane] = lane == j ? inverse : row[j];
  }
}

__device__ void solve_row(double (&row)[kPanel], const double* block) {
#pragma unroll
  for (int j = 0; j < kPanel; ++j) {
    row[j] *= block[j * kPanel + j];
    for (int k = j + 1; k < kPanel; ++k) row[k] -= row[j] * block[j * kPanel + k];
  }
}

/// Cholesky factors, one to a block of threads: one panel of columns after the other, a row to each thread. A pivot
/// that is not positive becomes NaN, and with it all that depends on it.
__global__ void __launch_bounds__(kMostThreads) factorise(std::int64_t size, double* factors) {
  double* l = factors + blockIdx.x * size * size;
  auto* block = shared_memory<double>();  // (kPanel, kPanel)
  for (std::int64_t first = 0; first < size; first += kPanel) {
    for (std::int64_t begin = first; begin < size; begin += blockDim.x) {
      const std::int64_t i = begin + threadIdx.x;
      double row[kPanel] = {};
      if (i < size) reduce_row(l, size, first, i, row);
      const bool has_block = begin == first && warp_id() == 0;
      if (has_block) factorise_block(row, block);
      if (begin == first) __syncthreads();
      if (!has_block) solve_row(row, block);
      for (int j = 0; j < kPanel; ++j)
        if (i < size && i >= first + j) l[(first + j) * size + i] = row[j];
    }
    __syncthreads();
  }
}

/// Value i of the functions: a row of the factor times the task's normal numbers.
template <class T>
__device__ double multiply(const GpTasks<T>& p, const Work& w, std::int64_t i) {
  constexpr int kSums = 4;
  const std::int64_t task = i / p.points, row = i % p.points;
  const double* l = w.l + (p.shared ? 0 : task) * w.size * w.size + row;
  const double* z = w.z + task * p.points;
  double sums[kSums] = {};
  std::int64_t j = 0;
  for (; j + kSums <= row + 1; j += kSums)
    for (int e = 0; e < kSums; ++e) sums[e] += l[(j + e) * w.size] * z[j + e];
  for (; j <= row; ++j) sums[0] += l[j * w.size] * z[j];
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

/// Context point or target i: where it lies and the noisy value there, or padding.
template <class T>
__device__ void observe(const GpTasks<T>& p, const Work& w, std::int64_t i) {
  const std::int64_t per_task = p.context + p.targets, task = i / per_task, k = i % per_task;
  const bool target = k >= p.context, padding = !target && k >= p.draws[task].context;
  const std::int64_t own = target ? k - p.context : k, point = target ? p.points - p.targets + own : own;
  const std::int64_t to = task * (target ? p.targets : p.context) + own;
  const double* x = w.x + ((p.shared ? 0 : task) * p.points + point) * p.dims;
  for (std::int64_t axis = 0; axis < p.dims; ++axis)
    (target ? p.xt : p.xc)[to * p.dims + axis] = padding ? T(0) : static_cast<T>(x[axis]);
  double y = 0;
  if (!padding) {
    const GpDraw& draw = p.draws[task];
    const double noise = draw_normal(p, target ? draw.target_noise : draw.context_noise, own);
    y = w.f[task * p.points + point] + (target ? p.target_noise : p.context_noise) * noise;
  }
  (target ? p.yt : p.yc)[to] = static_cast<T>(y);
}

Buffer doubles(std::int64_t count) { return Buffer(static_cast<std::size_t>(count) * sizeof(double), Device::cuda); }

double* elements(const Buffer& buffer) { return reinterpret_cast<double*>(buffer.data()); }

template <class T>
void draw(Cuda& cuda, const GpTasks<T>& p) {
  const std::int64_t factors = p.shared ? 1 : p.batch, size = divide_up(p.points, kPanel) * kPanel;
  const std::int64_t coordinates = factors * p.points * p.dims, values = p.batch * p.points;
  const std::int64_t per_task = p.points * p.dims;
  const Buffer x = doubles(coordinates), z = doubles(values), f = doubles(values), l = doubles(factors * size * size);
  const Work w{size, elements(x), elements(z), elements(f), elements(l)};
  for_each(cuda, "gp_draw", coordinates + values, [p, w, coordinates, per_task] __device__(std::int64_t i) {
    if (i < coordinates) {
      w.x[i] = draw_coordinate(p, i / per_task, i % per_task);
    } else {
      const std::int64_t task = (i - coordinates) / p.points;
      w.z[i - coordinates] = draw_normal(p, p.draws[task].normals, (i - coordinates) % p.points);
    }
  });
  for_each(cuda, "gp_covariance", factors * size * size,
           [p, w] __device__(std::int64_t i) { fill_covariance(p, w, i); });
  const std::int64_t threads = min(std::int64_t{kMostThreads}, divide_up(size, kWarp) * kWarp);
  if (size > 0)
    launch(cuda, "gp_factorise", factorise, factors, static_cast<int>(threads), kPanel * kPanel * sizeof(double), size,
           w.l);
  for_each(cuda, "gp_multiply", values, [p, w] __device__(std::int64_t i) { w.f[i] = multiply(p, w, i); });
  for_each(cuda, "gp_observe", p.batch * (p.context + p.targets),
           [p, w] __device__(std::int64_t i) { observe(p, w, i); });
}

}  // namespace

template <class T>
void draw_gp_tasks(Cuda& cuda, const GpTasks<T>& p) {
  draw(cuda, p);
}

NPZOO_INSTANTIATE(draw_gp_tasks, GpTasks);

}  // namespace npzoo
