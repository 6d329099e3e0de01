#include <doctest/doctest.h>

#include <map>

#include "npzoo/models/blocks/dropping.h"
#include "npzoo/models/predictions/target_orders.h"
#include "npzoo/models/training/batch_gradients.h"
#include "npzoo/models/training/device_step.h"
#include "npzoo/models/training/host_step.h"
#include "npzoo/ops/gather/gather.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

// Tests of the random numbers in the training of Taylorformer and its baseline: dropout, and orders of the targets.

namespace {

constexpr const char* kModels[] = {"taylorformer", "taylorformer-tnp"};

ModelSpec with(const char* name, double dropout, std::int64_t repeats) {
  ModelSpec spec = small_model(name);
  spec.config["dropout"] = dropout;
  spec.config["permutation_repeats"] = repeats;
  return spec;
}

/// A model of other options with the weights of `model`.
std::unique_ptr<Model> with_weights_of(Model& model, const ModelSpec& spec) {
  auto other = make_model(spec);
  const auto from = named_tensors(model), to = named_tensors(*other);
  for (std::size_t i = 0; i < from.size(); ++i) to[i].parameter->value = from[i].parameter->value;
  return other;
}

double loss_by(const Model& model, const Task& task, Draws draws) { return model.loss(task, draws).item(); }

Draws step(std::uint64_t number) { return {3, Purpose::training, number}; }

/// Numbers whose order is `order` (B, Nt): target order(b, 0) has the least.
Tensor keys_of(const std::vector<std::int64_t>& order, std::int64_t batch) {
  const std::int64_t targets = std::ssize(order) / batch;
  Tensor keys = Tensor::empty({1, batch, targets}, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < std::ssize(order); ++i)
    keys.data<double>()[i / targets * targets + order[static_cast<std::size_t>(i)]] =
        static_cast<double>(i % targets) / static_cast<double>(targets);
  return keys;
}

Task in_order(Task task, const std::vector<std::int64_t>& order) {
  const Tensor index = Tensor::from<std::int64_t>({task.xt.dim(0), task.xt.dim(1)}, order);
  task.xt = gather(task.xt, index);
  task.yt = gather(task.yt, index);
  return task;
}

const std::vector<std::int64_t> kFirst{3, 1, 0, 2, 0, 3, 2, 1}, kSecond{1, 2, 3, 0, 2, 0, 1, 3};  // (2, 4)

/// Updates on tasks of several sizes.
struct DrawnRun {
  static constexpr double kRate = 1e-3;

  explicit DrawnRun(const char* name) : model(make_model(with(name, 0.2, 2))) {}

  void go(TrainingStep& by, int end) {
    for (auto i = static_cast<std::uint64_t>(losses.size()); i < static_cast<std::uint64_t>(end); ++i) {
      const std::int64_t nt = 4 + static_cast<std::int64_t>(i) % 2;
      const Task task{normal<float>({4, 6, 1}, 10 * i), normal<float>({4, 6, 1}, 10 * i + 1),
                      normal<float>({4, nt, 1}, 10 * i + 2), normal<float>({4, nt, 1}, 10 * i + 3)};
      losses.push_back(by(task, step(i), kRate, 1));
    }
  }

  std::unique_ptr<Model> model;
  Optimiser optimiser{{.kind = OptimiserKind::adam, .lr = kRate, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1},
                      named_parameters(*model)};
  std::vector<double> losses;
};

}  // namespace

TEST_CASE("dropping: zeros by chance, the rest as much larger, and padding behind a part moves nothing") {
  const OnCpu cpu;
  const Tensor x = normal<double>({2, 5, 3}, 1), longer = concat({slice(x, 1, 0, 2), normal<double>({2, 4, 3}, 2)}, 1);
  for (const std::int64_t apart : {0, 2}) {
    CAPTURE(apart);
    constexpr int kTimes = 4000;
    constexpr double kShare = 0.3;
    std::vector<double> sum(30);
    const std::vector<double> given = doubles(x);
    double zeros = 0, others = 0;
    for (int i = 0; i < kTimes; ++i) {
      Draws draws = step(static_cast<std::uint64_t>(i));
      const std::vector<double> dropped = doubles(Dropping{kShare, &draws, apart}(x));
      for (std::size_t k = 0; k < sum.size(); ++k) {
        const double scale = dropped[k] / given[k];
        if (dropped[k] == 0)
          ++zeros;
        else if (std::abs(scale - 1 / (1 - kShare)) > 1e-14)
          ++others;
        sum[k] += scale;
      }
    }
    CHECK(others == 0);
    const double deviation = std::sqrt(kShare / (1 - kShare) / kTimes);  // of a mean
    for (const double each : sum) CHECK(std::abs(each / kTimes - 1) < 5 * deviation);
    CHECK(zeros / (30 * kTimes) == doctest::Approx(kShare).epsilon(0.02));
  }
  Draws draws = step(0), same = step(0);
  const Tensor a = Dropping{0.5, &draws, 2}(x), b = Dropping{0.5, &same, 2}(longer);
  CHECK(same_bits(slice(a, 1, 0, 2), slice(b, 1, 0, 2)));
  Draws none = step(0);
  CHECK(same_bits(Dropping{0, &none}(x), x));
  CHECK(none.calls() == 0);
}

TEST_CASE("taylor training: values are dropped within the networks, in training alone") {
  const OnCpu cpu;
  for (const char* name : kModels) {
    CAPTURE(name);
    const auto dropped = varied_model(with(name, 0.3, 0)), plain = with_weights_of(*dropped, with(name, 0, 0));
    const Task task = random_task(*dropped, {4, 6, 5});
    CHECK(same_bits(predict(*dropped, task).mean, predict(*plain, task).mean));
    const auto joint = [&](const Model& model) {
      const auto state = condition(model, context_of(task));
      return model.query(*state, task.xt)->joint_log_likelihood(task.yt);
    };
    CHECK(same_bits(joint(*dropped), joint(*plain)));
    CHECK(loss_by(*dropped, task, step(0)) != loss_by(*plain, task, step(0)));
    CHECK(loss_by(*dropped, task, step(0)) != loss_by(*dropped, task, step(1)));
    CHECK(loss_by(*dropped, task, step(0)) == loss_by(*dropped, task, step(0)));
    // With these weights at zero nothing reads the dropped activations.
    for (const auto& [parameter_name, parameter] : named_tensors(*dropped))
      if (parameter_name.find("contract.weight") != std::string::npos)
        parameter->value = Tensor::zeros_like(parameter->value);
    const auto unread = with_weights_of(*dropped, with(name, 0, 0));
    CHECK(loss_by(*dropped, task, step(0)) == loss_by(*unread, task, step(0)));
  }
}

TEST_CASE("taylor training: the loss is that of the targets in the orders that are drawn, on average") {
  const OnCpu cpu;
  for (const char* name : kModels) {
    CAPTURE(name);
    const auto given = varied_model(with(name, 0, 0));
    const auto once = with_weights_of(*given, with(name, 0, 1)), twice = with_weights_of(*given, with(name, 0, 2));
    Task task = random_task(*given, {2, 5, 4});
    const Task first = in_order(task, kFirst), second = in_order(task, kSecond);
    const Draws one = Draws::recorded({keys_of(kFirst, 2)}),
                both = Draws::recorded({keys_of(kFirst, 2), keys_of(kSecond, 2)});
    CHECK(loss_by(*once, task, one) == loss_by(*given, first, step(0)));
    CHECK(loss_by(*once, task, one) != loss_by(*given, task, step(0)));
    // Slopes are normalised over both.
    const Tensor statistics = twice->prepared(task, both).batch_statistics;
    Task together{concat({task.xc, task.xc}, 0), concat({task.yc, task.yc}, 0), concat({first.xt, second.xt}, 0),
                  concat({first.yt, second.yt}, 0)};
    if (statistics.defined())
      CHECK(difference(statistics, given->prepared(together, step(0)).batch_statistics) <= 1e-13);
    CHECK(loss_by(*twice, task, both) == doctest::Approx(loss_by(*given, together, step(0))).epsilon(1e-13));
    Draws draws = step(0);
    static_cast<void>(given->loss(task, draws));
    CHECK(draws.calls() == 0);
  }
}

TEST_CASE("taylor training: padding stays behind the targets, whatever their order is, and weights go with them") {
  const OnCpu cpu;
  for (const char* name : kModels) {
    CAPTURE(name);
    const auto model = varied_model(with(name, 0.2, 2));
    const Task real = random_task(*model, {3, 5, 4});
    Task longer = real;
    longer.xt = concat({real.xt, Tensor::full({3, 3, 1}, 0.3, DType::float64)}, 1);
    longer.yt = concat({real.yt, Tensor::full({3, 3, 1}, 0.3, DType::float64)}, 1);
    longer.target_lengths = Tensor::from<std::int64_t>({3}, {4, 4, 4});
    longer.target_weights = real_points(longer.target_lengths, 7, DType::float64);
    longer.target_totals = Tensor::full({3}, 4, DType::float64);
    for (std::uint64_t i = 0; i < 3; ++i)
      CHECK(loss_by(*model, longer, step(i)) == doctest::Approx(loss_by(*model, real, step(i))).epsilon(1e-12));
  }
  Task task{{}, {}, Tensor::from<double>({1, 3, 1}, {0, 1, 2}), Tensor::from<double>({1, 3, 1}, {5, 6, 7})};
  task.target_weights = Tensor::from<double>({1, 3}, {8, 9, 10});
  std::map<std::vector<double>, int> seen;
  constexpr int kTimes = 6000;
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    Draws draws = step(i);
    const Task shuffled = in_drawn_orders(task, 1, draws).front();
    const std::vector<double> order = doubles(shuffled.xt);
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(doubles(shuffled.yt)[k] == order[k] + 5);
      CHECK(doubles(shuffled.target_weights)[k] == order[k] + 8);
    }
    ++seen[order];
  }
  CHECK(seen.size() == 6);
  for (const auto& [order, times] : seen) CHECK(std::abs(times - kTimes / 6) < 5 * std::sqrt(kTimes * 5 / 36.0));
}

TEST_CASE("taylor training: draws are the same in parts of a batch and on any number of threads") {
  const OnCpu cpu;
  for (const char* name : kModels) {
    CAPTURE(name);
    ModelSpec spec = with(name, 0.2, 2);
    spec.config["dim_x"] = std::int64_t{2};
    if (spec.name == "taylorformer") spec.config["neighbour_noise"] = 0.01;
    const auto model = varied_model(spec);
    const Task task = random_task(*model, {8, 6, 5});
    std::vector<std::vector<double>> found;
    for (const int threads : {1, 3}) {
      const ThreadCount count(threads);
      BatchGradients batch(named_parameters(*model));
      std::vector<double>& all = found.emplace_back();
      all.push_back(batch.compute(*model, task, step(0)));
      CHECK(all[0] == doctest::Approx(loss_by(*model, task, step(0))).epsilon(1e-12));
      REQUIRE(batch.parts().size() == 4);
      for (const Grads* part : batch.parts())
        for (const auto& [parameter_name, parameter] : named_parameters(*model))
          for (const double value : doubles(part->of(parameter->value))) all.push_back(value);
    }
    CHECK(found[0] == found[1]);
  }
}

TEST_CASE("taylor training: a run interrupted anywhere continues with the same bits, on any number of threads") {
  const TemporaryDirectory directory;
  for (const std::string model : kModels) {
    CAPTURE(model);
    const std::string features = model == "taylorformer" ? "\nenc_dim = 4\nxmin = 0.1\nxmax = 2.0" : "";
    const TrainingRun run =
        small_run({.steps = 6, .keep = "best", .validate_every = 3, .model = model, .preset = features + R"(
num_heads = 2
head_dim = 3
output_shape = 8
num_layers = 2
dropout = 0.2
permutation_repeats = 2
)"});
    const TrainResult whole = train_to(run, {.out = directory / model / "whole"});
    const Checkpoint expected = checkpoint_in(directory / model / "whole");
    for (const int threads : {1, 3}) {
      CAPTURE(threads);
      const ThreadCount count(threads);
      const std::filesystem::path out = directory / model / std::to_string(threads);
      train_to(run, {.out = out}, threads);  // left after as many updates
      CHECK(train_to(run, {.out = out, .resume = true}).log_likelihood == whole.log_likelihood);
      CHECK(same_state(checkpoint_in(out), expected));
    }
  }
}

TEST_CASE(
    "device step: draws of Taylorformer are the same by graphs and kernel by kernel, and about the same on the host") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  for (const char* name : kModels) {
    CAPTURE(name);
    DrawnRun captured(name), plain(name), host(name);
    DeviceStep graphs(*captured.model, captured.optimiser);
    captured.go(graphs, 6);
    CHECK(graphs.graphs() == 1);  // all tasks are padded to one size
    for (int end = 1; end <= 6; ++end) {
      DeviceStep fresh(*plain.model, plain.optimiser);  // its first step of a size is made kernel by kernel
      plain.go(fresh, end);
    }
    CHECK(captured.losses == plain.losses);
    HostStep unpadded(*host.model, host.optimiser);
    host.go(unpadded, 1);
    CHECK(host.losses[0] == doctest::Approx(plain.losses[0]).epsilon(1e-5));
  }
}
