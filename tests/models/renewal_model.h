#pragma once

#include <cmath>

#include "npzoo/models/predictions/event_prediction.h"
#include "tests/models/events.h"

namespace npzoo::testing {

inline constexpr double kLogMean = -0.3, kLogStd = 0.8;  // of the logarithm of gaps

/// A model of events that knows that gaps are log-normal; marks are as likely as `mark` says.
class RenewalModel final : public Model {
 public:
  explicit RenewalModel(std::vector<double> mark) : mark_(std::move(mark)) {}

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws,
                                             std::int64_t samples) const override {
    return std::make_unique<HeldContext>(context, draws, samples);
  }
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override {
    return std::make_unique<Sequence>(*this, state, xt);
  }
  void visit(ModuleVisitor&) override {}
  std::int64_t dim_x() const override { return 1; }
  std::int64_t dim_y() const override { return 2; }

  NextEvent each(const Tensor& xt) const {
    const Shape shape{xt.dim(0), xt.dim(1), 1};
    const auto all = [&](double value) { return Tensor::full(shape, value, xt.dtype(), xt.device()); };
    std::vector<Tensor> marks;
    for (const double p : mark_) marks.push_back(all(std::log(p)));
    return NextEvent({all(0), all(kLogMean), all(kLogStd)}, concat(marks, 2));
  }

 private:
  class Sequence final : public EventPrediction {
   public:
    Sequence(const RenewalModel& model, const ContextState& state, const Tensor& xt)
        : EventPrediction(std::make_shared<const HeldContext>(state_as<HeldContext>(state, "renewal")), xt,
                          some_draws(), 1, 1),
          model_(std::make_shared<const RenewalModel>(model)),
          xt_(xt) {}

    EventScores score(const Tensor& y) const override { return model_->each(xt_).score(y); }
    Tensor intensities(const Tensor&, const Tensor& elapsed) const override {
      return model_->each(xt_).intensities(elapsed);
    }

   protected:
    std::unique_ptr<Prediction> next(const ContextState&, const Tensor& xt) const override {
      return std::make_unique<NextEvent>(model_->each(xt));
    }
    std::unique_ptr<ContextState> after(const ContextState& state, const Context& observed) const override {
      return model_->update(state, observed);
    }

   private:
    const std::shared_ptr<const RenewalModel> model_;
    Tensor xt_;
  };

  std::vector<double> mark_;
};

}  // namespace npzoo::testing
