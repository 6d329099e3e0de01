#include "npzoo/models/blocks/mlp.h"
#include "npzoo/models/predictions/sampled_functions.h"
#include "npzoo/models/training/device_step.h"
#include "npzoo/models/training/host_step.h"
#include "npzoo/ops/dropout/dropout.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

// A model that draws: what it learns is a function of its seed, however it is trained.

namespace {

struct Latents final : HeldContext {
  Latents(HeldContext held, Tensor drawn) : HeldContext(std::move(held)), z(std::move(drawn)) {}

  Tensor z;  // (K, B, L)
};

/// Encodes a context as the mean of its points, after dropout, and draws latent variables from what that gives.
class LatentModel final : public Model {
 public:
  struct Config {
    std::int64_t dim_x = 1, dim_y = 1;
    double dropped = 0;
  };

  explicit LatentModel(const Config& config, const InitialWeights& weights = {.seed = 3}) : config_(config) {
    Initializer init(Framework::torch, weights);
    encoder_.emplace(std::vector<std::int64_t>{config.dim_x + config.dim_y, kWidth, kWidth}, init);
    latent_.emplace(kWidth, 2 * kLatents, init);
    decoder_.emplace(std::vector<std::int64_t>{kLatents + config.dim_x, kWidth, 2 * config.dim_y}, init);
  }

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws,
                                             std::int64_t samples) const override {
    HeldContext held(context, draws, samples);
    const Context points = clear_padding(context);
    const Tensor each = dropout((*encoder_)(concat({points.xc, points.yc}, -1)), config_.dropped, draws);  // (B, Nc, E)
    const Moments prior = gaussian_head((*latent_)(masked_mean(each, context.lengths)), kStd);
    const std::int64_t batch = context.xc.dim(0);
    const Tensor noise = draws.normal(samples, batch, {kLatents}, context.xc.dtype(), context.xc.device());
    return std::make_unique<Latents>(std::move(held), add(prior.mean, mul(prior.std, noise)));
  }

  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override {
    const Tensor& z = state_as<Latents>(state, "latent").z;
    const std::int64_t count = z.dim(0), batch = z.dim(1), nt = xt.dim(1);
    const Tensor tokens = concat({broadcast_to(reshape(z, {count, batch, 1, kLatents}), {count, batch, nt, kLatents}),
                                  broadcast_to(xt, {count, batch, nt, config_.dim_x})},
                                 -1);
    return std::make_unique<SampledFunctions>(gaussian_head((*decoder_)(tokens), kStd));
  }

  Tensor loss(const Task& task, Draws& draws) const override {
    const auto state = condition({task.xc, task.yc, task.lengths}, draws, 4);
    return nll(*query(*state, task.xt), task.yt, task.target_weights);
  }

  void visit(ModuleVisitor& visitor) override {
    visitor("encoder", *encoder_);
    visitor("latent", *latent_);
    visitor("decoder", *decoder_);
  }
  std::optional<double> std_floor() const override { return kStd.floor; }
  std::int64_t dim_x() const override { return config_.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }

 private:
  static constexpr std::int64_t kWidth = 12, kLatents = 5;
  static constexpr StdForm kStd{StdForm::Kind::softplus, 0.1};

  Config config_;
  std::optional<Mlp> encoder_, decoder_;
  std::optional<Linear> latent_;
};

std::unique_ptr<Model> make_latent(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "latent");
  LatentModel::Config c;
  c.dim_x = reader.size("dim_x", "inputs of a point");
  c.dim_y = reader.size("dim_y", "values of a point");
  c.dropped = reader.number("dropout", "share of the units that training drops", kBelowOne);
  reader.finish();
  return std::make_unique<LatentModel>(c, weights);
}

// Without dropout, which keeps no invariance.
constexpr const char* kSmallLatents[] = {R"({"dropout": 0.0})"};

/// All that is tested of every model is tested of this one.
const AddedModel kLatent({.name = "latent",
                          .title = "Latent variables",
                          .paper = "none",
                          .make = make_latent,
                          .small_forms = kSmallLatents,
                          .density = Density::mixture});

constexpr LatentModel::Config kDropped{.dropped = 0.2};

/// A run that can be left and gone on with, as Trainer does.
struct ResumableRun {
  static constexpr double kRate = 1e-2, kClip = 1;

  LatentModel model{kDropped};
  Optimiser optimiser{{.kind = OptimiserKind::adam, .lr = kRate, .beta1 = 0.9, .beta2 = 0.999, .epsilon = kClip},
                      named_parameters(model)};
  std::vector<double> losses;

  Task task(std::int64_t step) const {
    const std::int64_t nc = 3 + step % 2;
    Task t{normal<float>({6, nc, 1}, 10 + step), normal<float>({6, nc, 1}, 20 + step),
           normal<float>({6, 5, 1}, 30 + step), normal<float>({6, 5, 1}, 40 + step)};
    t.lengths = Tensor::from<std::int64_t>({6}, {nc, 1, 0, nc, 2, nc});
    return t;
  }

  void go(TrainingStep& step, std::int64_t end) {
    for (std::int64_t i = std::ssize(losses); i < end; ++i)
      losses.push_back(step(task(i), {7, Purpose::training, static_cast<std::uint64_t>(i)}, kRate, kClip));
  }

  std::vector<Tensor> state() {
    std::vector<Tensor> all;
    for (const auto& [name, parameter] : named_parameters(model)) all.push_back(parameter->value.clone());
    for (const Optimiser::Moments& m : optimiser.moments()) {
      all.push_back(m.first.clone());
      all.push_back(m.second.clone());
    }
    return all;
  }
};

bool same_state(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) { return same_bits(x, y); });
}

}  // namespace

TEST_CASE("latent: a model is added once, under a name of its own, as long as it is there") {
  ModelInfo other = model_info("latent");
  CHECK(error_of([&] { const AddedModel again(other); }) ==
        "[models] there is a model 'latent' already, expected another name");
  other.name = "latent-2";
  {
    const AddedModel added(other);
    CHECK(std::ranges::count(model_names(), "latent-2") == 1);
  }
  CHECK(std::ranges::count(model_names(), "latent-2") == 0);
  CHECK(std::ranges::count(model_names(), "latent") == 1);
}

TEST_CASE("latent: any number of threads learns the same bits, and the loss falls") {
  const OnCpu cpu;
  std::vector<double> losses;
  std::vector<Tensor> state;
  for (const int threads : {1, 2, 3, 8}) {
    CAPTURE(threads);
    const ThreadCount count(threads);
    ResumableRun run;
    HostStep step(run.model, run.optimiser);
    run.go(step, 8);
    if (losses.empty()) {
      losses = run.losses;
      state = run.state();
    }
    CHECK(run.losses == losses);
    CHECK(same_state(run.state(), state));
  }
  ResumableRun again;
  HostStep step(again.model, again.optimiser);
  const double before = loss(again.model, again.task(0)).item();
  for (int i = 0; i < 40; ++i)
    step(again.task(0), {7, Purpose::training, static_cast<std::uint64_t>(i)}, ResumableRun::kRate,
         ResumableRun::kClip);
  CHECK(loss(again.model, again.task(0)).item() < before);
}

TEST_CASE("latent: parts of a batch draw the same as the whole batch") {
  const OnCpu cpu;
  const ResumableRun run;
  auto model = std::make_unique<LatentModel>(kDropped);
  for (const auto& [name, parameter] : named_parameters(*model)) parameter->value = parameter->value.to(DType::float64);
  const Task narrow = run.task(0);
  Task task{narrow.xc.to(DType::float64), narrow.yc.to(DType::float64), narrow.xt.to(DType::float64),
            narrow.yt.to(DType::float64), narrow.lengths};
  BatchGradients batch(named_parameters(*model));
  CHECK(batch.compute(*model, task, some_draws()) == doctest::Approx(loss(*model, task).item()).epsilon(1e-13));
  CHECK(batch.parts().size() == 4);
}

TEST_CASE(
    "latent: Trainer learns the same bits on any number of threads, and a run interrupted anywhere continues with "
    "them") {
  const TemporaryDirectory directory;
  const TrainingRun run =
      small_run({.steps = 12, .keep = "best", .validate_every = 5, .model = "latent", .preset = "\ndropout = 0.2\n"});
  const TrainResult whole = train_to(run, {.out = directory / "whole"});
  const Checkpoint expected = checkpoint_in(directory / "whole");
  for (const int threads : {1, 2, 3, 8}) {
    CAPTURE(threads);
    const ThreadCount count(threads);
    const std::filesystem::path out = directory / std::to_string(threads);
    train_to(run, {.out = out}, threads);  // left after as many updates
    CHECK(train_to(run, {.out = out, .resume = true}).log_likelihood == whole.log_likelihood);
    CHECK(same_state(checkpoint_in(out), expected));
  }
}

TEST_CASE("latent: recorded numbers give the same as drawn ones") {
  const OnCpu cpu;
  const ResumableRun run;
  LatentModel model({});
  const Task task = run.task(0);
  Draws draws = some_draws();
  const Draws recorded = Draws::recorded({draws.normal(4, 6, {5}, DType::float32, Device::cpu)});
  const auto result = [&](const Draws& from) {
    BatchGradients batch(named_parameters(model));
    std::vector<Tensor> all{Tensor::full({}, batch.compute(model, task, from), DType::float64)};
    for (const Grads* part : batch.parts())
      for (const auto& [name, parameter] : named_parameters(model)) all.push_back(part->of(parameter->value).clone());
    return all;
  };
  CHECK(same_state(result(recorded), result(some_draws())));
  CHECK_FALSE(same_state(result(some_draws()), result({18, Purpose::evaluation, 3})));
}

TEST_CASE("latent: chunks of targets agree, and a context in two parts is the context at once") {
  const OnCpu cpu;
  const LatentModel model({});
  const Task task = ResumableRun().task(1);
  const auto state = condition(model, {task.xc, task.yc, {}});
  const Marginals all = model.query(*state, task.xt)->marginals();
  CHECK(all.mean.shape() == Shape{kFewSamples, 6, 5, 1});
  for (std::int64_t i = 0; i < 5; ++i) {
    const Marginals one = model.query(*state, slice(task.xt, 1, i, i + 1))->marginals();
    CHECK(difference(one.mean, slice(all.mean, 2, i, i + 1)) <= 1e-6);
    CHECK(difference(one.std, slice(all.std, 2, i, i + 1)) <= 1e-6);
  }
  const auto points = [&](std::int64_t begin, std::int64_t end) {
    return Context{slice(task.xc, 1, begin, end), slice(task.yc, 1, begin, end)};
  };
  const auto extended = model.update(*condition(model, points(0, 2)), points(2, 4));
  CHECK(difference(model.query(*extended, task.xt)->marginals().mean, all.mean) <= 1e-6);
}

TEST_CASE("latent: a model draws one function or more") {
  const OnCpu cpu;
  const LatentModel model({});
  const Task task = ResumableRun().task(1);
  Draws draws = some_draws();
  CHECK(error_of([&] {
          model.condition({task.xc, task.yc, {}}, draws, 0);
        }) == "[condition] 0 samples found, expected 1 or more");
}

TEST_CASE("device step: a model that draws learns the same bits by graphs as kernel by kernel") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  ResumableRun captured, plain, host;
  DeviceStep step(captured.model, captured.optimiser);
  captured.go(step, 8);
  CHECK(step.graphs() == 1);  // all contexts are padded to one size
  for (std::int64_t end = 1; end <= 8; ++end) {
    DeviceStep fresh(plain.model, plain.optimiser);  // its first step of a size is made kernel by kernel
    plain.go(fresh, end);
    CHECK(fresh.graphs() == 0);
  }
  CHECK(captured.losses == plain.losses);
  CHECK(same_state(captured.state(), plain.state()));
  HostStep unpadded(host.model, host.optimiser);
  host.go(unpadded, 1);
  CHECK(host.losses[0] == doctest::Approx(plain.losses[0]).epsilon(1e-5));
}
