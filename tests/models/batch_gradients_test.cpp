#include "npzoo/models/training/batch_gradients.h"

#include "npzoo/engine/fill.h"
#include "npzoo/engine/measure/flops.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

struct Result {
  double loss = 0;
  std::vector<Tensor> gradients;
  std::size_t parts = 0;
};

Result in_parts(Model& model, const Task& task) {
  BatchGradients batch(named_parameters(model));
  Result result{batch.compute(model, task, some_draws()), {}, batch.parts().size()};
  for (const auto& [name, parameter] : named_parameters(model)) {
    Tensor sum = Tensor::zeros_like(parameter->value);
    for (const Grads* part : batch.parts()) add_into(sum, part->of(parameter->value));
    result.gradients.push_back(sum);
  }
  return result;
}

/// The first task of a batch, `batch` times.
Task repeated(const Task& task, std::int64_t batch) {
  const auto rows = [batch](const Tensor& x) { return concat(std::vector<Tensor>(batch, slice(x, 0, 0, 1)), 0); };
  return {rows(task.xc), rows(task.yc), rows(task.xt), rows(task.yt)};
}

/// Contexts of these lengths, and weights by which losses know what is real.
void make_ragged(Task& task, const std::vector<std::int64_t>& lengths) {
  const std::int64_t batch = task.xc.dim(0), nc = task.xc.dim(1);
  task.lengths = Tensor::from<std::int64_t>({batch}, lengths);
  task.context_weights = Tensor::zeros({batch, nc}, task.xc.dtype(), Device::cpu);
  for (std::int64_t b = 0; b < batch; ++b)
    std::fill_n(task.context_weights.data<double>() + b * nc, lengths[static_cast<std::size_t>(b)], 1.0);
  task.target_weights = Tensor::full({batch, task.xt.dim(1)}, 1, task.xt.dtype(), Device::cpu);
}

}  // namespace

TEST_CASE("batch gradients: of every model the parts add up to the gradient of the whole batch") {
  const OnCpu cpu;
  for (const ModelCase& c : small_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    Task task = random_task(*model, {6, 7, 5});
    for (const bool ragged : {false, true}) {
      if (ragged) make_ragged(task, {7, 0, 3, 7, 1, 5});
      const auto expected = gradients(*model, [&] { return loss(*model, task); });
      const Result found = in_parts(*model, task);
      CHECK(found.parts == (model->whole_batches() ? 1 : 4));
      CHECK(found.loss == doctest::Approx(loss(*model, task).item()).epsilon(1e-12));
      CHECK(gradient_difference(found.gradients, expected) <= 1e-11);
    }
  }
}

TEST_CASE("loss: padding does not count, whether weights say so or lengths alone") {
  const OnCpu cpu;
  for (const ModelCase& c : small_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    Task task = random_task(*model, {6, 7, 5});
    make_ragged(task, {7, 0, 3, 7, 1, 5});
    const double expected = loss(*model, task).item();
    task.context_weights = task.target_weights = Tensor();
    CHECK(loss(*model, task).item() == doctest::Approx(expected).epsilon(1e-13));
  }
}

TEST_CASE("batch gradients: parts depend on the extents alone") {
  const OnCpu cpu;
  const TrainingRun run = small_run();
  const auto model = make_model(run.spec, {.seed = run.seed});
  const Task task = run.protocol.data->source({4, 1, Split::training})->task(0);
  const auto parts = [&](std::int64_t batch) { return in_parts(*model, repeated(task, batch)).parts; };
  CHECK(parts(1) == 1);
  CHECK(parts(3) == 3);
  CHECK(parts(4) == 4);
  CHECK(parts(16) == 4);
  const std::int64_t points = task.xc.dim(1) + task.xt.dim(1), many = 4 * 640 / points + 1;
  CHECK(parts(many - 1) == 4);
  CHECK(parts(many) == 8);
  for (int threads : {1, 3}) {
    const ThreadCount count(threads);
    CHECK(parts(16) == 4);
  }
}

TEST_CASE("batch gradients: the work beside runs once, and exceptions of any part reach the caller") {
  const OnCpu cpu;
  const TrainingRun run = small_run();
  const auto model = make_model(run.spec, {.seed = run.seed});
  const Task task = run.protocol.data->source({4, 1, Split::training})->task(0);
  BatchGradients gradients(named_parameters(*model));
  for (int threads : {1, 2, 3}) {
    const ThreadCount count(threads);
    int calls = 0;
    const double loss = gradients.compute(*model, task, some_draws(), [&calls] { ++calls; });
    CHECK(calls == 1);
    CHECK(error_of([&] { gradients.compute(*model, task, some_draws(), [] { fail("[beside] bad"); }); }) ==
          "[beside] bad");
    Task bad = task;
    bad.yt = Tensor::zeros({4, 1, 1});
    CHECK(error_of([&] { gradients.compute(*model, bad, some_draws()); }).starts_with("[gaussian_log_density]"));
    CHECK(gradients.compute(*model, task, some_draws()) == loss);
  }
}

TEST_CASE("batch gradients: a profile counts the parts together") {
  const OnCpu cpu;
  const TrainingRun run = small_run();
  const auto model = make_model(run.spec, {.seed = run.seed});
  const Task task = run.protocol.data->source({4, 1, Split::training})->task(0);
  BatchGradients gradients(named_parameters(*model));
  Profile profile;
  const std::int64_t before = counted_flops();
  gradients.compute(*model, task, some_draws(), {}, &profile);
  std::int64_t flops = 0;
  for (const auto& [name, passes] : profile.operations()) flops += passes.forward.flops + passes.backward.flops;
  CHECK(flops == counted_flops() - before);
  CHECK(profile.operations().at("mean_nll").forward.calls == 4);
}
