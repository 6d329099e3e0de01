#include "npzoo/models/predictions/next_event.h"

#include <cmath>
#include <limits>
#include <vector>

#include "npzoo/datasets/events/event_task.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/predictions/components.h"
#include "npzoo/models/predictions/host.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

NextEvent::NextEvent(LogNormalMixture gap, Tensor mark_log_probability)
    : gap_(std::move(gap)), mark_(std::move(mark_log_probability)) {
  const Shape& shape = gap_.mean.shape();
  check(shape.rank() == 3 && shape[2] >= 1, "[prediction] gaps {} found, expected (B, Nt, K)", shape);
  check(gap_.std.shape() == shape && gap_.log_weight.shape() == shape,
        "[prediction] standard deviations {} and weights {} of gaps found, expected {}", gap_.std.shape(),
        gap_.log_weight.shape(), shape);
  check(!mark_.defined() ||
            (mark_.rank() == 3 && mark_.dim(0) == shape[0] && mark_.dim(1) == shape[1] && mark_.dim(2) >= 1),
        "[prediction] marks {} found, expected ({}, {}, M)", mark_.shape(), shape[0], shape[1]);
}

Marginals NextEvent::marginals() const {
  const auto each = [](const Tensor& x) { return reshape(components_first(x), {x.dim(2), x.dim(0), x.dim(1), 1}); };
  return {each(gap_.mean), each(gap_.std), components_first(gap_.log_weight), Scale::logarithmic, mark_.defined()};
}

void NextEvent::check_events(const Tensor& y) const {
  npzoo::check_events(y, gap_.mean.dim(0), gap_.mean.dim(1), mark_.defined() ? mark_.dim(2) : 0);
}

/// log P(mark) of what happened, and of an end that of any mark, which is 0. All (B, Nt, 1) but the result, (B, Nt).
Tensor NextEvent::mark_log_likelihood(const Tensor& mark, const Tensor& ends) const {
  return logsumexp(add(mark_, log(add(chosen_marks(mark, mark_.dim(2)), ends))), 2);  // all but the mark's are −∞
}

Tensor NextEvent::log_likelihood(const Tensor& y) const {
  check_events(y);
  const Tensor gaps = Prediction::log_likelihood(y);  // (B, Nt)
  if (!mark_.defined()) return gaps;
  const auto of_targets = [&](const Tensor& x) { return reshape(x, gaps.shape()); };
  const Tensor mark = slice(y, 2, 1, 2), ends = clamp(affine(mark, -1, 0), 0, 1), end = of_targets(ends);
  return add(mul(affine(end, -1, 1), add(gaps, mark_log_likelihood(mark, ends))),
             mul(end, log_survival(of_targets(slice(y, 2, 0, 1)))));
}

Tensor NextEvent::joint_log_likelihood(const Tensor& y) const {
  const NoGrad off;
  const Tensor events = on_host(y);
  check_events(events);
  Tensor each = npzoo::log_likelihood(marginals(), events);
  if (mark_.defined()) {
    const Tensor marks = on_host(mark_);
    const NextEvent here({on_host(gap_.log_weight), on_host(gap_.mean), on_host(gap_.std)});
    const Tensor survival = here.log_survival(reshape(slice(events, 2, 0, 1), each.shape()));
    const auto classes = static_cast<std::size_t>(mark_.dim(2));
    for (std::size_t i = 0; i < each.values<double>().size(); ++i) {
      const double mark = events.values<double>()[2 * i + 1];
      double& value = each.values<double>()[i];
      if (mark == kNoEvent)
        value = survival.values<double>()[i];
      else
        value += marks.values<double>()[i * classes + static_cast<std::size_t>(mark)];
    }
  }
  return sum_of_points(each);
}

Tensor NextEvent::sample(std::int64_t n, Draws& draws) const {
  const Tensor mean = on_host(gap_.mean), std = on_host(gap_.std), weight = on_host(gap_.log_weight),
               marks = mark_.defined() ? on_host(mark_) : Tensor();
  const std::int64_t tasks = mean.dim(0), events = mean.dim(1);
  const Tensor which = draws.uniform(n, tasks, {events}, DType::float64, Device::cpu),
               z = draws.normal(n, tasks, {events}, DType::float64, Device::cpu),
               kind = mark_.defined() ? draws.uniform(n, tasks, {events}, DType::float64, Device::cpu) : Tensor();
  const auto count = static_cast<std::size_t>(mean.dim(2)), width = std::size_t{1} + mark_.defined(),
             all = static_cast<std::size_t>(tasks * events);
  Tensor y = Tensor::empty({n, tasks, events, 1 + mark_.defined()}, DType::float64, Device::cpu);
  const std::span<double> values = y.values<double>();
  for (std::size_t i = 0; i < which.values<double>().size(); ++i) {
    throw_if_stopped();
    const std::size_t first = i % all * count;
    const std::size_t k = first + choose(weight.values<double>().subspan(first, count), which.values<double>()[i]);
    values[i * width] = std::exp(mean.values<double>()[k] + std.values<double>()[k] * z.values<double>()[i]);
    if (!mark_.defined()) continue;
    const auto classes = static_cast<std::size_t>(mark_.dim(2));
    values[i * width + 1] = static_cast<double>(
        choose(marks.values<double>().subspan(i % all * classes, classes), kind.values<double>()[i]));
  }
  return y;
}

Tensor NextEvent::log_survival(const Tensor& gap) const {
  const std::int64_t tasks = gap_.mean.dim(0), events = gap_.mean.dim(1);
  check(gap.shape() == Shape{tasks, events}, "[prediction] gaps {} found, expected {}", gap.shape(),
        Shape{tasks, events});
  check_gaps(gap);
  const Tensor log_gap =
      clamp(log(reshape(gap, {tasks, events, 1})), kLeastLogarithm, std::numeric_limits<double>::infinity());
  const Tensor below = div(sub(gap_.mean, log_gap), gap_.std);       // (B, Nt, K)
  return logsumexp(add(gap_.log_weight, log_normal_cdf(below)), 2);  // (B, Nt)
}

}  // namespace npzoo
