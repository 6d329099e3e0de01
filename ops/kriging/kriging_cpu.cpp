#include <cstring>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/cpu/one_thread.h"
#include "npzoo/engine/gemm.h"
#include "npzoo/engine/memory.h"
#include "npzoo/ops/kriging/context.h"
#include "npzoo/ops/kriging/lanes.h"
#include "npzoo/ops/kriging/lattice.h"
#include "npzoo/ops/kriging/moments.h"
#include "npzoo/ops/kriging/search.h"
#include "npzoo/ops/kriging/states.h"

namespace npzoo {

namespace {

using simd::load_first;
using simd::splat;

constexpr int kLanes = Simd<double>::kLanes;

struct RegisterMath {
  [[gnu::always_inline]] Vec<double> exp(Vec<double> x) const { return simd::exp(x); }
};

/// Working memory for plain T.
template <class T>
class Array {
 public:
  explicit Array(std::int64_t count) : memory_(static_cast<std::size_t>(count) * sizeof(T)) {}
  T* data() { return reinterpret_cast<T*>(memory_.data()); }

 private:
  Buffer memory_;
};
using Working = Array<double>;

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
  constexpr std::int64_t kTile = kriging::kTile;
  for (std::int64_t i = 0; i < n; ++i) {
    Vec<double> row[kTile / kLanes] = {};
    for (std::int64_t k = 0; k < i; ++k)
      for (std::int64_t r = 0; r < kTile / kLanes; ++r)
        row[r] -= simd::load(inverse + k * kTile + r * kLanes) * a[i * stride + k];
    const double reciprocal = 1 / a[i * stride + i];
    for (std::int64_t r = 0; r < kTile / kLanes; ++r)
      simd::store(inverse + i * kTile + r * kLanes, row[r] * reciprocal);
    inverse[i * kTile + i] = reciprocal;
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
struct Thread : OneThread {
  explicit Thread(Cpu& c) : cpu(c) {}

  void count(unsigned long long* counter) const { __atomic_fetch_add(counter, 1ull, __ATOMIC_RELAXED); }

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
    if (lower && covariances_of_lattice(kernel, rows, out, stride)) return;
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

  void slopes(const KrigingKernel& kernel, const kriging::Points& rows, const kriging::Points& columns,
              std::int64_t input, double* out, std::int64_t stride) const {
    const double square = kernel.inverse_length[input] * kernel.inverse_length[input];
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const double here = rows.inputs[input * rows.count + i];
      for (std::int64_t j = 0; j < columns.count; j += kLanes) {
        const int lanes = static_cast<int>(columns.count - j < kLanes ? columns.count - j : kLanes);
        const Vec<double> distance = pairs(kernel, rows, columns, i, j, lanes).distance,
                          along = load_first(columns.inputs + input * columns.count + j, lanes) - here;
        const Vec<double> c = load_first(columns.cosine + j, lanes), s = load_first(columns.sine + j, lanes);
        simd::store_first(
            out + i * stride + j,
            kriging::covariance_slope(kernel, distance, c * rows.cosine[i] + s * rows.sine[i],
                                      s * rows.cosine[i] - c * rows.sine[i], along, here, square, RegisterMath()),
            lanes);
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
      throw_if_stopped();
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
      throw_if_stopped();
      const std::int64_t tile = n - j < kTile ? n - j : kTile;
      subtract_product(tile, columns, j, a + j * stride, stride, v, columns, 1, v + j * columns, columns);
      for (std::int64_t i = 0; i < tile * columns; ++i) right[i] = v[j * columns + i];
      gemm_serial<double>(
          cpu, {tile, columns, tile, diagonals + j * kTile, kTile, 1, right, columns, 1, v + j * columns, columns});
    }
  }

  void solve_vector(std::int64_t n, const double* a, std::int64_t stride, double* v) const {
    for (std::int64_t i = 0; i < n; ++i) {
      const double* const row = a + i * stride;
      Vec<double> sum{};
      for (std::int64_t j = 0; j < i; j += kLanes) {
        const int lanes = static_cast<int>(i - j < kLanes ? i - j : kLanes);
        sum += load_first(row + j, lanes) * load_first(v + j, lanes);
      }
      v[i] = (v[i] - simd::sum(sum)) / row[i];
    }
  }

  /// Those that need more jitter are factorised again, one by one.
  void evidences(const KrigingKernel* kernels, std::int64_t count, const kriging::Points& points, const double* y,
                 double* work, double* squares, double* log_of_l) const {
    const std::int64_t n = points.count;
    std::int64_t possible[kriging::kGroup], found = 0;
    for (std::int64_t k = 0; k < count; ++k)
      if (kernels[k].log_weight != kriging::kImpossible) possible[found++] = k;
    Working memory(kriging::Lanes::work(n, 1)), matrices(kLanes * n * n);
    const kriging::Lanes lanes(n, 1, memory.data());
    for (std::int64_t begin = 0; begin < found; begin += kLanes) {
      throw_if_stopped();
      kriging::LaneKernels in_lanes;
      for (int lane = 0; lane < kLanes; ++lane)
        in_lanes.of[lane] = kernels + possible[begin + lane < found ? begin + lane : found - 1];
      covariances_of_lanes(in_lanes, points, matrices.data(), lanes);
      const kriging::LaneEvidence evidence = kriging::evidence_of(in_lanes, n, y, lanes);
      for (int lane = 0; lane < kLanes && begin + lane < found; ++lane) {
        const std::int64_t k = possible[begin + lane];
        if (evidence.last[lane] > 0) {
          squares[k] += evidence.squares[lane];
          log_of_l[k] += evidence.log_of_l[lane];
        } else {
          kriging::evidence_of_each(*this, kernels + k, 1, points, y, work, squares + k, log_of_l + k);
        }
      }
    }
  }

  void explained(std::int64_t rows, std::int64_t columns, const double* v, const double* other, const double* white,
                 double* mean, double* product) const {
    for (std::int64_t c = 0; c < columns; c += kLanes) {
      const int lanes = static_cast<int>(columns - c < kLanes ? columns - c : kLanes);
      Vec<double> of_mean{}, of_product{};
      for (std::int64_t i = 0; i < rows; ++i) {
        const Vec<double> at = load_first(v + i * columns + c, lanes);
        of_mean += at * white[i];
        of_product += at * load_first(other + i * columns + c, lanes);
      }
      simd::store_first(mean + c, of_mean, lanes);
      simd::store_first(product + c, of_product, lanes);
    }
  }

 private:
  /// Does nothing and returns false if the places are not regular.
  bool covariances_of_lattice(const KrigingKernel& kernel, const kriging::Points& places, double* out,
                              std::int64_t stride) const {
    Array<std::int64_t> at(places.count);
    const kriging::Lattice lattice = kriging::lattice_of(places, at.data());
    if (lattice.lags == 0) return false;
    Working table(lattice.lags);
    kriging::lag_covariances(kernel, lattice, table.data(), RegisterMath());
    kriging::spread_lags(kernel, places, lattice, at.data(), table.data(), out, stride);
    return true;
  }

  /// Writes the covariances of each lane's kernel. `work` has n² doubles for each.
  void covariances_of_lanes(const kriging::LaneKernels& kernels, const kriging::Points& points, double* work,
                            const kriging::Lanes& out) const {
    const std::int64_t n = points.count;
    Array<std::int64_t> at(n);
    if (const kriging::Lattice lattice = kriging::lattice_of(points, at.data()); lattice.lags > 0) {
      Working table(lattice.lags * (1 + kLanes));
      return kriging::fill_lanes(kernels, points, lattice, at.data(), table.data(), out, RegisterMath());
    }
    const double* matrices[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      const KrigingKernel &kernel = *kernels.of[lane], &before = *kernels.of[lane > 0 ? lane - 1 : 0];
      if (lane > 0 && kriging::same_without_noise(kernel, before)) {
        matrices[lane] = matrices[lane - 1];
        continue;
      }
      if (lane == 0 || kernel.period != before.period) kriging::set_phases(*this, points, kernel.period);
      covariances(kernel, points, points, true, work + lane * n * n, n);
      matrices[lane] = work + lane * n * n;
    }
    kriging::fill_lanes(n, matrices, out);
  }

  Cpu& cpu;
};

}  // namespace

template <class T>
void kriging_contexts(Cpu& cpu, const KrigingContexts<T>& p) {
  cpu.parallel_for(p.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) kriging::order_context(Thread(cpu), p, b);
  });
}

template <class T>
void kriging_weigh(Cpu& cpu, const KrigingWeigh<T>& p) {
  const std::int64_t block = p.points < p.block ? p.points : p.block;
  const std::int64_t groups = kriging::groups(p.count);
  cpu.parallel_for(p.batch * groups, 1, [&](std::int64_t begin, std::int64_t end) {
    Working work(kriging::weigh_work(block));
    for (std::int64_t i = begin; i < end; ++i) kriging::weigh(Thread(cpu), p, i / groups, i % groups, work.data());
  });
}

template <class T>
void kriging_keep(Cpu&, const KrigingKeep<T>& p) {
  for (std::int64_t b = 0; b < p.batch; ++b) kriging::keep_best(p, b);
}

/// Predicts with one kernel, unless its weight is 0.
template <class T>
void predict_one(Cpu& cpu, const KrigingPredict<T>& p, std::int64_t b, std::int64_t s) {
  const Thread team(cpu);
  const KrigingKernel* const kernels = p.kernels + b * p.keep;
  if (!(kriging::weight(team, kernels[s], kernels[0]) > 0)) return;
  if (kriging::have_states(kernels[s], p.dims) && !p.slopes) {
    const std::int64_t visits = p.points + (p.x ? p.targets : 0);
    Array<kriging::Visit> along(visits);
    Array<kriging::Step> steps(visits);
    if (kriging::predict_by_states(p, b, s, along.data(), steps.data())) return;
  }
  Working work(kriging::predict_work(p.points, p.slopes != nullptr));
  kriging::predict(team, p, b, s, work.data());
}

template <class T>
void kriging_moments(Cpu& cpu, const KrigingPredict<T>& p) {
  cpu.parallel_for(p.batch * p.keep, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) predict_one(cpu, p, i / p.keep, i % p.keep);
  });
  cpu.parallel_for(p.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) kriging::average(Thread(cpu), p, b);
  });
}

template <class T>
void kriging_backward(Cpu& cpu, const KrigingBackward<T>& p) {
  cpu.parallel_for(p.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) kriging::backward(Thread(cpu), p, b);
  });
}

NPZOO_INSTANTIATE(kriging_contexts, KrigingContexts);
NPZOO_INSTANTIATE(kriging_weigh, KrigingWeigh);
NPZOO_INSTANTIATE(kriging_keep, KrigingKeep);
NPZOO_INSTANTIATE(kriging_moments, KrigingPredict);
NPZOO_INSTANTIATE(kriging_backward, KrigingBackward);

}  // namespace npzoo
