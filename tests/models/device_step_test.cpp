#include "npzoo/models/training/device_step.h"
#include "npzoo/models/training/host_step.h"

#include "npzoo/engine/cuda/transfer.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// x (B, n, D) with zeros behind, to `points` in all.
Tensor with_zeros(const Tensor& x, std::int64_t points) {
  return concat({x, Tensor::zeros(x.shape().with(1, points - x.dim(1)), x.dtype(), x.device())}, 1);
}

/// Weights (B, points): 1 for the first `real` of them.
Tensor weights(const Tensor& like, std::int64_t real, std::int64_t points) {
  const std::int64_t batch = like.dim(0);
  return concat({Tensor::full({batch, real}, 1, like.dtype(), like.device()),
                 Tensor::zeros({batch, points - real}, like.dtype(), like.device())},
                1);
}

Task padded(const Task& task, std::int64_t nc, std::int64_t nt) {
  Task t{with_zeros(task.xc, nc), with_zeros(task.yc, nc), with_zeros(task.xt, nt), with_zeros(task.yt, nt)};
  t.lengths = Tensor::full({task.xc.dim(0)}, static_cast<double>(task.xc.dim(1)), DType::int64);
  t.target_lengths = Tensor::full({task.xt.dim(0)}, static_cast<double>(task.xt.dim(1)), DType::int64);
  t.target_weights = weights(task.xt, task.xt.dim(1), nt);
  t.context_weights = weights(task.xc, task.xc.dim(1), nc);
  return t;
}

constexpr double kRate = 1e-2, kClip = 1;
// Padding sums the same float32 numbers in another order: some hundred roundings of 6e-8, which mostly cancel.
constexpr double kPaddingRounding = 1e-5;

struct Run {
  std::vector<double> losses;
  std::vector<Tensor> parameters, first_moments, second_moments;
  std::int64_t graphs = 0;
};

/// Updates on tasks of these context and target points, by DeviceStep or one kernel after the other. With an epsilon as
/// large as the largest gradient, Adam's step is continuous: with a small one it is the gradient's sign, and that of a
/// gradient whose exact value is 0 is a matter of rounding.
Run train(const ModelSpec& spec, const std::vector<std::pair<std::int64_t, std::int64_t>>& sizes, bool captured) {
  const auto model = make_model(spec, {.seed = 3});
  Optimiser optimiser({.kind = OptimiserKind::adam, .lr = kRate, .beta1 = 0.9, .beta2 = 0.999, .epsilon = kClip},
                      named_parameters(*model));
  DeviceStep step(*model, optimiser);
  BatchGradients gradients(optimiser.parameters());
  Run run;
  for (const auto& [nc, nt] : sizes) {
    const Task task = random_task(*model, {4, nc, nt}, DType::float32);
    model->begin_step(static_cast<std::int64_t>(run.losses.size()));
    const Draws draws(3, Purpose::training, run.losses.size());
    if (captured) {
      run.losses.push_back(step(task, draws, kRate, kClip));
    } else {
      run.losses.push_back(gradients.compute(*model, task, draws));
      optimiser.step(gradients.parts(), kRate, kClip);
    }
  }
  for (const auto& [name, parameter] : named_parameters(*model)) run.parameters.push_back(parameter->value.clone());
  for (const Optimiser::Moments& moments : optimiser.moments()) {
    run.first_moments.push_back(moments.first.clone());
    run.second_moments.push_back(moments.second.clone());
  }
  run.graphs = step.graphs();
  return run;
}

}  // namespace

TEST_CASE("device step: padded sizes are few, and not much larger") {
  CHECK(DeviceStep::padded(0) == 0);
  CHECK(DeviceStep::padded(1) == 16);
  CHECK(DeviceStep::padded(16) == 16);
  CHECK(DeviceStep::padded(100) == 112);
  for (std::int64_t n = 64; n < 10'000; ++n) {
    CHECK(DeviceStep::padded(n) >= n);
    CHECK(static_cast<double>(DeviceStep::padded(n)) < 1.25 * static_cast<double>(n));
    CHECK(DeviceStep::padded(DeviceStep::padded(n)) == DeviceStep::padded(n));
  }
}

TEST_CASE("device step: padding changes neither the loss of a model nor its gradients") {
  for (const ModelCase& c : small_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    double value = 0;
    const auto gradients_of_loss = [&](const Task& task) {
      return gradients(*model, [&] {
        const Tensor recorded = loss(*model, task);
        value = recorded.item();
        return recorded;
      });
    };
    for (const std::int64_t nc : {0, 1, 7}) {
      const Task task = random_task(*model, {3, nc, 5});
      const auto plain = gradients_of_loss(task);
      const double expected = value;
      for (const auto& [more_nc, more_nt] : {std::pair(nc, 16), std::pair(nc + 9, 5), std::pair(nc + 9, 16)}) {
        const auto found = gradients_of_loss(padded(task, more_nc, more_nt));
        CHECK(value == doctest::Approx(expected).epsilon(1e-12));
        CHECK(gradient_difference(found, plain) <= 1e-11);
      }
    }
  }
}

TEST_CASE("device step: captured steps equal steps kernel by kernel") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes{{7, 5}, {9, 3}, {7, 5}, {20, 5}, {3, 16}, {20, 4}};
  std::vector<ModelSpec> specs;
  for (const std::string& name : model_names()) specs.push_back(small_model(name));
  specs.push_back(wide_model("tnp-d"));
  for (const ModelSpec& spec : specs) {
    CAPTURE(spec.name);
    if (make_model(spec)->whole_batches()) continue;  // steps of theirs are made kernel by kernel
    const Run captured = train(spec, sizes, true), plain = train(spec, sizes, false);
    CHECK(captured.graphs == 2);  // the second size is captured when it comes again
    for (std::size_t i = 0; i < sizes.size(); ++i)
      CHECK(captured.losses[i] == doctest::Approx(plain.losses[i]).epsilon(kPaddingRounding));
    CHECK(gradient_difference(captured.first_moments, plain.first_moments) <= kPaddingRounding);
    CHECK(gradient_difference(captured.second_moments, plain.second_moments) <= kPaddingRounding);
    CHECK(gradient_difference(captured.parameters, plain.parameters) <= kPaddingRounding);
    const Run again = train(spec, sizes, true);
    CHECK(again.losses == captured.losses);
    CHECK(std::ranges::equal(again.parameters, captured.parameters,
                             [](const Tensor& a, const Tensor& b) { return same_bits(a, b); }));
  }
}

TEST_CASE("device step: features that are drawn anew reach a captured step") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  ModelSpec spec = small_model("tnp-kr-fast");
  spec.config["redraw_every"] = std::int64_t{2};
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes(6, {7, 5});
  const Run captured = train(spec, sizes, true), plain = train(spec, sizes, false);
  CHECK(captured.graphs == 1);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    CHECK(captured.losses[i] == doctest::Approx(plain.losses[i]).epsilon(kPaddingRounding));
}

TEST_CASE("device step: a loss that is not finite leaves the parameters as they are") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  const auto model = make_model(small_model("tnp-d"), {.seed = 3});
  Optimiser optimiser({.kind = OptimiserKind::adam, .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
                      named_parameters(*model));
  DeviceStep step(*model, optimiser);
  const Task task = random_task(*model, {4, 7, 5}, DType::float32);
  Task broken = task;
  broken.yt = Tensor::full(task.yt.shape(), kNaN);
  for (int round = 0; round < 3; ++round) {  // kernel by kernel, then captured
    std::vector<Tensor> before;
    for (const auto& [name, parameter] : named_parameters(*model)) before.push_back(parameter->value.clone());
    CHECK(std::isnan(step(broken, some_draws(), 1e-3, 1.0)));
    const auto parameters = named_parameters(*model);
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(same_bits(parameters[i].parameter->value, before[i]));
  }
  CHECK(std::isfinite(step(task, some_draws(), 1e-3, 1.0)));
}

namespace {

/// A model with another loss.
class WithLoss final : public Model {
 public:
  using Loss = std::function<Tensor(const Model& model, const Task& task, Draws& draws)>;
  WithLoss(Model& model, Loss loss) : model_(model), loss_(std::move(loss)) {}

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws,
                                             std::int64_t samples) const override {
    return model_.condition(context, draws, samples);
  }
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override {
    return model_.query(state, xt);
  }
  Tensor loss(const Task& task, Draws& draws) const override { return loss_(model_, task, draws); }
  void visit(ModuleVisitor& visitor) override { model_.visit(visitor); }
  std::optional<double> std_floor() const override { return model_.std_floor(); }
  std::int64_t dim_x() const override { return model_.dim_x(); }
  std::int64_t dim_y() const override { return model_.dim_y(); }

 private:
  Model& model_;
  Loss loss_;
};

std::vector<Tensor> copies_of_parameters(Model& model) {
  std::vector<Tensor> copies;
  for (const auto& [name, parameter] : named_parameters(model)) copies.push_back(parameter->value.clone());
  return copies;
}

bool same_parameters(Model& model, const std::vector<Tensor>& expected) {
  const std::vector<Tensor> found = copies_of_parameters(model);
  return std::ranges::equal(found, expected, [](const Tensor& a, const Tensor& b) { return same_bits(a, b); });
}

}  // namespace

TEST_CASE("device step: a gradient that is not finite leaves the parameters as they are") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  for (const double clip_norm : {0.0, 1.0}) {
    CAPTURE(clip_norm);
    const auto model = make_model(small_model("tnp-d"), {.seed = 3});
    // √(0 · w) is 0, and its gradient 0 · ∞.
    const Tensor& weight = named_parameters(*model).front().parameter->value;
    WithLoss broken(*model, [&](const Model& m, const Task& task, Draws& draws) {
      return add(m.loss(task, draws), sum(sqrt(affine(weight, 0, 0))));
    });
    Optimiser optimiser({.kind = OptimiserKind::adam, .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
                        named_parameters(*model));
    DeviceStep step(broken, optimiser);
    const Task task = random_task(*model, {4, 7, 5}, DType::float32);
    const std::vector<Tensor> before = copies_of_parameters(*model);
    for (int round = 0; round < 3; ++round) {  // kernel by kernel, then captured
      CHECK(std::isfinite(step(task, some_draws(), 1e-3, clip_norm)));
      CHECK_FALSE(std::isfinite(optimiser.gradient_norm()));
      CHECK(same_parameters(*model, before));
      CHECK(optimiser.steps() == 0);
    }
  }
}

TEST_CASE("device step: an error in a step reaches the caller, and does not affect the next step") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  const Task task = random_task(*make_model(small_model("tnp-d")), {4, 7, 5}, DType::float32);
  const auto parameters_after = [&](int failing, const std::function<void()>& failure) {
    const auto model = make_model(small_model("tnp-d"), {.seed = 3});
    int calls = 0;
    WithLoss sometimes(*model, [&](const Model& m, const Task& t, Draws& draws) {
      const Tensor loss = m.loss(t, draws);
      if (calls++ == failing) failure();
      return loss;
    });
    Optimiser optimiser({.kind = OptimiserKind::adam, .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
                        named_parameters(*model));
    DeviceStep step(sometimes, optimiser);
    std::string message = "no error";
    for (int made = 0; made < 4;) {
      try {
        step(task, some_draws(), 1e-3, 1.0);
        CHECK(optimiser.steps() == ++made);
      } catch (const Error& error) {
        message = error.what();
        CHECK(optimiser.steps() == made);
        CHECK_FALSE(gpu_runtime().capturing());
        CHECK(take_captured_uploads().empty());
      }
    }
    CHECK(step.graphs() == 1);
    return std::pair(message, copies_of_parameters(*model));
  };
  const auto undisturbed = parameters_after(-1, [] {}).second;
  const auto check_failure = [&](int failing, const char* expected, const std::function<void()>& failure) {
    const auto [message, parameters] = parameters_after(failing, failure);
    CHECK(message.find(expected) != std::string::npos);
    CHECK(
        std::ranges::equal(parameters, undisturbed, [](const Tensor& a, const Tensor& b) { return same_bits(a, b); }));
  };
  for (const int failing : {0, 1})  // kernel by kernel, captured
    check_failure(failing, "[test] no more", [] { fail("[test] no more"); });
  // Ends the capture on a device as well, which then refuses to make a graph of it.
  check_failure(1, "wait", [] { gpu_runtime().synchronise(); });
}

TEST_CASE("device step: the work beside a step may fail, and the step is made") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  const auto model = make_model(small_model("cnp"), {.seed = 3});
  Optimiser optimiser({.kind = OptimiserKind::adam, .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
                      named_parameters(*model));
  DeviceStep step(*model, optimiser);
  const Task task = random_task(*model, {4, 7, 5}, DType::float32);
  for (int made = 1; made <= 3; ++made) {
    const std::vector<Tensor> before = copies_of_parameters(*model);
    CHECK(error_of([&] { step(task, some_draws(), 1e-3, 1.0, [] { fail("[test] no data"); }); }) == "[test] no data");
    CHECK_FALSE(same_parameters(*model, before));
    CHECK(optimiser.steps() == made);
  }
}

TEST_CASE("device step: a tensor of a parameter that someone holds does not change") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  const ModelSpec spec = small_model("tnp-d");
  const auto losses = [&](bool held) {
    const auto model = make_model(spec, {.seed = 3});
    Optimiser optimiser({.kind = OptimiserKind::adam, .lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
                        named_parameters(*model));
    DeviceStep step(*model, optimiser);
    const Task task = random_task(*model, {4, 7, 5}, DType::float32);
    std::vector<double> found;
    std::vector<std::pair<Tensor, Tensor>> kept;  // tensors that are held, and copies of what they were
    for (int i = 0; i < 6; ++i) {
      if (held)
        for (const auto& [name, parameter] : named_parameters(*model))
          kept.emplace_back(parameter->value, parameter->value.clone());
      found.push_back(step(task, some_draws(), 1e-2, 1.0));
      CHECK(step.graphs() == (i == 0 ? 0 : 1));
    }
    for (const auto& [tensor, before] : kept) CHECK(same_bits(tensor, before));
    return found;
  };
  CHECK(losses(true) == losses(false));
}

TEST_CASE("device step: a captured step may not read the host's memory") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  gpu_runtime().begin_capture();
  const std::string message = error_of([] { Tensor::from<float>({2}, {1.f, 2.f}); });
  static_cast<void>(gpu_runtime().end_capture());
  CHECK(message.starts_with("[gpu] a captured step copies 8 bytes of pageable host memory"));
}

TEST_CASE("device step: a batch of another size is refused") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  const auto model = make_model(small_model("cnp"), {.seed = 3});
  Optimiser optimiser({.kind = OptimiserKind::adam, .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
                      named_parameters(*model));
  DeviceStep step(*model, optimiser);
  step(random_task(*model, {4, 7, 5}, DType::float32), some_draws(), 1e-3, 1.0);
  CHECK(error_of([&] {
          step(random_task(*model, {3, 7, 5}, DType::float32), some_draws(), 1e-3, 1.0);
        }) == "[train] a batch of 3 tasks found, expected 4 as before");
}
