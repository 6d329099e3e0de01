#include "npzoo/engine/cuda/column_sums.h"
#include "npzoo/engine/cuda/launch.h"
#include "npzoo/engine/cuda/pack.h"
#include "npzoo/engine/memory.h"
#include "npzoo/ops/layer_norm/kernels.h"

namespace npzoo {

namespace {

constexpr int kWarps = 4, kThreads = kWarps * kWarp;
constexpr int kMostPacks = 8;  // that a lane keeps of a row

/// Calls f(i, column) for the i-th pack of n elements that this lane takes of a row.
template <int n, int packs, class F>
__device__ void for_packs(std::int64_t width, const F& f) {
  if constexpr (packs > 0) {
    for (int i = 0; i < packs; ++i) {
      const int column = (i * kWarp + lane_id()) * n;
      if (column < width) f(i, std::int64_t{column});
    }
  } else {
    for (std::int64_t column = lane_id() * n; column < width; column += kWarp * n) f(0, column);
  }
}

/// A lane's part of a row: kept in registers, or with packs = 0 read again.
template <class T, int n, int packs>
class Kept {
 public:
  __device__ void keep(int i, const Pack<T, n>& x) {
    if constexpr (packs > 0) values_[i] = x;
  }
  __device__ Pack<T, n> get(int i, const T* from) const {
    if constexpr (packs > 0) return values_[i];
    return load<n>(from);
  }

 private:
  Pack<T, n> values_[packs > 0 ? packs : 1] = {};
};

/// One row to a warp.
template <class T, int n, int packs>
__global__ void __launch_bounds__(kThreads) normalise_rows(LayerNormForward<T> p) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kWarps + warp_id(), start = row * p.width;
  if (row >= p.rows) return;
  Kept<T, n, packs> kept;
  T total = 0;
  for_packs<n, packs>(p.width, [&](int i, std::int64_t column) {
    Pack<T, n> x = load<n>(p.x + start + column);
    if (p.residual) {
      const Pack<T, n> residual = load<n>(p.residual + start + column);
      for (int e = 0; e < n; ++e) x.lane[e] += residual.lane[e];
      store(p.sum + start + column, x);
    }
    for (int e = 0; e < n; ++e) total += x.lane[e];
    kept.keep(i, x);
  });
  const T* x_row = (p.residual ? p.sum : p.x) + start;
  const T mean = warp_sum(total) / static_cast<T>(p.width);
  T squares = 0;
  for_packs<n, packs>(p.width, [&](int i, std::int64_t column) {
    const Pack<T, n> x = kept.get(i, x_row + column);
    for (int e = 0; e < n; ++e) squares += (x.lane[e] - mean) * (x.lane[e] - mean);
  });
  const T inverse = 1 / square_root(warp_sum(squares) / static_cast<T>(p.width) + p.eps);
  for_packs<n, packs>(p.width, [&](int i, std::int64_t column) {
    Pack<T, n> x = kept.get(i, x_row + column);
    const Pack<T, n> gain = load<n>(p.gain + column), bias = load<n>(p.bias + column);
    for (int e = 0; e < n; ++e) x.lane[e] = (x.lane[e] - mean) * inverse * gain.lane[e] + bias.lane[e];
    store(p.out + start + column, x);
  });
  if (lane_id() > 0) return;
  p.mean[row] = mean;
  p.inverse_deviation[row] = inverse;
}

/// A lane's part of the sums over rows that give the gradients of gain and bias; empty with packs = 0.
template <class T, int n, int packs>
struct GainAndBias {
  T gain[packs][n] = {}, bias[packs][n] = {};

  __device__ void add(int i, int e, T d, T normal) {
    gain[i][e] += d * normal;
    bias[i][e] += d;
  }
  /// Adds up those of the warps and writes them to partial (2, blocks, width).
  __device__ void write(std::int64_t width, T* partial) const {
    T* shared = shared_memory<T>();  // (warps, 2, width)
    T *gain_of_warp = shared + warp_id() * 2 * width, *bias_of_warp = gain_of_warp + width;
    for_packs<n, packs>(width, [&](int i, std::int64_t column) {
      for (int e = 0; e < n; ++e) {
        gain_of_warp[column + e] = gain[i][e];
        bias_of_warp[column + e] = bias[i][e];
      }
    });
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < 2 * width; i += kThreads) {
      T sum = shared[i];
      for (int warp = 1; warp < kWarps; ++warp) sum += shared[warp * 2 * width + i];
      partial[(i / width * gridDim.x + blockIdx.x) * width + i % width] = sum;
    }
  }
};
template <class T, int n>
struct GainAndBias<T, n, 0> {
  __device__ void add(int, int, T, T) {}
  __device__ void write(std::int64_t, T*) const {}
};

template <class T, int n, int packs>
__device__ void row_backward(const LayerNormBackward<T>& p, std::int64_t row, GainAndBias<T, n, packs>& sums) {
  const std::int64_t start = row * p.width;
  const T mean = p.mean[row], inverse = p.inverse_deviation[row];
  const T *x_row = p.x + start, *d_row = p.d_out + start;
  Kept<T, n, packs> kept_x, kept_d;
  for_packs<n, packs>(p.width, [&](int i, std::int64_t column) {
    kept_x.keep(i, load<n>(x_row + column));
    kept_d.keep(i, load<n>(d_row + column));
  });
  T d_sum = 0, d_dot = 0;
  for_packs<n, packs>(p.width, [&](int i, std::int64_t column) {
    const Pack<T, n> x = kept_x.get(i, x_row + column), d = kept_d.get(i, d_row + column);
    const Pack<T, n> gain = load<n>(p.gain + column);
    for (int e = 0; e < n; ++e) {
      const T normal = (x.lane[e] - mean) * inverse, d_normal = d.lane[e] * gain.lane[e];
      d_sum += d_normal;
      d_dot += d_normal * normal;
      sums.add(i, e, d.lane[e], normal);
    }
  });
  const T mean_d = warp_sum(d_sum) / static_cast<T>(p.width), mean_dot = warp_sum(d_dot) / static_cast<T>(p.width);
  for_packs<n, packs>(p.width, [&](int i, std::int64_t column) {
    const Pack<T, n> x = kept_x.get(i, x_row + column), d = kept_d.get(i, d_row + column);
    const Pack<T, n> gain = load<n>(p.gain + column);
    Pack<T, n> d_x;
    for (int e = 0; e < n; ++e)
      d_x.lane[e] = inverse * (d.lane[e] * gain.lane[e] - mean_d - (x.lane[e] - mean) * inverse * mean_dot);
    if (p.d_sum) {
      const Pack<T, n> more = load<n>(p.d_sum + start + column);
      for (int e = 0; e < n; ++e) d_x.lane[e] += more.lane[e];
    }
    store(p.d_x + start + column, d_x);
  });
}

/// Every warp takes rows by turns.
template <class T, int n, int packs>
__global__ void __launch_bounds__(kThreads) rows_backward(LayerNormBackward<T> p, T* partial) {
  GainAndBias<T, n, packs> sums;
  const std::int64_t step = std::int64_t{gridDim.x} * kWarps;
  for (std::int64_t row = std::int64_t{blockIdx.x} * kWarps + warp_id(); row < p.rows; row += step)
    row_backward(p, row, sums);
  if (partial) sums.write(p.width, partial);
}

/// The sums alone, for rows that no warp can keep.
template <class T, int n>
struct GainAndBiasOfRows {
  LayerNormBackward<T> p;

  struct Loaded {
    Pack<T, n> x, d;
    T mean, inverse;
  };
  __device__ Loaded read(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row * p.width + column;
    return {load<n>(p.x + at), load<n>(p.d_out + at), p.mean[row], p.inverse_deviation[row]};
  }
  __device__ void add(std::int64_t, std::int64_t, const Loaded& row, T (&sums)[2][n]) const {
    for (int e = 0; e < n; ++e) {
      sums[0][e] += row.d.lane[e] * ((row.x.lane[e] - row.mean) * row.inverse);
      sums[1][e] += row.d.lane[e];
    }
  }
};

/// Calls f<packs>() for as many packs of n elements as a lane has to keep of a row, or f<0>() for too many.
template <int n, class F>
void with_packs(std::int64_t width, const F& f) {
  const std::int64_t packs = divide_up(width, n * kWarp);
  if (packs <= 1) return f.template operator()<1>();
  if (packs <= 2) return f.template operator()<2>();
  if (packs <= 4) return f.template operator()<4>();
  if (packs <= kMostPacks) return f.template operator()<kMostPacks>();
  f.template operator()<0>();
}

/// Calls f<n>() for the packs that rows are read in: wide ones where they keep a warp busy.
template <class T, class F, class... Rest>
void with_pack_size(std::int64_t width, const F& f, const T* first, const Rest*... rest) {
  const bool wide = width >= kWarp * kPack<T> && whole_packs<T>(width) && starts_packs(first, rest...);
  wide ? f.template operator()<kPack<T>>() : f.template operator()<1>();
}

std::int64_t row_blocks(std::int64_t rows) { return divide_up(rows, kWarps); }

template <class T, int n, int packs>
void backward(Cuda& cuda, const LayerNormBackward<T>& p) {
  constexpr int kBlocksPerMultiprocessor = 4;
  const bool wants_sums = p.d_gain != nullptr;
  const ColumnSums<T, 2> sums{{p.d_gain, p.d_bias}};
  if (packs == 0 || !wants_sums) {
    launch(cuda, "layer_norm_backward", rows_backward<T, n, packs>, row_blocks(p.rows), kThreads, 0, p, nullptr);
    if (wants_sums) visit_and_sum<T, n>(cuda, "layer_norm_backward", p.rows, p.width, GainAndBiasOfRows<T, n>{p}, sums);
    return;
  }
  const std::int64_t most = std::int64_t{cuda.multiprocessors} * kBlocksPerMultiprocessor;
  const std::int64_t blocks = enough_blocks(min(row_blocks(p.rows), most), p.rows, kWarps);
  const auto width = static_cast<std::size_t>(p.width);
  const Buffer buffer(2 * static_cast<std::size_t>(blocks) * width * sizeof(T), Device::cuda);
  auto* partial = reinterpret_cast<T*>(buffer.data());
  launch(cuda, "layer_norm_backward", rows_backward<T, n, packs>, blocks, kThreads, kWarps * 2 * width * sizeof(T), p,
         partial);
  finish(cuda, "layer_norm_backward", blocks, p.width, partial, sums);
}

}  // namespace

template <class T>
void layer_norm_forward(Cuda& cuda, const LayerNormForward<T>& p) {
  if (p.width == 0) return;
  const auto start = [&]<int n>() {
    with_packs<n>(p.width, [&]<int packs>() {
      launch(cuda, "layer_norm", normalise_rows<T, n, packs>, row_blocks(p.rows), kThreads, 0, p);
    });
  };
  with_pack_size(p.width, start, p.x, p.residual, p.gain, p.bias, p.sum, p.out);
}

template <class T>
void layer_norm_backward(Cuda& cuda, const LayerNormBackward<T>& p) {
  if (p.width == 0) return;
  const auto start = [&]<int n>() { with_packs<n>(p.width, [&]<int packs>() { backward<T, n, packs>(cuda, p); }); };
  with_pack_size(p.width, start, p.x, p.gain, p.d_out, p.d_sum, p.d_x);
}

NPZOO_INSTANTIATE(layer_norm_forward, LayerNormForward);
NPZOO_INSTANTIATE(layer_norm_backward, LayerNormBackward);

}  // namespace npzoo
