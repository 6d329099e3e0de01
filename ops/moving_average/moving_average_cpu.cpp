#include "npzoo/engine/cpu/lanes.h"
#include "npzoo/ops/moving_average/kernels.h"

namespace npzoo {

namespace {

/// Averages of `registers` registers of columns of one series, the last register of `left` columns in all. A window is
/// the end of a block of as many positions as it has, and the beginning of the next one: three additions for each
/// position, whatever the reach (van Herk, "A fast algorithm for local minimum and maximum filters on rectangular and
/// octagonal kernels", Pattern Recognition Letters 1992). Nothing is subtracted.
template <class T, int registers>
class ColumnAverages {
 public:
  ColumnAverages(const MovingAverage<T>& p, const T* x, std::int64_t left, T* y) : p_(p), x_(x), y_(y), left_(left) {}

  void run() const {
    const std::int64_t window = 2 * p_.reach + 1;
    const auto divisor = static_cast<T>(window);
    for (std::int64_t begin = 0; begin < p_.length; begin += window) {
      const std::int64_t end = simd::min(begin + window, p_.length);
      Registers sum{};
      for (std::int64_t t = begin + window - 1; t >= begin; --t) {
        add(t - p_.reach, sum);
        if (t < end) put(t, sum);
      }
      sum = Registers{};
      for (std::int64_t t = begin; t < end; ++t) {
        Registers whole = sum;
        for (int r = 0; r < registers; ++r) whole.x[r] = (whole.x[r] + load(y_, t, r)) / divisor;
        put(t, whole);
        add(t + p_.reach + 1, sum);
      }
    }
    if (p_.transposed) put_ends(divisor);
  }

 private:
  struct Registers {
    Vec<T> x[registers];
  };

  Vec<T> load(const T* from, std::int64_t t, int r) const {
    constexpr std::int64_t kLanes = Simd<T>::kLanes;
    return simd::load_up_to(from + t * p_.width + r * kLanes, left_ - r * kLanes);
  }
  void put(std::int64_t t, const Registers& from) const {
    constexpr std::int64_t kLanes = Simd<T>::kLanes;
    for (int r = 0; r < registers; ++r)
      simd::store_up_to(y_ + t * p_.width + r * kLanes, from.x[r], left_ - r * kLanes);
  }
  /// The ends are repeated, or, of the transpose, followed by zeros.
  void add(std::int64_t s, Registers& sum) const {
    if (p_.transposed && (s < 0 || s >= p_.length)) return;
    const std::int64_t t = simd::max(std::int64_t{0}, simd::min(p_.length - 1, s));
    for (int r = 0; r < registers; ++r) sum.x[r] += load(x_, t, r);
  }
  /// Writes the ends of the transpose, which were met as often as they were repeated.
  void put_ends(T divisor) const {
    for (const std::int64_t s : {std::int64_t{0}, p_.length - 1}) {
      Registers sum{};
      for (std::int64_t t = simd::max(std::int64_t{0}, s - p_.reach); t <= simd::min(p_.length - 1, s + p_.reach); ++t)
        for (int r = 0; r < registers; ++r)
          sum.x[r] += static_cast<T>(times_met(t, s, p_.length, p_.reach)) * load(x_, t, r);
      for (int r = 0; r < registers; ++r) sum.x[r] = sum.x[r] / divisor;
      put(s, sum);
    }
  }

  const MovingAverage<T>& p_;
  const T* x_;
  T* y_;
  std::int64_t left_;
};

}  // namespace

template <class T>
void moving_average_forward(Cpu& cpu, const MovingAverage<T>& p) {
  constexpr int kRegisters = 4;
  constexpr std::int64_t kLanes = Simd<T>::kLanes, kWide = kRegisters * kLanes;
  const std::int64_t parts = (p.width + kWide - 1) / kWide;
  cpu.parallel_for(p.batch * parts, 1 + 1024 / (1 + p.length), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      const std::int64_t of_series = part / parts * p.length * p.width;
      std::int64_t i = part % parts * kWide;
      const std::int64_t last = simd::min(i + kWide, p.width);
      if (last - i == kWide) {
        ColumnAverages<T, kRegisters>(p, p.x + of_series + i, kWide, p.y + of_series + i).run();
        continue;
      }
      for (; i < last; i += kLanes) ColumnAverages<T, 1>(p, p.x + of_series + i, last - i, p.y + of_series + i).run();
    }
  });
}

NPZOO_INSTANTIATE(moving_average_forward, MovingAverage);

}  // namespace npzoo
