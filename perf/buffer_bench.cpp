// Joint samples of trained models: the time of 50 samples at 128 targets, and the largest difference in float64 between
// the joint density in one pass and that of one target after the other. A model that predicts each target by itself
// draws by plain autoregression. For tnp-buffer also the times of other buffers, with fresh weights.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <string>

#include "npzoo/engine/tape.h"
#include "npzoo/models/predictions/autoregressive.h"
#include "npzoo/models/predictions/autoregressive_model.h"
#include "npzoo/models/training/checkpoint.h"
#include "npzoo/models/training/named_weights.h"
#include "tools/cli/command_line.h"
#include "tools/cli/common_options.h"

using namespace npzoo;
using namespace npzoo::tools;

namespace {

struct BufferBenchCommand {
  CommonOptions common;
  std::vector<std::string> checkpoints;
  std::int64_t samples = 50, context = 20, targets = 128, repeats = 5;
  std::vector<std::int64_t> buffers;
};

void add_flags(Flags& flags, BufferBenchCommand& c) {
  add_flags(flags, c.common);
  flags.texts("--checkpoints", c.checkpoints, "weights of models with one input and one value").required();
  flags.whole("--samples", c.samples, {1, 10'000}, "paths of the task");
  flags.whole("--context", c.context, {0, 100'000}, "context points");
  flags.whole("--targets", c.targets, {1, 10'000}, "targets");
  flags.whole("--repeats", c.repeats, {1, 1000}, "measurements, the least of which is printed");
  flags.wholes("--buffers", c.buffers, {1, 10'000}, "sizes of buffers of tnp-buffer, with fresh weights");
}

/// A task of n points of a smooth function and `nt` targets, all from −2 to 2.
struct Problem {
  Problem(std::int64_t nc, std::int64_t nt, DType dtype) {
    Random random(1);
    const auto points = [&](std::int64_t n) {
      Tensor x = Tensor::empty({1, n, 1}, DType::float64, Device::cpu);
      for (double& value : x.values<double>()) value = 4 * random.uniform() - 2;
      return x;
    };
    const auto values = [](const Tensor& x) {
      Tensor y = x.clone();
      for (double& value : y.values<double>()) value = 0.5 * std::sin(4 * value);
      return y;
    };
    const Tensor xc = points(nc), x = points(nt);
    context = {xc.to(dtype), values(xc).to(dtype), {}};
    xt = x.to(dtype);
    yt = values(x).to(dtype);
  }

  Context context;
  Tensor xt, yt;
};

std::unique_ptr<Prediction> predict(const Model& model, const Problem& problem) {
  Draws draws(1, Purpose::prediction, 0);
  const auto state = model.condition(problem.context, draws, 1);
  return model.query(*state, problem.xt);
}

/// Milliseconds of the processor for samples, the encoding of the context included: the least of some measurements.
double sampling_time(const Model& model, const Problem& problem, const BufferBenchCommand& c) {
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < c.repeats; ++i) {
    Draws draws(1, Purpose::prediction, 0);
    const std::clock_t began = std::clock();
    predict(model, problem)->sample(c.samples, draws);
    least = std::min(least, 1e3 * static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC);
  }
  return least;
}

/// The joint density in one pass, and one target after the other; nats per target. Equal for a chain.
std::pair<double, double> densities(const Model& model, const Problem& problem) {
  const auto prediction = predict(model, problem);
  const auto* sequence = dynamic_cast<const Autoregressive*>(prediction.get());
  const double together = prediction->joint_log_likelihood(problem.yt).item();
  return {together, sequence ? sequence->Autoregressive::joint_log_likelihood(problem.yt).item() : together};
}

int run(const BufferBenchCommand& c) {
  apply(c.common);
  const NoGrad off;
  const Problem in_float(c.context, c.targets, DType::float32), in_double(c.context, c.targets, DType::float64);
  fmt::print("| model | joint samples | ms | one pass against steps |\n|---|---|---:|---:|\n");
  for (const std::string& name : c.checkpoints) {
    const Checkpoint checkpoint = load_checkpoint(find_weights(name));
    const ModelInfo& info = model_info(checkpoint.run.spec.name);
    const auto model = restore_model(checkpoint), exact = restore_model(checkpoint);
    for (const NamedParameter& p : named_tensors(*exact)) p.parameter->value = p.parameter->value.to(DType::float64);
    const bool alone = info.drawing() == Density::marginal;
    const AutoregressiveModel chain(*model);
    const double time = sampling_time(alone ? static_cast<const Model&>(chain) : *model, in_float, c);
    std::string difference = "-";
    if (!alone) {
      const auto both = densities(*exact, in_double);
      difference = fmt::format("{:.0e}", std::abs(both.first - both.second) / static_cast<double>(c.targets));
    }
    fmt::print("| `{}` | {} | {:.1f} | {} |\n", info.name, alone ? "plain autoregression" : "its own", time,
               difference);
  }
  for (const std::int64_t size : c.buffers) {
    ModelSpec spec = model_spec(load_protocol("tnp/gp-rbf"), "tnp-buffer");
    spec.config["buffer"] = size;
    fmt::print("| `tnp-buffer` | buffer of {}, fresh weights | {:.1f} | - |\n", size,
               sampling_time(*make_model(spec, {.seed = 3}), in_float, c));
  }
  return 0;
}

constexpr CommandInfo kCommand =
    command<BufferBenchCommand, add_flags, run>("Joint samples by a buffer, by TNP-A and by plain autoregression.");

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_program("buffer_bench", kCommand, argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "buffer_bench: error: {}\n", e.what());
    return 1;
  }
}
