#include <cmath>
#include <cstring>

#include "engine/cpu/simd.h"
#include "engine/cpu/simd_math.h"
#include "engine/gemm.h"
#include "engine/memory.h"
#include "ops/kriging/algorithm.h"

namespace npzoo {

namespace {

using simd::load_first;
using simd::splat;

constexpr int kLanes = Simd<double>::kLanes;

struct RegisterMath {
  [[gnu::always_inline]] Vec<double> exp(Vec<double> x) const { return simd::exp(x); }
};

class Working {
 public:
  explicit Working(std::int64_t count) : memory_(static_cast<std::size_t>(count) * sizeof(double)) {}
  double* data() { return reinterpret_cast<double*>(memory_.data()); }

 private:
  Buffer memory_;
};

/// a (n, n) ← L of a tile, n ≤ kTile, below and on the diagonal; by columns, which lie side by side.
void factorise_tile(std::int64_t n, double* a, std::int64_t stride) {
  constexpr std::int64_t kTile = kriging::kTile;
  double columns[kTile][kTile] = {};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j) columns[j][i] = a[i * stride + j];
  for (std::int64_t j = 0; j < n; ++j) {
    const double inverse = 1 / std::sqrt(columns[j][j]);
    for (std::int64_t i = 0; i < kTile; ++i) columns[j][i] *= inverse;
    for (std::int64_t k = j + 1; k < n; ++k) {
      const double factor = columns[j][k];
      for (std::int64_t i = 0; i < kTile; ++i) columns[k][i] -= factor * columns[j][i];
    }
  }
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j) a[i * stride + j] = columns[j][i];
}

/// inverse (n, kTile) ← L⁻¹ of a tile, zeros above the diagonal.
void invert_tile(std::int64_t n, const double* a, std::int64_t stride, double* inverse) {
  for (std::int64_t i = 0; i < n; ++i) {
    double row[kriging::kTile] = {};
    for (std::int64_t k = 0; k < i; ++k)
      for (std::int64_t j = 0; j < kriging::kTile; ++j) row[j] -= a[i * stride + k] * inverse[k * kriging::kTile + j];
    row[i] += 1;
    for (std::int64_t j = 0; j < kriging::kTile; ++j) inverse[i * kriging::kTile + j] = row[j] / a[i * stride + i];
  }
}

/// Distance, over the length scales, and product of point i of the rows and `lanes` columns from j on.
struct Pairs {
  Vec<double> distance, dot;
};
[[gnu::always_inline]] inline Pairs pairs(const KrigingKernel& kernel, const kriging::Points& rows,
                                          const kriging::Points& columns, std::int64_t i, std::int64_t j, int lanes) {
  Pairs p{};
  for (std::int64_t d = 0; d < rows.dims; ++d) {
    const double here = rows.inputs[d * rows.count + i];
    const Vec<double> there = load_first(columns.inputs + d * columns.count + j, lanes);
    const Vec<double> along = (there - here) * kernel.inverse_length[d];
    p.distance += along * along;
    p.dot += there * here;
    if (rows.dims == 1) return {simd::abs(along), p.dot};
  }
  p.distance = simd::sqrt(p.distance);
  return p;
}

template <class Cpu>
struct OneThread {
  Cpu& cpu;

  template <class F>
  void each(std::int64_t n, F f) const {
    for (std::int64_t i = 0; i < n; ++i) f(i);
  }
  template <class F>
  double sum(std::int64_t n, F f) const {
    double total = 0;
    for (std::int64_t i = 0; i < n; ++i) total += f(i);
    return total;
  }
  double log(double x) const { return simd::log(splat<double>(x))[0]; }
  double exp(double x) const { return simd::exp(splat<double>(x))[0]; }
  double sqrt(double x) const { return std::sqrt(x); }
  double cos(double x) const { return std::cos(x); }
  double sin(double x) const { return std::sin(x); }

  /// The angles of a frequency are those of the one before, turned.
  void periodogram(std::int64_t n, const double* x, const double* y, std::int64_t count, double first, double step,
                   double* power, double* work) const {
    double *const cosine = work, *const sine = work + n;
    Working turns(2 * n);
    double *const turn_cosine = turns.data(), *const turn_sine = turn_cosine + n;
    for (std::int64_t i = 0; i < n; ++i) {
      cosine[i] = std::cos(kriging::kTwoPi * first * x[i]);
      sine[i] = std::sin(kriging::kTwoPi * first * x[i]);
      turn_cosine[i] = std::cos(kriging::kTwoPi * step * x[i]);
      turn_sine[i] = std::sin(kriging::kTwoPi * step * x[i]);
    }
    for (std::int64_t f = 0; f < count; ++f) {
      Vec<double> sums[5] = {};
      for (std::int64_t i = 0; i < n; i += kLanes) {
        const int lanes = static_cast<int>(n - i < kLanes ? n - i : kLanes);
        const Vec<double> c = load_first(cosine + i, lanes), s = load_first(sine + i, lanes),
                          v = load_first(y + i, lanes), tc = load_first(turn_cosine + i, lanes),
                          ts = load_first(turn_sine + i, lanes);
        sums[0] += c * c;
        sums[1] += s * s;
        sums[2] += c * s;
        sums[3] += c * v;
        sums[4] += s * v;
        simd::store_first(cosine + i, c * tc - s * ts, lanes);
        simd::store_first(sine + i, s * tc + c * ts, lanes);
      }
      double total[5];
      for (int k = 0; k < 5; ++k) total[k] = simd::sum(sums[k]);
      power[f] = kriging::power(total[0], total[1], total[2], total[3], total[4]);
    }
  }

  void covariances(const KrigingKernel& kernel, const kriging::Points& rows, const kriging::Points& columns, bool lower,
                   double* out, std::int64_t stride) const {
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const std::int64_t end = lower ? i + 1 : columns.count;
      for (std::int64_t j = 0; j < end; j += kLanes) {
        const int lanes = static_cast<int>(end - j < kLanes ? end - j : kLanes);
        const Pairs at = pairs(kernel, rows, columns, i, j, lanes);
        const Vec<double> cosine =
            load_first(columns.cosine + j, lanes) * rows.cosine[i] + load_first(columns.sine + j, lanes) * rows.sine[i];
        simd::store_first(out + i * stride + j,
                          kriging::covariance(kernel, at.distance, cosine, at.dot, RegisterMath()), lanes);
      }
    }
  }

  void copy(std::int64_t n, const double* from, double* to) const {
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * n, from + i * n, sizeof(double) * (i + 1));
  }

  /// c (m, n) ← c − a b, where b is (k, n) or, transposed, (n, k).
  void subtract_product(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t a_row,
                        const double* b, std::int64_t b_row, std::int64_t b_col, double* c, std::int64_t c_row) const {
    if (m == 0 || k == 0) return;
    gemm_serial<double>(cpu, {m, n, k, a, a_row, 1, b, b_row, b_col, c, c_row, -1, true});
  }

  void factorise(std::int64_t n, double* a, std::int64_t stride, double* diagonals) const {
    using kriging::kTile;
    Working memory(n * kTile);
    double* const below = memory.data();
    for (std::int64_t j = 0; j < n; j += kTile) {
      const std::int64_t tile = n - j < kTile ? n - j : kTile, rest = n - j - tile;
      double* const panel = a + j * stride + j;
      subtract_product(n - j, tile, j, a + j * stride, stride, a + j * stride, 1, stride, panel, stride);
      factorise_tile(tile, panel, stride);
      double* const inverse = diagonals + j * kTile;
      invert_tile(tile, panel, stride, inverse);
      double* const under = panel + tile * stride;
      for (std::int64_t i = 0; i < rest; ++i)
        for (std::int64_t k = 0; k < tile; ++k) below[i * kTile + k] = under[i * stride + k];
      if (rest > 0) gemm_serial<double>(cpu, {rest, tile, tile, below, kTile, 1, inverse, 1, kTile, under, stride});
    }
  }

  void solve(std::int64_t n, const double* a, std::int64_t stride, const double* diagonals, std::int64_t columns,
             double* v) const {
    using kriging::kTile;
    Working memory(kTile * columns);
    double* const right = memory.data();
    for (std::int64_t j = 0; j < n; j += kTile) {
      const std::int64_t tile = n - j < kTile ? n - j : kTile;
      subtract_product(tile, columns, j, a + j * stride, stride, v, columns, 1, v + j * columns, columns);
      for (std::int64_t i = 0; i < tile * columns; ++i) right[i] = v[j * columns + i];
      gemm_serial<double>(
          cpu, {tile, columns, tile, diagonals + j * kTile, kTile, 1, right, columns, 1, v + j * columns, columns});
    }
  }
};

template <class Cpu>
OneThread(Cpu&) -> OneThread<Cpu>;

}  // namespace

template <class T, Isa isa>
void kriging_contexts(CpuContext<isa>& cpu, const KrigingContexts<T>& p) {
  cpu.parallel_for(p.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) kriging::order_context(OneThread{cpu}, p, b);
  });
}

template <class T, Isa isa>
void kriging_evidence(CpuContext<isa>& cpu, const KrigingEvidence<T>& p) {
  const std::int64_t block = p.points < kKrigingBlock ? p.points : kKrigingBlock;
  cpu.parallel_for(p.batch * p.members, 8, [&](std::int64_t begin, std::int64_t end) {
    Working work(kriging::weigh_work(block));
    for (std::int64_t i = begin; i < end; ++i)
      kriging::weigh(OneThread{cpu}, p, i / p.members, i % p.members, work.data(), i > begin && i % p.members > 0);
  });
  for (std::int64_t b = 0; b < p.batch; ++b) kriging::keep_best(p, b);
}

template <class T, Isa isa>
void kriging_moments(CpuContext<isa>& cpu, const KrigingPredict<T>& p) {
  cpu.parallel_for(p.batch * p.keep, 1, [&](std::int64_t begin, std::int64_t end) {
    Working work(kriging::predict_work(p.points));
    for (std::int64_t i = begin; i < end; ++i) kriging::predict(OneThread{cpu}, p, i / p.keep, i % p.keep, work.data());
  });
  cpu.parallel_for(p.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) kriging::average(OneThread{cpu}, p, b);
  });
}

NPZOO_INSTANTIATE(kriging_contexts, KrigingContexts);
NPZOO_INSTANTIATE(kriging_evidence, KrigingEvidence);
NPZOO_INSTANTIATE(kriging_moments, KrigingPredict);

}  // namespace npzoo
