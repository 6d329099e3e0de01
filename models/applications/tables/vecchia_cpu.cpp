#include "npzoo/engine/cpu/lane_factors.h"
#include "npzoo/engine/memory.h"
#include "npzoo/models/applications/tables/vecchia_kernel.h"

namespace npzoo {

namespace {

using namespace simd;

constexpr std::int64_t kColumns = 4;  // y, 1 and both inputs

template <class T>
Vec<T> covariance(const VecchiaWhiten<T>& p, Vec<T> dx, Vec<T> dy) {
  const Vec<T> square = dx * dx * p.metric[0] + dx * dy * (2 * p.metric[1]) + dy * dy * p.metric[2];
  const Vec<T> r = simd::sqrt(simd::max(Vec<T>{}, square)), s = r * (p.short_rate * static_cast<T>(1.7320508075688772));
  return (s + 1) * simd::exp(-s) + simd::exp(-r * p.long_rate) * p.share;
}

/// The conditionals of the lanes from `lane` on.
template <class T>
void whiten(const VecchiaWhiten<T>& p, std::int64_t group, std::int64_t lane, const LaneFactors<T>& factors) {
  const std::int64_t n = p.points;
  const T* const x = p.x + group * n * 2 * kVecchiaLanes + lane;
  const T* const y = p.y + group * n * kVecchiaLanes + lane;
  const auto at = [&](std::int64_t i, std::int64_t d) { return load(x + (2 * i + d) * kVecchiaLanes); };
  for (std::int64_t i = 0; i < n; ++i) {
    const Vec<T> own[2] = {at(i, 0), at(i, 1)};
    for (std::int64_t j = 0; j < i; ++j) factors.put(i, j, covariance(p, own[0] - at(j, 0), own[1] - at(j, 1)));
    factors.put(i, i, splat<T>(1 + p.share + p.noise));
    const Vec<T> right[kColumns] = {load(y + i * kVecchiaLanes), splat<T>(1), own[0], own[1]};
    for (std::int64_t c = 0; c < kColumns; ++c) factors.put(n + c, i, right[c]);
  }
  factors.factorise();
  for (std::int64_t c = 0; c < kColumns; ++c)
    store(p.white + (group * kColumns + c) * kVecchiaLanes + lane, factors.get(n + c, n - 1));
  store(p.log_std + group * kVecchiaLanes + lane, simd::log(factors.get(n - 1, n - 1)));
}

}  // namespace

template <class T>
void vecchia_whiten(Cpu& cpu, const VecchiaWhiten<T>& p) {
  constexpr std::int64_t kLanes = Simd<T>::kLanes;
  cpu.parallel_for(p.groups, 8, [&](std::int64_t begin, std::int64_t end) {
    Buffer work(static_cast<std::size_t>(LaneFactors<T>::work(p.points, kColumns)) * sizeof(T));
    const LaneFactors<T> factors(p.points, kColumns, reinterpret_cast<T*>(work.data()));
    for (std::int64_t group = begin; group < end; ++group)
      for (std::int64_t lane = 0; lane < kVecchiaLanes; lane += kLanes) whiten(p, group, lane, factors);
  });
}

NPZOO_INSTANTIATE(vecchia_whiten, VecchiaWhiten);

}  // namespace npzoo
