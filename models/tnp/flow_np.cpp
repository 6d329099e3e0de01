#include "npzoo/models/tnp/flow_np.h"

#include <algorithm>
#include <cmath>

#include "npzoo/models/blocks/equal_layers.h"
#include "npzoo/models/parity/authors.h"
#include "npzoo/models/parity/recorded_forms.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/fourier_code/fourier_code.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

Tensor times_like(const Tensor& x, double time) {
  return Tensor::full(x.shape().with(-1, 1), time, x.dtype(), x.device());
}

/// The same context for each of `count` samples, (count · B, …).
Context for_each_sample(const Context& context, std::int64_t count) {
  if (count == 1) return context;
  Context all{for_samples(context.xc, count), for_samples(context.yc, count), {}};
  if (!context.lengths.defined()) return all;
  const std::int64_t batch = context.xc.dim(0);
  all.lengths = Tensor::empty({count * batch}, DType::int64, Device::cpu);
  for (std::int64_t i = 0; i < count * batch; ++i)
    all.lengths.data<std::int64_t>()[i] = context.lengths.data<std::int64_t>()[i % batch];
  return all;
}

}  // namespace

FlowNp::FlowNp(const FlowNpConfig& config, Initializer& init)
    : embedder(Mlp::of_depth((config.dim_x + 1) * config.code + config.dim_y, config.transformer.width,
                             config.transformer.width, config.emb_depth, init)),
      predictor({config.transformer.width, config.transformer.hidden, config.dim_y}, init),
      config_(config) {
  for (std::int64_t i = 0; i < config.transformer.layers; ++i) layers.emplace_back(config.transformer, init);
  make_equal(layers);
}

Tensor FlowNp::velocity(const Context& context, const Points& targets, Draws& draws) const {
  // Without a code of their order, points may stand anywhere: the real targets, then the real context, then padding.
  const Context points =
      join({concat({targets.x, targets.time}, -1), targets.y, targets.lengths},
           {concat({context.xc, times_like(context.xc, 1)}, -1), context.yc, context.lengths}, draws);
  const PrefixMask mask = PrefixMask::lengths(points.lengths);
  Tensor h = embedder(concat({fourier_code(points.xc, config_.code), points.yc}, -1));  // (B, Nt + Nc, E)
  for (const TransformerLayer& layer : layers) h = layer.over(h, h.dim(1), mask);
  return predictor(slice(h, 1, 0, targets.x.dim(1)));  // (B, Nt, Dy)
}

/// Shares the weights that the model and the state have now, so it may outlive both.
class FlowNp::Targets final : public Flow {
 public:
  Targets(const FlowNp& model, const HeldContext& state, Tensor xt)
      : Flow(Tensor::zeros(xt.shape().with(-1, model.dim_y()), xt.dtype(), xt.device()), state.draws,
             options_of(model, state)),
        model_(model),
        context_(clear_padding(state.context)),
        xt_(std::move(xt)) {}

 protected:
  Tensor velocity(const Tensor& y, double time) const override { return velocity_of(xt_, y, time); }

  Tensor draw(std::int64_t n, Draws& draws) const override {
    if (!model_.config_.noisy) return Flow::draw(n, draws);
    const std::int64_t batch = xt_.dim(0), seen = context_.xc.dim(1), points = seen + xt_.dim(1);
    const auto normal = [&] {
      return draws.normal(n, batch, {points, model_.dim_y()}, xt_.dtype(), xt_.device())
          .view({n * batch, points, model_.dim_y()});
    };
    const Tensor x = concat({context_.xc, xt_}, 1);
    Tensor y = normal();  // copies of the context, then targets
    const auto steps = static_cast<double>(options().steps);
    for (std::int64_t k = 0; k < options().steps; ++k) {
      const double t = static_cast<double>(k) / steps, bridge = t * (1 - t);
      const Tensor v = velocity_of(x, y, t);
      y = add(y, add(affine(v, (1 + bridge) / steps, 0), affine(normal(), 0.2 * std::sqrt(bridge) / steps, 0)));
    }
    return slice(y, 1, seen, points);
  }

 private:
  static FlowOptions options_of(const FlowNp& model, const HeldContext& state) {
    FlowOptions options = model.config_.flow;
    options.samples = state.samples;
    return options;
  }

  /// The velocity of values y (K · B, N, Dy), of K samples, at x (B, N, Dx).
  Tensor velocity_of(const Tensor& x, const Tensor& y, double time) const {
    const std::int64_t batch = x.dim(0), count = batch == 0 ? 1 : y.dim(0) / batch;
    const Tensor places = for_samples(x, count);
    Draws none(0, Purpose::prediction, 0);
    return model_.velocity(for_each_sample(context_, count), {places, y, times_like(places, time)}, none);
  }

  const FlowNp model_;
  const Context context_;
  const Tensor xt_;
};

std::unique_ptr<ContextState> FlowNp::do_condition(const Context& context, Draws& draws, std::int64_t samples) const {
  return std::make_unique<HeldContext>(context, draws, samples);
}

std::unique_ptr<Prediction> FlowNp::do_query(const ContextState& state, const Tensor& xt) const {
  return std::make_unique<Targets>(*this, state_as<HeldContext>(state, "flownp"), xt);
}

Tensor FlowNp::loss(const Task& task, Draws& draws) const {
  const Context wanted = clear_padding({task.xt, task.yt, task.target_lengths});
  const Tensor& y = wanted.yc;
  const std::int64_t batch = y.dim(0), targets = y.dim(1);
  const Tensor source = draws.normal(1, batch, {targets, dim_y()}, y.dtype(), y.device()).view(y.shape());
  const Tensor time = draws.uniform(1, batch, {targets, 1}, y.dtype(), y.device()).view({batch, targets, 1});
  const Tensor along = sub(y, source);  // (B, Nt, Dy)
  const Tensor v = velocity(clear_padding({task.xc, task.yc, task.lengths}),
                            {wanted.xc, add(source, mul(time, along)), time, task.target_lengths}, draws);
  // The mean over targets and channels, as that of negative log-likelihoods.
  const Tensor squares = mean(square(sub(v, along)), -1);  // (B, Nt)
  return nll(affine(squares, -1, 0), task.target_weights, task.target_totals);
}

void FlowNp::visit(ModuleVisitor& visitor) {
  visitor("embedder", embedder);
  visitor("layers", layers);
  visitor("predictor", predictor);
}

std::unique_ptr<Model> make_flownp(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "flownp");
  FlowNpConfig c;
  c.dim_x = reader.size("dim_x", kGivenByData);
  c.dim_y = reader.size("dim_y", kGivenByData);
  c.code = 2 * reader.size("frequencies", "sines, and as many cosines, of each coordinate and of the time", 10);
  c.transformer.width = reader.size("d_model", "width of tokens");
  c.transformer.hidden = reader.size("dim_feedforward", "width of the feed-forward networks");
  c.transformer.heads = reader.size("nhead", "attention heads");
  c.transformer.layers = reader.depth("num_layers", "layers");
  c.emb_depth = reader.depth("emb_depth", "linear layers of the embedding of points");
  c.flow.steps = reader.integer("timesteps", "steps from time 0 to 1", 1, 10'000, 100);
  c.noisy = reader.choice("sampler", "rule of samples: Euler's, or the authors' code with noise", {"euler", "noisy"},
                          "euler") == "noisy";
  c.flow.exact_values = reader.integer(
      "exact_values", "values of a task up to which joint densities are exact; beyond, random probes", 0, 65536, 32);
  c.flow.probes = reader.size("probes", "random probes of the divergence", 8);
  reader.finish();
  Initializer init(Framework::torch, weights);
  return std::make_unique<FlowNp>(c, init);
}

namespace {

AuthorsPlace authors_flownp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] != "layers") return authors_mlp(words[0], Words(words).subspan(1));
  return torch_transformer_layer("encoder.layers." + words[1], Words(words).subspan(2));
}

ModelConfig authors_flow_config(ModelConfig theirs) {
  if (const auto code = theirs.extract("dim_posenc"))
    if (const auto* width = std::get_if<std::int64_t>(&code.mapped())) theirs["frequencies"] = *width / 2;
  theirs["sampler"] = std::string("noisy");
  return theirs;
}

/// A number of the run.
double number_of(const ModelConfig& run, const char* name) {
  const auto found = run.find(name);
  check(found != run.end(), "[parity] the run has no '{}'", name);
  if (const auto* whole = std::get_if<std::int64_t>(&found->second)) return static_cast<double>(*whole);
  const auto* number = std::get_if<double>(&found->second);
  check(number != nullptr, "[parity] '{}' of the run is no number", name);
  return *number;
}

NamedTensors evaluated_flow(const FlowNp& model, const Task& task, Draws& draws, const ModelConfig& run) {
  const std::int64_t batch = task.yt.dim(0);
  const Shape each{task.yt.dim(1), task.yt.dim(2)};
  const auto normal = [&] { return draws.normal(1, batch, each, task.yt.dtype(), task.yt.device()); };
  Draws unused(0, Purpose::evaluation, 0);
  const auto state = model.condition({task.xc, task.yc, task.lengths}, unused, 1);
  const auto prediction = model.query(*state, task.xt);
  const auto& flow = dynamic_cast<const Flow&>(*prediction);
  NamedTensors all;
  Tensor signs = in_double(normal());
  for (double& z : signs.values<double>()) z = z < 0 ? 1 : -1;
  const Flow::Density density = flow.density(task.yt, signs);
  all["pointwise.tar_ll"] = density.of_targets.view({batch, each[0]});
  all["tar_ll"] = scalar(mean_of(density.of_targets));
  all["source"] = density.source;
  all["samples"] = flow.sample(static_cast<std::int64_t>(number_of(run, "eval_samples")), draws);
  const Tensor source = normal().view(task.yt.shape());
  all["ode.euler"] = flow.follow(source, Flow::Rule::euler);
  all["ode.midpoint"] = flow.follow(source, Flow::Rule::midpoint);
  all["velocity"] = model.velocity({task.xc, task.yc, task.lengths},
                                   {task.xt, task.yt, times_like(task.xt, number_of(run, "time"))}, unused);
  return all;
}

NamedTensors authors_flow_outputs(const Model& model, const Task& task, Draws& draws, bool training,
                                  const ModelConfig& run) {
  const auto& own = dynamic_cast<const FlowNp&>(model);
  if (!training) return evaluated_flow(own, task, draws, run);
  const std::int64_t batch = task.yt.dim(0), targets = task.yt.dim(1);
  const Tensor source = draws.normal(1, batch, {targets, task.yt.dim(2)}, task.yt.dtype(), task.yt.device());
  const Tensor time = draws.uniform(1, batch, {targets, 1}, task.yt.dtype(), task.yt.device());
  const Tensor from = source.view(task.yt.shape()), t = time.view({batch, targets, 1});
  const Tensor y = add(from, mul(t, sub(task.yt, from)));
  return {{"velocity", own.velocity({task.xc, task.yc, task.lengths}, {task.xt, y, t}, draws)}};
}

constexpr AuthorsCode kFlowAuthors[] = {{.recorded_as = "flownp",
                                         .place = authors_flownp,
                                         .config = authors_flow_config,
                                         .outputs = authors_flow_outputs,
                                         .draws_by_rows = true}};

constexpr PublishedSize kFlowSizes[] = {
    {"tnp/gp-rbf", 224'449},
    {"tnp/gp-rbf", 225'729, R"({"dim_x": 2})"},                                 // EMNIST
    {"tnp/gp-rbf", 226'115, R"({"dim_x": 2, "dim_y": 3})"},                     // CelebA
    {"tnp/gp-rbf", 237'828, R"({"dim_x": 2, "dim_y": 4, "frequencies": 40})"},  // ERA5
};

constexpr const char* kSmallFlows[] = {
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "emb_depth": 2, "frequencies": 3, "timesteps": 3})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 1, "emb_depth": 3, "frequencies": 2, "timesteps": 2, "exact_values": 0, "probes": 3})",
};

}  // namespace

ModelInfo flownp_info() {
  return {
      .name = "flownp",
      .title = "Flow matching neural process",
      .paper = "Abu Hamad and Rosenbaum, Flow matching neural processes, NeurIPS 2025",
      .make = make_flownp,
      .small_forms = kSmallFlows,
      .sizes = kFlowSizes,
      .authors = kFlowAuthors,
      .density = Density::joint,
      .input_gradients = false,           // codes take none
      .traits = {.counts_points = true},  // context and targets share one softmax
  };
}

}  // namespace npzoo
