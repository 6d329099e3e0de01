#pragma once

#include <memory>

#include "npzoo/models/predictions/autoregressive.h"
#include "npzoo/models/predictions/independent.h"
#include "tests/models/model_fixtures.h"

// A model of forecasts whose predictions are known by hand.

namespace npzoo::testing {

struct LastValue : ContextState {
  LastValue(Tensor last, const Draws& from) : value(std::move(last)), draws(from) {}
  Tensor value;  // (B, 1, Dy)
  Draws draws;
};

inline Moments around(const Tensor& mean, double std) {
  return {mean, Tensor::full(mean.shape(), std, mean.dtype(), mean.device())};
}

/// Gaussians whose mean is the last value: of the context or, of what is autoregressive, of the targets before.
class Walk final : public Model {
 public:
  Walk(double std, bool autoregressive) : std_(std), autoregressive_(autoregressive) {}

  class Path final : public Autoregressive {
   public:
    Path(const LastValue& state, const Tensor& xt, double std)
        : Autoregressive(std::make_shared<const LastValue>(state), xt, state.draws, 20, 1), std_(std) {}

   protected:
    std::unique_ptr<Prediction> next(const ContextState& state, const Tensor&) const override {
      return std::make_unique<Independent>(around(state_as<LastValue>(state, "walk").value, std_));
    }
    std::unique_ptr<ContextState> after(const ContextState& state, const Context& observed) const override {
      return std::make_unique<LastValue>(observed.yc, state_as<LastValue>(state, "walk").draws);
    }

   private:
    double std_;
  };

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t) const override {
    REQUIRE_FALSE(context.lengths.defined());
    return std::make_unique<LastValue>(slice(context.yc, 1, context.yc.dim(1) - 1, context.yc.dim(1)), draws);
  }
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override {
    const auto& own = state_as<LastValue>(state, "walk");
    if (autoregressive_) return std::make_unique<Path>(own, xt, std_);
    return std::make_unique<Independent>(around(broadcast_to(own.value, xt.shape().with(2, 1)), std_));
  }
  void visit(ModuleVisitor&) override {}
  bool autoregressive() const { return autoregressive_; }
  std::int64_t dim_x() const override { return 1; }
  std::int64_t dim_y() const override { return 1; }

 private:
  double std_;
  bool autoregressive_;
};

}  // namespace npzoo::testing
