#include <algorithm>

#include "npzoo/engine/cpu/transpose.h"
#include "npzoo/ops/circular_correlation/kernels.h"
#include "npzoo/ops/circular_correlation/lane_transform.h"

namespace npzoo {

namespace {

using namespace simd;

constexpr std::int64_t kBlocks = 8;  // of channels: enough work for another thread

/// Spectra of tasks: for each task a row of real parts and a row of imaginary parts.
template <class T>
struct Spectra {
  T* rows;
  std::int64_t size;

  T* real(std::int64_t task) const { return rows + 2 * task * size; }
  T* imaginary(std::int64_t task) const { return real(task) + size; }
};

/// Computes the sum over channels of the spectrum of q times the conjugate spectrum of k. Packs two real channels into
/// one complex series. The cross terms land in the imaginary part of the inverse transform, which `invert` drops.
template <class T>
void cross_spectrum(const LaneTransform<T>& transform, const Buffer& memory, const T* q, const T* k,
                    std::int64_t channels, std::int64_t begin, std::int64_t end, const Spectra<T>& spectra,
                    std::int64_t row) {
  constexpr std::int64_t kSeries = LaneTransform<T>::kSeries;
  auto *series = transform.array(memory, 0), *of_q = transform.array(memory, 1), *of_k = transform.array(memory, 2),
       *sums = transform.array(memory, 3);
  for (std::int64_t c = begin; c < end; c += kSeries) {
    transform.load(q + c, channels, min(kSeries, end - c), true, series);
    transform(series, of_q);
    transform.load(k + c, channels, min(kSeries, end - c), false, series);
    transform(series, of_k);
    for (std::int64_t f = 0; f < transform.size(); ++f) {
      const auto product = of_q[f] * conj(of_k[f]);
      sums[f] = c == begin ? product : sums[f] + product;
    }
  }
  for (std::int64_t f = 0; f < transform.size(); ++f) {
    spectra.real(row)[f] = sum(sums[f].re);
    spectra.imaginary(row)[f] = sum(sums[f].im);
  }
}

/// Writes the real parts of the inverse transforms, one task a lane. Exchanging real and imaginary parts before and
/// after a transform makes it the inverse.
template <class T>
void invert(Cpu& cpu, const LaneTransform<T>& plan, const Spectra<T>& spectra, std::int64_t batch, std::int64_t length,
            T* out) {
  constexpr std::int64_t kLanes = Simd<T>::kLanes;
  const std::int64_t size = plan.size();
  cpu.parallel_for(divide_up(batch, kLanes), 1, [&](std::int64_t begin, std::int64_t end) {
    const LaneTransform<T> transform = plan;
    const Buffer memory = transform.memory(2);
    auto *spectrum = transform.array(memory, 0), *series = transform.array(memory, 1);
    for (std::int64_t first = begin * kLanes; first < min(end * kLanes, batch); first += kLanes) {
      const std::int64_t tasks = min(kLanes, batch - first);
      T* const parts = reinterpret_cast<T*>(spectrum);
      const T scale = T(1) / static_cast<T>(size);
      load_transposed(spectra.imaginary(first), 2 * size, tasks, size, scale, parts, 2 * kLanes);
      load_transposed(spectra.real(first), 2 * size, tasks, size, scale, parts + kLanes, 2 * kLanes);
      transform(spectrum, series);
      store_transposed<T>(reinterpret_cast<const T*>(series) + kLanes, 2 * kLanes, tasks, length, nullptr,
                          out + first * length, length);
    }
  });
}

/// Spectra of rows (batch, length), divided by the length of the transform; a task in each lane.
template <class T>
void spectra_of(Cpu& cpu, const LaneTransform<T>& plan, const T* rows, std::int64_t batch, std::int64_t length,
                const Spectra<T>& spectra) {
  constexpr std::int64_t kLanes = Simd<T>::kLanes;
  const std::int64_t size = plan.size();
  cpu.parallel_for(divide_up(batch, kLanes), 1, [&](std::int64_t begin, std::int64_t end) {
    const LaneTransform<T> transform = plan;
    const Buffer memory = transform.memory(2);
    auto *series = transform.array(memory, 0), *spectrum = transform.array(memory, 1);
    std::fill(series, series + size, typename LaneTransform<T>::Complex());
    for (std::int64_t first = begin * kLanes; first < min(end * kLanes, batch); first += kLanes) {
      const std::int64_t tasks = min(kLanes, batch - first);
      load_transposed(rows + first * length, length, tasks, length, T(1) / static_cast<T>(size),
                      reinterpret_cast<T*>(series), 2 * kLanes);
      transform(series, spectrum);
      const T* const parts = reinterpret_cast<const T*>(spectrum);
      store_transposed<T>(parts, 2 * kLanes, tasks, size, nullptr, spectra.real(first), 2 * size);
      store_transposed<T>(parts + kLanes, 2 * kLanes, tasks, size, nullptr, spectra.imaginary(first), 2 * size);
    }
  });
}

/// One block of channels, from `first` on, of one task.
template <class T>
void delayed_sum_block(const LaneTransform<T>& transform, const Buffer& memory, const DelayedSum<T>& p,
                       const Spectra<T>& weights, std::int64_t task, std::int64_t first) {
  constexpr int kLanes = Simd<T>::kLanes;
  using Complex = typename LaneTransform<T>::Complex;
  auto *series = transform.array(memory, 0), *spectrum = transform.array(memory, 1);
  const std::int64_t columns = min<std::int64_t>(2 * kLanes, p.channels - first);
  transform.load(p.values + task * p.length * p.channels + first, p.channels, columns, true, series);
  transform(series, spectrum);
  const T *real = weights.real(task), *imaginary = weights.imaginary(task);
  for (std::int64_t f = 0; f < transform.size(); ++f) {
    const Complex product =
        spectrum[f] * Complex{splat<T>(real[f]), splat<T>(p.reversed ? imaginary[f] : -imaginary[f])};
    series[f] = {product.im, product.re};
  }
  transform(series, spectrum);
  const int left = static_cast<int>(min<std::int64_t>(columns, kLanes)), right = static_cast<int>(columns) - left;
  // Only sums over one whole period of a longer transform are needed.
  const std::int64_t period = transform.longer() && p.reversed ? p.length : 0;
  T* out = p.out + task * p.length * p.channels + first;
  for (std::int64_t t = 0; t < p.length; ++t, out += p.channels) {
    const Complex& at = spectrum[t + 1 < p.length ? t + period : t];
    store_first(out, at.im, left);
    if (right > 0) store_first(out + kLanes, at.re, right);
  }
}

}  // namespace

template <class T>
void circular_correlation_fourier(Cpu& cpu, const CircularCorrelation<T>& p) {
  if (p.batch == 0 || p.length == 0) return;
  if (p.channels == 0) {
    std::fill(p.out, p.out + p.batch * p.length, T(0));
    return;
  }
  const LaneTransform<T> plan(p.length);
  constexpr std::int64_t kSegment = kBlocks * LaneTransform<T>::kSeries;  // of channels
  const std::int64_t segments = divide_up(p.channels, kSegment), rows = 2 * plan.size();
  const Buffer memory(static_cast<std::size_t>(p.batch * segments * rows) * sizeof(T));
  const Spectra<T> spectra{reinterpret_cast<T*>(memory.data()), plan.size()};
  const std::int64_t blocks = divide_up(min(p.channels, kSegment), LaneTransform<T>::kSeries);
  cpu.parallel_for(p.batch * segments, divide_up(kBlocks, blocks), [&](std::int64_t begin, std::int64_t end) {
    const LaneTransform<T> transform = plan;
    const Buffer own = transform.memory(4);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t task = i % p.batch, first = i / p.batch * kSegment;
      const std::int64_t at = task * p.length * p.channels;
      cross_spectrum(transform, own, p.q + at, p.k + at, p.channels, first, min(first + kSegment, p.channels), spectra,
                     i);
    }
  });
  for (std::int64_t segment = 1; segment < segments; ++segment)
    for (std::int64_t i = 0; i < p.batch * rows; ++i) spectra.rows[i] += spectra.rows[segment * p.batch * rows + i];
  invert(cpu, plan, spectra, p.batch, p.length, p.out);
}

template <class T>
void delayed_sum_fourier(Cpu& cpu, const DelayedSum<T>& p) {
  if (p.batch == 0 || p.length == 0 || p.channels == 0) return;
  const LaneTransform<T> plan(p.length);
  const Buffer memory(static_cast<std::size_t>(p.batch * 2 * plan.size()) * sizeof(T));
  const Spectra<T> weights{reinterpret_cast<T*>(memory.data()), plan.size()};
  spectra_of(cpu, plan, p.weights, p.batch, p.length, weights);
  const std::int64_t blocks = divide_up(p.channels, LaneTransform<T>::kSeries);
  cpu.parallel_for(p.batch * blocks, kBlocks, [&](std::int64_t begin, std::int64_t end) {
    const LaneTransform<T> transform = plan;
    const Buffer own = transform.memory(2);
    for (std::int64_t i = begin; i < end; ++i)
      delayed_sum_block(transform, own, p, weights, i / blocks, i % blocks * LaneTransform<T>::kSeries);
  });
}

NPZOO_INSTANTIATE(circular_correlation_fourier, CircularCorrelation);
NPZOO_INSTANTIATE(delayed_sum_fourier, DelayedSum);

}  // namespace npzoo
