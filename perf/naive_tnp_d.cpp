// TNP-D as its authors' code runs it: one stream of [context; targets], a dense mask of all pairs, attention weights
// that are kept as an array. What the memory of other ways is compared with. `naive_tnp_d --help` tells the flags; the
// rows are those of `npzoo bench scaling`.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/engine/precision.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/tnp/token_transformer.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/matmul/matmul.h"
#include "npzoo/ops/softmax/softmax.h"
#include "tools/bench/scaling.h"
#include "tools/bench/support.h"
#include "tools/cli/command_line.h"
#include "tools/cli/common_options.h"

using namespace npzoo;
using namespace npzoo::tools;

namespace {

constexpr const char* kProtocol = "tnp-kr/gp1d-rbf";
constexpr double kAgreement = 1e-4;

/// Computes with the weights of a TNP-D of the registry, for one task.
class NaiveTnpD {
 public:
  NaiveTnpD(const TokenTransformer& model, std::int64_t heads) : model_(model), heads_(heads) {
    std_.floor = model.std_floor().value_or(0);
    std_.kind = std_.floor > 0 ? StdForm::Kind::softplus : StdForm::Kind::exp;
  }

  Moments operator()(const Context& context, const Tensor& xt) const {
    const std::int64_t nc = context.xc.dim(1), nt = xt.dim(1);
    const Tensor x = concat({context.xc, xt}, 1);                                                  // (1, N, Dx)
    const Tensor y = concat({context.yc, Tensor::zeros(xt.shape().with(-1, model_.dim_y()))}, 1);  // (1, N, Dy)
    const Tensor mask = dense_mask(nc, nc + nt);                                                   // (N, N)
    Tensor h = model_.embedder(concat({x, y}, -1));                                                // (1, N, E)
    for (const TransformerLayer& layer : model_.encoder.layers) h = apply(layer, h, mask);         // (1, N, E)
    return gaussian_head(model_.predictor(slice(h, 1, nc, nc + nt)), std_);                        // (1, Nt, Dy)
  }

 private:
  /// 0 if the key is a context point, else −∞.
  static Tensor dense_mask(std::int64_t nc, std::int64_t n) {
    Tensor row = Tensor::empty({n}, DType::float32, Device::cpu);
    std::fill_n(row.data<float>(), nc, 0.0f);
    std::fill_n(row.data<float>() + nc, n - nc, -std::numeric_limits<float>::infinity());
    return add(Tensor::zeros({n, n}), row.to(default_device()));
  }

  /// (1, N, E) → (H, N, E / H)
  Tensor split_heads(const Tensor& x) const {
    std::vector<Tensor> heads;
    const std::int64_t width = x.dim(2) / heads_;
    for (std::int64_t i = 0; i < heads_; ++i) heads.push_back(slice(x, 2, i * width, (i + 1) * width));
    return concat(heads, 0);
  }

  Tensor join_heads(const Tensor& x) const {
    std::vector<Tensor> heads;
    for (std::int64_t i = 0; i < heads_; ++i) heads.push_back(slice(x, 0, i, i + 1));
    return concat(heads, 2);
  }

  Tensor attend(const MultiheadAttention& attention, const Tensor& h, const Tensor& mask) const {
    const double scale = 1 / std::sqrt(static_cast<double>(h.dim(2) / heads_));
    const Tensor q = split_heads(affine(attention.query(h), scale, 0));  // (H, N, D)
    const Tensor k = split_heads(attention.key(h));                      // (H, N, D)
    const Tensor v = split_heads(attention.value(h));                    // (H, N, D)
    // A function, so that what matmul returns is gone before softmax makes an array of the same size.
    const auto scores = [&] { return add(matmul(q, k, Transpose::no, Transpose::yes), mask); };
    const Tensor weights = softmax(scores());              // (H, N, N)
    return attention.out(join_heads(matmul(weights, v)));  // (1, N, E)
  }

  Tensor apply(const TransformerLayer& layer, const Tensor& h, const Tensor& mask) const {
    const Tensor attended = layer.norm1(add(h, attend(layer.attention, h, mask)));  // (1, N, E)
    const Tensor hidden = layer.expand(attended, Activation::relu);
    return layer.norm2(add(attended, layer.contract(hidden)));  // (1, N, E)
  }

  const TokenTransformer& model_;
  std::int64_t heads_;
  StdForm std_;
};

double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  const Tensor x = a.to(Device::cpu).to(DType::float64), y = b.to(Device::cpu).to(DType::float64);
  for (std::size_t i = 0; i < x.values<double>().size(); ++i) {
    const double difference = std::abs(x.values<double>()[i] - y.values<double>()[i]);
    if (std::isnan(difference)) return difference;
    largest = std::max(largest, difference);
  }
  return largest;
}

Context random_context(const Model& model, Random& random, std::int64_t nc) {
  return {random_normal(random, {1, nc, model.dim_x()}), random_normal(random, {1, nc, model.dim_y()}), {}};
}

/// Throws Error unless both predict the same, in float32.
void check_agreement(const Model& model, const NaiveTnpD& naive) {
  const Precision chosen = matmul_precision();
  set_matmul_precision(Precision::float32);
  Random random(1);
  for (const std::int64_t nc : {0, 1, 20}) {
    const Context context = random_context(model, random, nc);
    const Tensor xt = random_normal(random, {1, 30, model.dim_x()});
    Draws draws(1, Purpose::prediction, 0);
    const Moments expected = moments(*model.query(*model.condition(context, draws, 1), xt)), found = naive(context, xt);
    const double error = largest_difference(found.mean, expected.mean) + largest_difference(found.std, expected.std);
    check(error <= kAgreement, "[naive_tnp_d] differs from tnp-d by {} with {} context points, expected {} at most",
          error, nc, kAgreement);
  }
  set_matmul_precision(chosen);
}

PredictMs load(const ModelSpec& spec, std::uint64_t seed) {
  const std::shared_ptr<Model> model = make_model(spec, {.seed = seed});
  const auto& transformer = dynamic_cast<const TokenTransformer&>(*model);
  const NaiveTnpD naive(transformer, std::get<std::int64_t>(spec.config.at("nhead")));
  const NoGrad off;
  check_agreement(*model, naive);
  return [model, naive, seed](std::int64_t nc, std::int64_t nt) {
    const NoGrad no_grad;
    Random random(seed);
    const Context context = random_context(*model, random, nc);
    const Tensor xt = random_normal(random, {1, nt, model->dim_x()});
    return milliseconds([&] { static_cast<void>(naive(context, xt)); });
  };
}

struct NaiveTnpDCommand {
  CommonOptions common;
  ScalingOptions sizes;
};

void add_flags(Flags& flags, NaiveTnpDCommand& c) {
  add_flags(flags, c.common);
  add_flags(flags, c.sizes);
}

int run(const NaiveTnpDCommand& c) {
  apply(c.common);
  const ModelSpec spec = model_spec(load_protocol(kProtocol), "tnp-d");
  const std::vector<ScalingRow> rows =
      measure_scaling({{"tnp-d-naive", kProtocol, [&] { return load(spec, c.sizes.seed); }}}, c.sizes);
  if (c.common.json)
    print_json(to_json(rows));
  else
    print_scaling(rows);
  return 0;
}

constexpr CommandInfo kCommand =
    command<NaiveTnpDCommand, add_flags, run>("Time and memory of TNP-D with dense masks and attention weights.");

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_program("naive_tnp_d", kCommand, argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "naive_tnp_d: error: {}\n", e.what());
    return 1;
  }
}
