#include "npzoo/engine/cpu/simd_math.h"
#include "npzoo/engine/memory.h"
#include "npzoo/models/applications/tables/vecchia_kernel.h"

namespace npzoo {

namespace {

using namespace simd;

constexpr std::int64_t kColumns = 4;  // y, 1 and both inputs

/// Registers that one conditional needs: the rows of L one after the other, reciprocals of its diagonal, and the
/// whitened columns.
constexpr std::int64_t registers(std::int64_t points) { return points * (points + 1) / 2 + (1 + kColumns) * points; }

template <class T>
Vec<T> covariance(const VecchiaWhiten<T>& p, Vec<T> dx, Vec<T> dy) {
  const Vec<T> square = dx * dx * p.metric[0] + dx * dy * (2 * p.metric[1]) + dy * dy * p.metric[2];
  const Vec<T> r = simd::sqrt(simd::max(Vec<T>{}, square)), s = r * (p.short_rate * static_cast<T>(1.7320508075688772));
  return (s + 1) * simd::exp(-s) + simd::exp(-r * p.long_rate) * p.share;
}

/// The conditionals of the lanes from `lane` on.
template <class T>
void whiten(const VecchiaWhiten<T>& p, std::int64_t group, std::int64_t lane, Vec<T>* work) {
  const std::int64_t n = p.points;
  const T* const x = p.x + group * n * 2 * kVecchiaLanes + lane;
  const T* const y = p.y + group * n * kVecchiaLanes + lane;
  Vec<T>*const inverse = work + n * (n + 1) / 2, *const columns = inverse + n;
  const auto at = [&](std::int64_t i, std::int64_t d) { return load(x + (2 * i + d) * kVecchiaLanes); };
  Vec<T> diagonal{};
  for (std::int64_t i = 0; i < n; ++i) {
    Vec<T>* const row = work + i * (i + 1) / 2;
    for (std::int64_t j = 0; j <= i; ++j) {
      const Vec<T>* const other = work + j * (j + 1) / 2;
      Vec<T> sum = covariance(p, at(i, 0) - at(j, 0), at(i, 1) - at(j, 1));
      if (i == j) sum += p.noise;
      for (std::int64_t k = 0; k < j; ++k) sum -= row[k] * other[k];
      row[j] = i == j ? sum : sum * inverse[j];
    }
    diagonal = row[i];
    inverse[i] = 1 / simd::sqrt(diagonal);
    const Vec<T> right[kColumns] = {load(y + i * kVecchiaLanes), splat<T>(1), at(i, 0), at(i, 1)};
    for (std::int64_t c = 0; c < kColumns; ++c) {
      Vec<T> sum = right[c];
      for (std::int64_t k = 0; k < i; ++k) sum -= row[k] * columns[c * n + k];
      columns[c * n + i] = sum * inverse[i];
    }
    row[i] = diagonal * inverse[i];
  }
  for (std::int64_t c = 0; c < kColumns; ++c)
    store(p.white + (group * kColumns + c) * kVecchiaLanes + lane, columns[c * n + n - 1]);
  store(p.log_std + group * kVecchiaLanes + lane, simd::log(diagonal) * static_cast<T>(0.5));
}

}  // namespace

template <class T>
void vecchia_whiten(Cpu& cpu, const VecchiaWhiten<T>& p) {
  constexpr std::int64_t kLanes = Simd<T>::kLanes;
  cpu.parallel_for(p.groups, 8, [&](std::int64_t begin, std::int64_t end) {
    Buffer work(static_cast<std::size_t>(registers(p.points)) * sizeof(Vec<T>));
    for (std::int64_t group = begin; group < end; ++group)
      for (std::int64_t lane = 0; lane < kVecchiaLanes; lane += kLanes)
        whiten(p, group, lane, reinterpret_cast<Vec<T>*>(work.data()));
  });
}

NPZOO_INSTANTIATE(vecchia_whiten, VecchiaWhiten);

}  // namespace npzoo
