#include "npzoo/engine/cuda/column_sums.h"
#include "npzoo/engine/cuda/launch.h"
#include "npzoo/engine/cuda/pack.h"
#include "npzoo/ops/linear/kernels.h"

namespace npzoo {

namespace {

/// A thread keeps the weights of its n outputs and goes through its rows.
template <class T, int n>
__global__ void __launch_bounds__(kTileThreads) narrow_rows(NarrowLinear<T> p) {
  constexpr int kColumns = NarrowLinear<T>::kMaxColumns;
  const TilePlace<n> place(p.rows, p.width);
  if (place.column >= p.width) return;
  T weight[kColumns][n], bias[n];
  for (int e = 0; e < n; ++e) {
    bias[e] = p.bias ? p.bias[place.column + e] : T(0);
    for (int k = 0; k < kColumns; ++k)
      weight[k][e] = k < p.columns ? p.weight[(place.column + e) * p.columns + k] : T(0);
  }
  for (std::int64_t row = place.first; row < place.last; row += place.lanes) {
    Pack<T, n> out;
    for (int e = 0; e < n; ++e) out.lane[e] = bias[e];
    for (int k = 0; k < kColumns; ++k)
      if (k < p.columns) {
        const T x = p.x[row * p.columns + k];
        for (int e = 0; e < n; ++e) out.lane[e] += x * weight[k][e];
      }
    for (int e = 0; e < n; ++e) out.lane[e] = p.activation == Activation::relu && out.lane[e] < 0 ? T(0) : out.lane[e];
    store(p.out + row * p.width + place.column, out);
  }
}

template <class T, int n>
struct GradientOfRows {
  LinearEpilogueBackward<T> p;

  struct Loaded {
    Pack<T, n> d, out;
  };
  __device__ Loaded read(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row * p.width + column;
    Loaded loaded{load<n>(p.d_out + at), {}};
    if (p.out) loaded.out = load<n>(p.out + at);
    return loaded;
  }
  __device__ void add(std::int64_t row, std::int64_t column, Loaded loaded, T (&sums)[1][n]) const {
    if (p.out) {
      for (int e = 0; e < n; ++e) loaded.d.lane[e] = loaded.out.lane[e] <= 0 ? T(0) : loaded.d.lane[e];
      store(p.d_pre + row * p.width + column, loaded.d);
    }
    for (int e = 0; e < n; ++e) sums[0][e] += loaded.d.lane[e];
  }
};

template <class T, int n>
void epilogue_backward(Cuda& cuda, const LinearEpilogueBackward<T>& p) {
  visit_and_sum<T, n>(cuda, "linear_epilogue_backward", p.rows, p.width, GradientOfRows<T, n>{p},
                      ColumnSums<T, 1>{{p.d_bias}});
}

}  // namespace

template <class T>
void narrow_linear(Cuda& cuda, const NarrowLinear<T>& p) {
  if (p.rows == 0 || p.width == 0) return;
  const auto start = [&](auto kernel, const Grid& grid) {
    launch(cuda, "narrow_linear", kernel, grid, kTileThreads, 0, p);
  };
  if (whole_packs<T>(p.width) && starts_packs(p.out))
    start(narrow_rows<T, kPack<T>>, tile_grid<kPack<T>>(cuda, p.rows, p.width));
  else
    start(narrow_rows<T, 1>, tile_grid<1>(cuda, p.rows, p.width));
}

template <class T>
void linear_epilogue_backward(Cuda& cuda, const LinearEpilogueBackward<T>& p) {
  whole_packs<T>(p.width) && starts_packs(p.d_out, p.out, p.d_pre) ? epilogue_backward<T, kPack<T>>(cuda, p)
                                                                   : epilogue_backward<T, 1>(cuda, p);
}

NPZOO_INSTANTIATE(narrow_linear, NarrowLinear);
NPZOO_INSTANTIATE(linear_epilogue_backward, LinearEpilogueBackward);

}  // namespace npzoo
