#include <cmath>

#include "npzoo/datasets/events/event_task.h"
#include "npzoo/models/predictions/host.h"
#include "npzoo/models/predictions/next_event.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

/// Distributions of the events of a batch, on the host.
class NextEventOnHost {
 public:
  explicit NextEventOnHost(const NextEvent& each) : each_(each), model_(each.marginals()), gaps_(on_host(model_)) {
    gaps_.labels = 0;
    tasks_ = gaps_.mean.dim(1);
    targets_ = gaps_.mean.dim(2);
    log_mark_ = each.mark_log_probability().defined()
                    ? on_host(each.mark_log_probability())
                    : Tensor::zeros({tasks_, targets_, 1}, DType::float64, Device::cpu);
  }

  std::int64_t tasks() const { return tasks_; }
  std::int64_t targets_of_task() const { return targets_; }
  std::int64_t targets() const { return tasks_ * targets_; }
  Tensor of_targets(const Tensor& x) const { return reshape(x, {tasks_, targets_}); }
  Tensor expected_gap() const { return of_targets(moments(gaps_).mean); }
  /// (B, Nt, M); of events without marks one, which is certain.
  const Tensor& log_mark() const { return log_mark_; }
  /// gaps (B, Nt, 1) → (B, Nt).
  Tensor log_density(const Tensor& gaps) const { return log_likelihood(gaps_, gaps); }
  Tensor log_survival(const Tensor& gaps) const {
    return on_host(each_.log_survival(of_targets(gaps).to(model_.mean.dtype()).to(model_.mean.device())));
  }

 private:
  const NextEvent& each_;
  Marginals model_, gaps_;
  Tensor log_mark_;
  std::int64_t tasks_, targets_;
};

Tensor exponentials(const Tensor& x) {
  Tensor y = Tensor::empty_like(x);
  for (std::size_t i = 0; i < x.values<double>().size(); ++i) y.values<double>()[i] = std::exp(x.values<double>()[i]);
  return y;
}

}  // namespace

EventScores NextEvent::score(const Tensor& y) const {
  const NextEventOnHost here(*this);
  const Tensor events = on_host(y);
  npzoo::check_events(events, here.tasks(), here.targets_of_task(), here.log_mark().dim(2));
  const Tensor gaps = slice(events, 2, 0, 1), survival = here.log_survival(gaps);
  EventScores scores{here.log_density(gaps), Tensor::zeros_like(survival), here.expected_gap(),
                     exponentials(here.log_mark())};
  const auto marks = static_cast<std::size_t>(here.log_mark().dim(2));
  for (std::size_t i = 0; i < static_cast<std::size_t>(here.targets()); ++i) {
    const double mark = events.values<double>()[2 * i + 1];
    if (mark == kNoEvent)
      scores.time.values<double>()[i] = survival.values<double>()[i];
    else
      scores.mark.values<double>()[i] = here.log_mark().values<double>()[i * marks + static_cast<std::size_t>(mark)];
  }
  return scores;
}

Tensor NextEvent::intensities(const Tensor& elapsed) const {
  const NextEventOnHost here(*this);
  const Tensor at = on_host(elapsed);
  const std::int64_t times = at.dim(2), marks = here.log_mark().dim(2);
  Tensor all = Tensor::empty({at.dim(0), at.dim(1), times, marks}, DType::float64, Device::cpu);
  for (std::int64_t s = 0; s < times; ++s) {
    const Tensor gaps = slice(at, 2, s, s + 1), density = here.log_density(gaps), survival = here.log_survival(gaps);
    for (std::int64_t i = 0; i < here.targets(); ++i) {
      const auto target = static_cast<std::size_t>(i);
      const double log_hazard = density.values<double>()[target] - survival.values<double>()[target];
      for (std::int64_t k = 0; k < marks; ++k)
        all.values<double>()[static_cast<std::size_t>((i * times + s) * marks + k)] =
            std::exp(log_hazard + here.log_mark().values<double>()[static_cast<std::size_t>(i * marks + k)]);
    }
  }
  return all;
}

}  // namespace npzoo
