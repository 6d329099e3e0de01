#pragma once

#include "models/prediction.h"

namespace npzoo {

/// 1 at the mark, else 0; of a mark below 0 all 0. mark (B, N, 1) → (B, N, count), on any device.
Tensor chosen_marks(const Tensor& mark, std::int64_t count);

/// K log-normal distributions: Gaussians of the logarithm. All are (B, Nt, K).
struct LogNormalMixture {
  Tensor log_weight;  // logarithms of what adds up to 1 over K, as log_softmax gives
  Tensor mean, std;   // of the logarithm
};

/// What comes next after each of the events of a sequence: how long it takes, the gap, and what kind of event it is,
/// its mark, which do not depend on each other (Shchur, Biloš and Günnemann, "Intensity-free learning of temporal point
/// processes", ICLR 2020, sections 3.1 and 3.2).
///
/// y is (B, Nt, 1), gaps since the event before, or with marks (B, Nt, 2): behind the gap a number in 0 … M − 1,
/// exactly. Each gap is given what came before it, so the density of a sequence is the product over its events.
/// Marginals are of the gap alone; the mark is a label. A gap of 0 has density 0; for what is recorded see
/// kLeastLogarithm. Where events have marks, mark −1 is an end (kNoEvent in datasets/events/source.h): its density is
/// the probability that nothing happens for its gap.
class NextEvent final : public Prediction {
 public:
  /// mark_log_probability (B, Nt, M), as log_softmax gives, where events have marks. Throws Error for other shapes.
  explicit NextEvent(LogNormalMixture gap, Tensor mark_log_probability = {});

  Marginals marginals() const override;
  /// log p(gap) + log P(mark), of an end log_survival. Throws Error for a gap below 0 and a mark that there is not. Of
  /// y on another device than the CPU, which nothing waits for, these are NaN and −∞ instead, and any mark below 0 an
  /// end.
  Tensor log_likelihood(const Tensor& y) const override;
  /// The sum over a task's events and its end.
  Tensor joint_log_likelihood(const Tensor& y) const override;
  Tensor sample(std::int64_t n, Draws& draws) const override;

  /// log P(nothing happens for `gap`), (B, Nt) → (B, Nt), nats. In the model's dtype, recorded where a recording is on.
  /// Throws Error for a gap below 0, as log_likelihood does.
  Tensor log_survival(const Tensor& gap) const;
  const LogNormalMixture& gap() const { return gap_; }
  /// (B, Nt, M); undefined where there are no marks.
  const Tensor& mark_log_probability() const { return mark_; }

 private:
  void check_events(const Tensor& y) const;
  Tensor mark_log_likelihood(const Tensor& mark, const Tensor& ends) const;

  LogNormalMixture gap_;
  Tensor mark_;
};

}  // namespace npzoo
