#include "npzoo/models/predictions/intensity_event.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "npzoo/datasets/events/event_task.h"
#include "npzoo/datasets/gaussian_processes/quadrature.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/predictions/components.h"
#include "npzoo/models/predictions/host.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

constexpr int kNodes = 24, kQuantiles = 32;

/// On [0, 1].
struct UnitRule {
  std::vector<double> nodes, weights;
};

const UnitRule& unit_rule() {
  static const UnitRule rule = [] {
    const GaussLegendre on_both_sides = gauss_legendre(kNodes);
    UnitRule all;
    for (int i = 0; i < kNodes; ++i) {
      all.nodes.push_back((1 + on_both_sides.nodes[static_cast<std::size_t>(i)]) / 2);
      all.weights.push_back(on_both_sides.weights[static_cast<std::size_t>(i)] / 2);
    }
    return all;
  }();
  return rule;
}

double softplus_of(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

/// The intensities after one event, in double.
class HostIntensities {
 public:
  HostIntensities(std::span<const double> levels, double slope, double sharpness)
      : levels_(levels), top_(std::ranges::max(levels)), slope_(slope), sharpness_(sharpness) {}

  double of_mark(std::size_t mark, double elapsed) const {
    return kLeastIntensity + softplus_of(sharpness_ * (levels_[mark] + slope_ * elapsed)) / sharpness_;
  }
  double total(double elapsed) const {
    double sum = 0;
    for (std::size_t k = 0; k < levels_.size(); ++k) sum += of_mark(k, elapsed);
    return sum;
  }
  double integral(double from, double to) const {
    double sum = 0;
    for (std::size_t i = 0; i < kNodes; ++i)
      sum += unit_rule().weights[i] * total(from + (to - from) * unit_rule().nodes[i]);
    return sum * (to - from);
  }
  /// Returns the times at which the integral from 0 on reaches each of ascending `targets`.
  std::vector<double> gaps_at(std::span<const double> targets) const;

 private:
  std::span<const double> levels_;
  double top_, slope_, sharpness_;
};

/// All intensities together on [from, from + width]: the polynomial through the rule's nodes, by its Legendre
/// coefficients, so that what it costs to look at does not depend on the number of marks.
class RatePolynomial {
 public:
  RatePolynomial(const HostIntensities& all, double from, double width) : width_(width), coefficients_(kNodes) {
    for (std::size_t i = 0; i < kNodes; ++i) {
      const double x = unit_rule().nodes[i], weighted = unit_rule().weights[i] * all.total(from + width * x);
      for_legendre(x, [&](std::size_t n, double value, double) {
        coefficients_[n] += (2 * static_cast<double>(n) + 1) * weighted * value;
      });
    }
  }

  struct Point {
    double rate = 0, integral = 0;  // from the start on
  };
  Point at(double x) const {
    Point point;
    for_legendre(x, [&](std::size_t n, double value, double integral) {
      point.rate += coefficients_[n] * value;
      point.integral += coefficients_[n] * integral * width_;
    });
    return point;
  }
  /// The share of the interval at which the integral is `target`, between 0 and that of all of it.
  double share_at(double target) const {
    double low = 0, high = 1, x = 0.5;
    for (int step = 0; step < 100; ++step) {
      const Point here = at(x);
      const double lacking = target - here.integral;
      (lacking > 0 ? low : high) = x;
      double next = x + lacking / (here.rate * width_);
      if (!(next > low && next < high)) next = (low + high) / 2;
      if (std::abs(next - x) <= 1e-15) return next;
      x = next;
    }
    return x;
  }

 private:
  /// visit(n, Legendre polynomial n at x of [0, 1], its integral from 0 to x), n < kNodes.
  template <class F>
  static void for_legendre(double x, const F& visit) {
    const double z = 2 * x - 1;
    double before = 1, here = 1, next = z;  // of n = −1, 0 and 1, the first by its own rule
    for (std::size_t n = 0; n < kNodes; ++n) {
      const auto degree = static_cast<double>(n);
      visit(n, here, n == 0 ? x : (next - before) / (2 * (2 * degree + 1)));
      before = here;
      here = next;
      next = ((2 * degree + 3) * z * here - (degree + 1) * before) / (degree + 2);
    }
  }

  double width_;
  std::vector<double> coefficients_;
};

std::vector<double> HostIntensities::gaps_at(std::span<const double> targets) const {
  constexpr double kGone = -45;  // of softplus, beside kLeastIntensity nothing
  std::vector<double> gaps;
  double from = 0, done = 0, width = targets.back() / total(0);
  check(std::isfinite(width) && width > 0,
        "[events] an intensity is {}, expected a finite number > 0: times or gaps are too large for the model",
        total(0));
  const double widest = 4 / (sharpness_ * std::abs(slope_));  // where the rule is exact; ∞ for intensities that stay
  while (gaps.size() < targets.size()) {
    if (slope_ < 0 && sharpness_ * (top_ + slope_ * from) < kGone) {
      gaps.push_back(from + (targets[gaps.size()] - done) / total(from));
      continue;
    }
    width = std::min(width, widest);
    const RatePolynomial here(*this, from, width);
    const double more = here.at(1).integral;
    check(more > 0, "[events] an integral of intensities is {}, expected a number > 0", more);
    while (gaps.size() < targets.size() && targets[gaps.size()] <= done + more)
      gaps.push_back(from + width * here.share_at(targets[gaps.size()] - done));
    done += more;
    from += width;
    width *= 2;
  }
  return gaps;
}

/// Intensities of all events of a batch.
class IntensitiesOnHost {
 public:
  explicit IntensitiesOnHost(const MarkIntensities& all)
      : levels_(on_host(all.level)), slopes_(on_host(all.slope)), sharpness_(on_host(all.sharpness).item()) {}

  std::size_t events() const { return static_cast<std::size_t>(slopes_.numel()); }
  std::size_t marks() const { return static_cast<std::size_t>(levels_.dim(2)); }
  HostIntensities operator[](std::size_t i) const {
    return {std::as_const(levels_).values<double>().subspan(i * marks(), marks()),
            std::as_const(slopes_).values<double>()[i], sharpness_};
  }

 private:
  Tensor levels_, slopes_;
  double sharpness_;
};

}  // namespace

IntensityEvent::IntensityEvent(MarkIntensities intensities, Tensor expected_gap, Tensor mark_log_probability)
    : intensities_(std::move(intensities)),
      expected_gap_(std::move(expected_gap)),
      mark_(std::move(mark_log_probability)) {
  const Shape& shape = intensities_.level.shape();
  check(shape.rank() == 3 && shape[2] >= 1, "[prediction] levels of intensities {} found, expected (B, Nt, M)", shape);
  const Shape targets{shape[0], shape[1]}, slopes{shape[0], shape[1], 1};
  check(intensities_.slope.shape() == slopes && intensities_.sharpness.numel() == 1,
        "[prediction] slopes {} and sharpness {} of intensities found, expected {} and one number",
        intensities_.slope.shape(), intensities_.sharpness.shape(), slopes);
  check(expected_gap_.shape() == targets && mark_.shape() == shape,
        "[prediction] expected gaps {} and marks {} found, expected {} and {}", expected_gap_.shape(), mark_.shape(),
        targets, shape);
}

Tensor IntensityEvent::at(const Tensor& elapsed) const {
  const std::int64_t tasks = elapsed.dim(0), events = elapsed.dim(1), times = elapsed.dim(2),
                     marks = intensities_.level.dim(2);
  const Tensor moved =
                   mul(reshape(intensities_.slope, {tasks, events, 1, 1}), reshape(elapsed, {tasks, events, times, 1})),
               level = add(reshape(intensities_.level, {tasks, events, 1, marks}), moved);
  return affine(div(softplus(mul(level, intensities_.sharpness)), intensities_.sharpness), 1, kLeastIntensity);
}

Tensor IntensityEvent::compensator(const Tensor& gap) const {
  const Tensor nodes = row_of_constants(unit_rule().nodes, gap), weights = row_of_constants(unit_rule().weights, gap);
  const Tensor total = sum(at(mul(reshape(gap, {gap.dim(0), gap.dim(1), 1}), nodes)), 3);  // (B, Nt, S)
  return mul(gap, sum(mul(total, weights), 2));
}

void IntensityEvent::check_events(const Tensor& y) const {
  npzoo::check_events(y, mark_.dim(0), mark_.dim(1), mark_.dim(2));
}

Tensor IntensityEvent::log_likelihood(const Tensor& y) const {
  check_events(y);
  const std::int64_t tasks = y.dim(0), events = y.dim(1);
  const Tensor gap = slice(y, 2, 0, 1), mark = slice(y, 2, 1, 2), ends = clamp(affine(mark, -1, 0), 0, 1);
  const Tensor here = reshape(at(gap), mark_.shape()),
               own = sum(mul(add(chosen_marks(mark, mark_.dim(2)), ends), here), 2);  // of an end that of any mark
  return sub(mul(affine(reshape(ends, {tasks, events}), -1, 1), log(own)), compensator(reshape(gap, {tasks, events})));
}

Tensor IntensityEvent::joint_log_likelihood(const Tensor& y) const {
  const NoGrad off;
  const Tensor events = on_host(y);
  check_events(events);
  const EventScores each = score(events);
  return sum_of_points(add(each.time, each.mark));
}

EventScores IntensityEvent::score(const Tensor& y) const {
  const NoGrad off;
  const Tensor events = on_host(y);
  check_events(events);
  const IntensitiesOnHost all(intensities_);
  const Shape targets{y.dim(0), y.dim(1)};
  EventScores scores{Tensor::zeros(targets, DType::float64, Device::cpu),
                     Tensor::zeros(targets, DType::float64, Device::cpu), on_host(expected_gap_), exp(on_host(mark_))};
  for (std::size_t i = 0; i < all.events(); ++i) {
    const double gap = events.values<double>()[2 * i], mark = events.values<double>()[2 * i + 1];
    double& time = scores.time.values<double>()[i];
    time = -all[i].integral(0, gap);
    if (mark == kNoEvent) continue;
    const double log_total = std::log(all[i].total(gap));
    time += log_total;
    scores.mark.values<double>()[i] = std::log(all[i].of_mark(static_cast<std::size_t>(mark), gap)) - log_total;
  }
  return scores;
}

Tensor IntensityEvent::intensities(const Tensor& elapsed) const {
  const Tensor times = on_host(elapsed);
  const IntensitiesOnHost all(intensities_);
  const auto count = static_cast<std::size_t>(times.dim(2));
  Tensor found = Tensor::empty({times.dim(0), times.dim(1), times.dim(2), static_cast<std::int64_t>(all.marks())},
                               DType::float64, Device::cpu);
  for (std::size_t i = 0; i < all.events(); ++i)
    for (std::size_t s = i * count; s < (i + 1) * count; ++s)
      for (std::size_t k = 0; k < all.marks(); ++k)
        found.values<double>()[s * all.marks() + k] = all[i].of_mark(k, times.values<double>()[s]);
  return found;
}

/// Each quantile stands for as much of the logarithm as lies halfway between its neighbours.
Marginals IntensityEvent::marginals() const {
  const NoGrad off;
  const IntensitiesOnHost all(intensities_);
  const Shape shape{kQuantiles, mark_.dim(0), mark_.dim(1), 1};
  Tensor mean = Tensor::empty(shape, DType::float64, Device::cpu), std = Tensor::empty_like(mean);
  const std::size_t events = all.events();
  std::vector<double> targets;
  for (int j = 0; j < kQuantiles; ++j) targets.push_back(-std::log1p(-(j + 0.5) / kQuantiles));
  for (std::size_t i = 0; i < events; ++i) {
    throw_if_stopped();
    const auto at = [&](std::size_t j) -> double& { return mean.values<double>()[j * events + i]; };
    const std::vector<double> gaps = all[i].gaps_at(targets);
    for (std::size_t j = 0; j < kQuantiles; ++j) at(j) = std::log(gaps[j]);
    for (std::size_t j = 0; j < kQuantiles; ++j) {
      const std::size_t before = j == 0 ? 0 : j - 1, behind = std::min<std::size_t>(j + 1, kQuantiles - 1);
      std.values<double>()[j * events + i] = (at(behind) - at(before)) / static_cast<double>(behind - before) / 2;
    }
  }
  const Tensor& like = intensities_.level;
  return {mean.to(like.dtype()).to(like.device()), std.to(like.dtype()).to(like.device()), {}, Scale::logarithmic, 1};
}

Tensor IntensityEvent::sample(std::int64_t n, Draws& draws) const {
  const IntensitiesOnHost all(intensities_);
  const std::int64_t tasks = mark_.dim(0), events = mark_.dim(1);
  const Tensor when = draws.uniform(n, tasks, {events}, DType::float64, Device::cpu),
               which = draws.uniform(n, tasks, {events}, DType::float64, Device::cpu);
  Tensor y = Tensor::empty({n, tasks, events, 2}, DType::float64, Device::cpu);
  std::vector<double> log_rates(all.marks());
  for (std::size_t i = 0; i < when.values<double>().size(); ++i) {
    throw_if_stopped();
    const HostIntensities here = all[i % all.events()];
    const double gap = here.gaps_at(std::vector{-std::log1p(-when.values<double>()[i])}).front();
    for (std::size_t k = 0; k < log_rates.size(); ++k) log_rates[k] = std::log(here.of_mark(k, gap));
    y.values<double>()[2 * i] = gap;
    y.values<double>()[2 * i + 1] = static_cast<double>(choose(log_rates, which.values<double>()[i]));
  }
  return y;
}

DensityForms IntensityEvent::forms() const { return {.marginal = "32 quantiles", .joint = "exact"}; }

}  // namespace npzoo
