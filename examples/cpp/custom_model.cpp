// A neural process of one's own, trained on one's own data: every task is a sine wave of unknown phase and height.
//   c++ -std=c++20 custom_model.cpp $(pkg-config --cflags --libs npzoo)
#include <npzoo/models/blocks/mlp.h>
#include <npzoo/models/predictions/independent.h>
#include <npzoo/models/training/host_step.h>
#include <npzoo/ops/concat/concat.h>
#include <npzoo/ops/reduce/reduce.h>
#include <npzoo/ops/reshape/reshape.h>

#include <cmath>
#include <cstdio>
#include <random>

using namespace npzoo;

/// Encodes the context as the mean of its points.
struct Encoded final : ContextState {
  Tensor mean;  // (B, E)
};

class MeanProcess final : public Model {
 public:
  explicit MeanProcess(Initializer init) : encoder_({2, 64, 64}, init), decoder_({65, 64, 64, 2}, init) {}

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws&, std::int64_t) const override {
    auto state = std::make_unique<Encoded>();
    const Context points = clear_padding(context);
    state->mean = masked_mean(encoder_(concat({points.xc, points.yc}, -1)), context.lengths);
    return state;
  }
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override {
    const Tensor& mean = state_as<Encoded>(state, "mean").mean;
    const std::int64_t batch = xt.dim(0), targets = xt.dim(1), width = mean.dim(1);
    const Tensor each = broadcast_to(reshape(mean, {batch, 1, width}), {batch, targets, width});
    return std::make_unique<Independent>(
        gaussian_head(decoder_(concat({each, xt}, -1)), {StdForm::Kind::softplus, 0.05}));
  }
  void visit(ModuleVisitor& visitor) override {
    visitor("encoder", encoder_);
    visitor("decoder", decoder_);
  }
  std::int64_t dim_x() const override { return 1; }
  std::int64_t dim_y() const override { return 1; }

 private:
  Mlp encoder_, decoder_;
};

/// Draws 16 waves with `context` observed points and 20 targets each.
Task waves(std::mt19937& random, std::int64_t context) {
  std::uniform_real_distribution<float> place(-2, 2), phase(0, 6.28f), height(0.5f, 1.5f);
  std::vector<float> x, y;
  for (int task = 0; task < 16; ++task)
    for (float a = height(random), b = phase(random), i = 0; i < float(context + 20); ++i) {
      x.push_back(place(random));
      y.push_back(a * std::sin(2 * x.back() + b));
    }
  const auto xs = split(Tensor::from<float>({16, context + 20, 1}, x), 1, {context, 20});
  const auto ys = split(Tensor::from<float>({16, context + 20, 1}, y), 1, {context, 20});
  return {xs[0], ys[0], xs[1], ys[1]};
}

int main() {
  MeanProcess model(Initializer(Framework::torch, {.seed = 1}));
  Optimiser adam({.kind = OptimiserKind::adam, .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
                 named_parameters(model));
  HostStep update(model, adam);
  std::mt19937 random(1);
  for (std::uint64_t step = 0; step < 2000; ++step) {
    const double loss = update(waves(random, 3 + step % 8), {1, Purpose::training, step}, 1e-3, 0);
    if (step % 500 == 0) std::printf("step %4d  loss %6.3f\n", int(step), loss);
  }
  const Task test = waves(random, 10);
  Draws draws(1, Purpose::prediction, 0);
  const auto prediction = model.query(*model.condition({test.xc, test.yc}, draws, 1), test.xt);
  std::printf("log-likelihood of a target: %.3f nats\n", -nll(*prediction, test.yt).item());
}
