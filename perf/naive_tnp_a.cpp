// Paths through targets by TNP-A, as its authors' code draws them: context and targets are encoded again for every
// target. Beside the library's way, which extends cached keys and values: largest difference in float64, and the time
// of both in float32 as the number of targets grows. `naive_tnp_a --help` tells the flags.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "npzoo/engine/tape.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/tnp/tnp_a.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reshape/reshape.h"
#include "tools/bench/support.h"
#include "tools/cli/command_line.h"
#include "tools/cli/common_options.h"

using namespace npzoo;
using namespace npzoo::tools;

namespace {

constexpr const char* kProtocol = "tnp/gp-rbf";
constexpr std::int64_t kRepeats = 5;

/// Mean and deviation of the target behind `values` (K, t, Dy), for K paths of one task; the authors' mask.
Moments re_encoded(const TnpA& model, const Context& context, const Tensor& xt, const Tensor& values) {
  const std::int64_t paths = values.dim(0), nc = context.xc.dim(1), t = values.dim(1), n = nc + t + 1;
  const auto each = [&](const Tensor& x) { return broadcast_to(x, x.shape().with(0, paths)); };
  const Tensor x = each(concat({context.xc, slice(xt, 1, 0, t + 1)}, 1));                    // (K, n, Dx)
  const Tensor unknown = Tensor::zeros({paths, 1, model.dim_y()}, xt.dtype(), xt.device());  // (K, 1, Dy)
  const Tensor y = concat({each(context.yc), values, unknown}, 1);                           // (K, n, Dy)
  Tensor seen = Tensor::empty({paths, n}, DType::int64, Device::cpu);
  for (std::int64_t i = 0; i < seen.numel(); ++i)
    seen.data<std::int64_t>()[i] = i % n < nc ? nc : std::min(i % n + 1, n - 1);
  Tensor h = model.embedder(concat({x, y}, -1));  // (K, n, E)
  for (const TransformerLayer& layer : model.encoder.layers)
    h = layer(h, layer.keys_values(h), PrefixMask::lengths(seen));
  return gaussian_head(model.predictor(slice(h, 1, n - 1, n)), {});  // (K, 1, Dy)
}

/// Paths (K, 1, Nt, Dy) with the numbers that the library draws, in the order that is given.
Tensor naive_paths(const TnpA& model, const Context& context, const Tensor& xt, std::int64_t paths, Draws draws) {
  Tensor values = Tensor::zeros({paths, 0, model.dim_y()}, xt.dtype(), xt.device());
  for (std::int64_t t = 0; t < xt.dim(1); ++t) {
    const Moments m = re_encoded(model, context, xt, values);
    const Tensor noise = draws.normal(paths, 1, {model.dim_y()}, DType::float64, Device::cpu);  // (K, 1, Dy)
    values = concat({values, add(m.mean, mul(m.std, noise.to(xt.dtype()).to(xt.device())))}, 1);
  }
  return reshape(values, {paths, 1, xt.dim(1), model.dim_y()}).to(Device::cpu).to(DType::float64);
}

Tensor cached_paths(const TnpA& model, const Context& context, const Tensor& xt, std::int64_t paths, Draws draws) {
  Draws none = draws;
  const auto state = model.condition(context, none, paths);
  return model.query(*state, xt)->sample(paths, draws);
}

struct NaiveTnpACommand {
  CommonOptions common;
  std::int64_t samples = 50, context = 50;
  std::vector<std::int64_t> targets{12, 25, 50, 100, 200};
};

void add_flags(Flags& flags, NaiveTnpACommand& c) {
  add_flags(flags, c.common);
  flags.whole("--samples", c.samples, {1, 10'000}, "paths of the task");
  flags.whole("--context", c.context, {0, 100'000}, "context points");
  flags.wholes("--targets", c.targets, {1, 10'000}, "numbers of targets");
}

struct Problem {
  Problem(const TnpA& model, std::int64_t nc, std::int64_t nt, DType dtype) {
    Random random(1);
    const auto points = [&](std::int64_t n, std::int64_t width) {
      return random_normal(random, {1, n, width}).to(dtype);
    };
    context = {points(nc, model.dim_x()), points(nc, model.dim_y()), {}};
    xt = points(nt, model.dim_x());
  }

  Context context;
  Tensor xt;
};

double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.values<double>().size(); ++i)
    largest = std::max(largest, std::abs(a.values<double>()[i] - b.values<double>()[i]));
  return largest;
}

int run(const NaiveTnpACommand& c) {
  apply(c.common);
  const NoGrad off;
  ModelSpec spec = model_spec(load_protocol(kProtocol), "tnp-a");
  spec.config["permute"] = false;
  const auto exact = make_model(spec, {.seed = 3}), timed = make_model(spec, {.seed = 3});
  for (const NamedParameter& p : named_parameters(*exact)) p.parameter->value = p.parameter->value.to(DType::float64);
  const auto &in_double = dynamic_cast<const TnpA&>(*exact), &in_float = dynamic_cast<const TnpA&>(*timed);
  const Draws draws(1, Purpose::prediction, 0);
  fmt::print("{} paths, {} context points\n{:>8}{:>14}{:>16}{:>8}{:>14}\n", c.samples, c.context, "targets",
             "cached / ms", "encoded / ms", "times", "difference");
  for (const std::int64_t nt : c.targets) {
    const Problem d(in_double, c.context, nt, DType::float64), f(in_float, c.context, nt, DType::float32);
    const double difference = largest_difference(cached_paths(in_double, d.context, d.xt, c.samples, draws),
                                                 naive_paths(in_double, d.context, d.xt, c.samples, draws));
    const auto median = [&](const auto& paths) {
      return repeat(kRepeats, [&] { return milliseconds([&] { paths(in_float, f.context, f.xt, c.samples, draws); }); })
          .median_ms;
    };
    const double cached = median(cached_paths), encoded = median(naive_paths);
    fmt::print("{:>8}{:>14.1f}{:>16.1f}{:>8.1f}{:>14.1e}\n", nt, cached, encoded, encoded / cached, difference);
  }
  return 0;
}

constexpr CommandInfo kCommand =
    command<NaiveTnpACommand, add_flags, run>("TNP-A's paths by cached keys and values, and by encoding all again.");

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_program("naive_tnp_a", kCommand, argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "naive_tnp_a: error: {}\n", e.what());
    return 1;
  }
}
