#include "npzoo/models/taylor/taylorformer.h"

#include <utility>

#include "npzoo/models/predictions/independent.h"
#include "npzoo/models/predictions/target_orders.h"
#include "npzoo/models/predictions/target_paths.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/taylor/authors.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

/// x (B, N, D) for P paths of each task: (B·P, N, D), row b·P + p.
Tensor along_paths(const Tensor& x, std::int64_t rows) {
  const std::int64_t batch = x.dim(0), points = x.dim(1), width = x.dim(2);
  if (rows == batch) return x;
  return reshape(broadcast_to(reshape(x, {batch, 1, points, width}), {batch, rows / batch, points, width}),
                 {rows, points, width});
}

Tensor lengths_along_paths(const Tensor& lengths, std::int64_t rows) {
  if (!lengths.defined() || rows == lengths.dim(0)) return lengths;
  Tensor all = Tensor::empty({rows}, DType::int64, Device::cpu);
  const std::int64_t paths = rows / lengths.dim(0);
  for (std::int64_t i = 0; i < rows; ++i) all.data<std::int64_t>()[i] = lengths.data<std::int64_t>()[i / paths];
  return all;
}

/// Undefined tensors stay so.
Tensor joined(const Tensor& a, const Tensor& b) { return a.defined() ? concat({a, b}, 1) : a; }

}  // namespace

struct TaylorformerState : HeldContext {
  /// `after`: the draws once the context's noise is drawn, which that of targets follows.
  TaylorformerState(Context observed, const Draws& from, std::int64_t count, const Draws& after)
      : HeldContext(std::move(observed), from, count), for_targets(after) {}

  Draws for_targets;
  Tensor noise;                 // of the context
  TaylorStream::Encoded x, xy;  // of the context
  Tensor x_before, y_before;    // targets that came before, (B, n, ·)
  TaylorStream::Encoded before_x, before_xy;
};

/// Shares the weights that the model and the state have now, so it may outlive both.
class Taylorformer::Targets final : public TargetPaths {
 public:
  Targets(const Taylorformer& model, const std::shared_ptr<const TaylorformerState>& state, Tensor xt)
      : TargetPaths(state, xt, after_noise(model, *state, xt), state->samples,
                    {.dim_y = model.dim_y(),
                     .numbers = 2 * std::ssize(model.xy_stream.layers) *
                                ((model.x_stream ? 2 : 1) * model.xy_stream.key_width())}),
        model_(model),
        state_(state) {
    Draws draws = state->for_targets;
    noise_ = model.features.draw_noise(this->xt().dim(0), this->xt().dim(1), this->xt(), draws);
  }

  Tensor joint_log_likelihood(const Tensor& y) const override { return each_given(y).joint_log_likelihood(y); }
  Marginals given_those_before(const Tensor& y) const override { return each_given(y).marginals(); }

 protected:
  std::unique_ptr<Walk> walk(std::int64_t rows) const override { return std::make_unique<CachedWalk>(*this, rows); }

  std::unique_ptr<Prediction> next(const ContextState& state, const Tensor& xt) const override {
    const Tensor unknown = Tensor::zeros(xt.shape().with(-1, model_.dim_y()), xt.dtype(), xt.device());
    Path path = path_of(state);
    return std::make_unique<Independent>(go_on(path, xt, unknown, 0));
  }

  std::unique_ptr<ContextState> after(const ContextState& state, const Context& observed) const override {
    auto extended = std::make_unique<TaylorformerState>(state_as<TaylorformerState>(state, "taylorformer"));
    Path path = path_of(state);
    go_on(path, observed.xc, observed.yc, observed.xc.dim(1));
    extended->x_before = path.x;
    extended->y_before = path.y;
    extended->before_x = std::move(path.of_x);
    extended->before_xy = std::move(path.of_xy);
    return extended;
  }

 private:
  /// Paths draw other random numbers than the noise of neighbours.
  static Draws after_noise(const Taylorformer& model, const TaylorformerState& state, const Tensor& xt) {
    Draws draws = state.for_targets;
    static_cast<void>(model.features.draw_noise(xt.dim(0), xt.dim(1), xt, draws));
    return draws;
  }

  /// Targets that rows have met, with their values.
  struct Path {
    Tensor x, y;  // (R, n, ·)
    TaylorStream::Encoded of_x, of_xy;
  };

  static Path path_of(const ContextState& state) {
    const auto& before = state_as<TaylorformerState>(state, "taylorformer");
    return {before.x_before, before.y_before, before.before_x, before.before_xy};
  }

  /// Predicts targets x (R, n, Dx) behind those of the path. The first `given` of them have values and then join the
  /// path.
  Moments go_on(Path& path, const Tensor& x, const Tensor& y, std::int64_t given) const {
    const std::int64_t rows = x.dim(0), count = path.x.dim(1), n = x.dim(1);
    const Context& context = state_->context;
    TaylorPoints points{concat({along_paths(context.xc, rows), path.x, x}, 1),
                        concat({along_paths(context.yc, rows), path.y, y}, 1), context.xc.dim(1),
                        lengths_along_paths(context.lengths, rows)};
    if (state_->noise.defined())
      points.noise = along_paths(concat({state_->noise, slice(noise_, 1, 0, count + n)}, 1), rows);
    const TaylorInputs in = model_.features(points, points.context + count);
    const Tensor of_x = model_.x_stream ? (*model_.x_stream)(state_->x, context.lengths, path.of_x, in.of_x(in.query),
                                                             in.of_x(in.key), in.values, given, path.of_x)
                                        : Tensor();
    const Tensor of_xy =
        model_.xy_stream(state_->xy, context.lengths, path.of_xy, in.query, in.key, in.values, given, path.of_xy);
    path.x = concat({path.x, slice(x, 1, 0, given)}, 1);
    path.y = concat({path.y, slice(y, 1, 0, given)}, 1);
    return model_.head(of_x, of_xy, in.anchor);
  }

  Independent each_given(const Tensor& y) const {
    check(y.dim(1) == xt().dim(1), "[prediction] y {} found, expected values of {} targets", y.shape(), xt().dim(1));
    Path path = path_of(*state_);
    return Independent(go_on(path, xt(), y.to(xt().dtype()).to(xt().device()), xt().dim(1)));
  }

  class CachedWalk final : public Walk {
   public:
    CachedWalk(const Targets& targets, std::int64_t rows) : targets_(targets) {
      const Tensor& like = targets.xt();
      path_ = {Tensor::zeros({rows, 0, like.dim(2)}, like.dtype(), like.device()),
               Tensor::zeros({rows, 0, targets.model_.dim_y()}, like.dtype(), like.device()),
               targets.model_.x_stream ? targets.model_.x_stream->nothing(rows, like) : TaylorStream::Encoded(),
               targets.model_.xy_stream.nothing(rows, like)};
    }

    /// On the way the target before this one, whose value is known by now, joins the path.
    Moments target(const Tensor& x, const Tensor& values, std::int64_t t) override {
      const std::int64_t given = t > 0 ? 1 : 0;
      const Tensor unknown = Tensor::zeros({x.dim(0), 1, values.dim(2)}, x.dtype(), x.device());
      const Moments some = targets_.go_on(path_, slice(x, 1, t - given, t + 1),
                                          concat({slice(values, 1, t - given, t), unknown}, 1), given);
      return {slice(some.mean, 1, given, given + 1), slice(some.std, 1, given, given + 1)};
    }

   private:
    const Targets& targets_;
    Path path_;
  };

  const Taylorformer model_;
  const std::shared_ptr<const TaylorformerState> state_;
  Tensor noise_;
};

Taylorformer::Taylorformer(const TaylorformerConfig& config, Initializer& init)
    : features(config.features),
      x_stream(config.inputs_alone
                   ? std::optional<TaylorStream>(std::in_place, features.x_width(),
                                                 TaylorStreamConfig{config.heads, config.head_width, config.width,
                                                                    config.layers, config.features.dim_y},
                                                 init)
                   : std::nullopt),
      xy_stream(features.xy_width(), {config.heads, config.head_width, config.width, config.layers}, init),
      join((config.inputs_alone ? 2 : 1) * config.width, config.width, init),
      mean(config.width, config.features.dim_y, init),
      deviation(config.width, config.features.dim_y, init),
      config_(config) {}

Moments Taylorformer::head(const Tensor& x, const Tensor& xy, const Tensor& anchor) const {
  const Tensor h = join(x.defined() ? concat({x, xy}, 2) : xy);
  Moments moments = gaussian_head(concat({mean(h), deviation(h)}, 2), config_.std);
  moments.mean = add(moments.mean, anchor);
  return moments;
}

std::unique_ptr<ContextState> Taylorformer::do_condition(const Context& context, Draws& draws,
                                                         std::int64_t samples) const {
  const Context points = clear_padding(context);
  const Tensor& like = points.xc;
  const std::int64_t batch = like.dim(0), count = like.dim(1);
  const Draws before = draws;
  const Tensor noise = features.draw_noise(batch, count, like, draws);
  auto state = std::make_unique<TaylorformerState>(points, before, samples, draws);
  state->noise = noise;
  const TaylorInputs in = features({points.xc, points.yc, count, points.lengths, noise}, 0);
  if (x_stream) state->x = x_stream->encode(in.of_x(in.key), in.values, points.lengths);
  state->xy = xy_stream.encode(in.key, in.values, points.lengths);
  state->x_before = slice(points.xc, 1, 0, 0);
  state->y_before = slice(points.yc, 1, 0, 0);
  if (x_stream) state->before_x = x_stream->nothing(batch, like);
  state->before_xy = xy_stream.nothing(batch, like);
  return state;
}

std::unique_ptr<Prediction> Taylorformer::do_query(const ContextState& state, const Tensor& xt) const {
  const auto& own = state_as<TaylorformerState>(state, "taylorformer");
  return std::make_unique<Targets>(*this, std::make_shared<const TaylorformerState>(own), xt);
}

TaylorPoints Taylorformer::points_of(const Task& task, Draws& draws) const {
  const Context context = clear_padding({task.xc, task.yc, task.lengths});
  const std::int64_t batch = task.xc.dim(0), nc = task.xc.dim(1), nt = task.xt.dim(1);
  const Tensor noise = features.draw_noise(batch, nc, task.xc, draws);
  return {concat({context.xc, task.xt}, 1), concat({context.yc, task.yt}, 1), nc, task.lengths,
          joined(noise, noise.defined() ? features.draw_noise(batch, nt, task.xt, draws) : noise)};
}

Taylorformer::Arranged Taylorformer::arranged(const Task& task, Draws& draws) const {
  Arranged found{in_drawn_orders(task, config_.permutation_repeats, draws), {}};
  for (const Task& one : found.tasks) found.points.push_back(points_of(one, draws));
  return found;
}

Moments Taylorformer::of_targets(const TaylorPoints& points, const Tensor& statistics, const Dropping& dropping,
                                 TaylorInputs* inputs) const {
  const std::int64_t nc = points.context, all = points.x.dim(1);
  const TaylorInputs in = features(points, 0, statistics);
  const auto of_context = [&](const Tensor& x) { return slice(x, 1, 0, nc); };
  const auto of_targets = [&](const Tensor& x) { return slice(x, 1, nc, all); };
  const auto run = [&](const TaylorStream& stream, const Tensor& query, const Tensor& key) {
    const auto encoded = stream.encode(of_context(key), of_context(in.values), points.lengths, dropping);
    TaylorStream::Encoded after;
    return stream(encoded, points.lengths, stream.nothing(points.x.dim(0), points.x), of_targets(query),
                  of_targets(key), of_targets(in.values), all - nc, after, dropping);
  };
  const Tensor of_x = x_stream ? run(*x_stream, in.of_x(in.query), in.of_x(in.key)) : Tensor();
  const Tensor of_xy = run(xy_stream, in.query, in.key);
  if (inputs != nullptr) *inputs = in;
  return head(of_x, of_xy, of_targets(in.anchor));
}

Task Taylorformer::prepared(const Task& task, const Draws& draws) const {
  if (!config_.features.local) return task;
  Task whole = task;
  Draws own = draws;
  whole.batch_statistics = features.statistics(arranged(task, own).points, task.target_lengths);
  return whole;
}

void Taylorformer::before_step(const Task& task, const Draws& draws) {
  if (config_.features.local) features.keep(prepared(task, draws).batch_statistics);
}

Moments Taylorformer::in_training(const Task& task, Draws& draws, TaylorInputs* inputs) const {
  const TaylorPoints points = points_of(task, draws);
  const Tensor statistics =
      task.batch_statistics.defined() ? task.batch_statistics : features.statistics({&points, 1}, task.target_lengths);
  return of_targets(points, statistics, {config_.dropout, &draws}, inputs);
}

Moments Taylorformer::teacher_forced(const Task& task, Draws& draws, TaylorInputs* inputs) const {
  return of_targets(points_of(task, draws), {}, {}, inputs);
}

Tensor Taylorformer::loss(const Task& task, Draws& draws) const {
  const Arranged shuffled = arranged(task, draws);
  const Tensor statistics = task.batch_statistics.defined() ? task.batch_statistics
                                                            : features.statistics(shuffled.points, task.target_lengths);
  std::vector<Tensor> losses;
  for (std::size_t i = 0; i < shuffled.tasks.size(); ++i) {
    const Task& one = shuffled.tasks[i];
    const Independent each(of_targets(shuffled.points[i], statistics, {config_.dropout, &draws}));
    losses.push_back(mean_over_channels(nll(each, one.yt, one.target_weights, one.target_totals), dim_y()));
  }
  return mean_of(losses);
}

void Taylorformer::visit(ModuleVisitor& visitor) {
  visitor("features", features);
  if (x_stream) visitor("x_stream", *x_stream);
  visitor("xy_stream", xy_stream);
  visitor("join", join);
  visitor("mean", mean);
  visitor("deviation", deviation);
}

namespace {

std::unique_ptr<Model> make_taylorformer(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "taylorformer");
  TaylorformerConfig c;
  c.features.dim_x = reader.size("dim_x", kGivenByData);
  c.features.dim_y = reader.size("dim_y", kGivenByData);
  check(c.features.dim_x <= 2, "[taylorformer] dim_x {} found, expected 1 or 2: derivatives are by one or two inputs",
        c.features.dim_x);
  c.features.encoding = reader.size("enc_dim", "channels of the encoding of each input");
  reader.expect(c.features.encoding % 2 == 0, "[taylorformer] enc_dim {} found, expected an even number",
                c.features.encoding);
  c.features.least = reader.number("xmin", "shortest period of the encoding, in units of the inputs", kPositive);
  c.features.most = reader.number("xmax", "longest period of the encoding, in units of the inputs", kPositive);
  reader.expect(c.features.least < c.features.most, "[taylorformer] xmin {} and xmax {} found, expected xmin < xmax",
                c.features.least, c.features.most);
  c.features.neighbour_noise = reader.number(
      "neighbour_noise", "standard deviation of noise on the inputs of neighbours, for two inputs", kNonNegative, 0.01);
  c.features.order = static_cast<int>(
      reader.integer("p", "order of the Taylor expansion that means are predicted relative to", 0, 1, 0));
  c.features.local = reader.get<bool>(
      "local_taylor", "whether points see their neighbours, and means are relative to an expansion around them", true);
  reader.expect(c.features.local || c.features.order == 0, "[taylorformer] p {} found, expected 0 without local_taylor",
                c.features.order);
  c.inputs_alone =
      reader.get<bool>("mha_x", "whether a second stream of attention sees the inputs of points alone", true);
  c.heads = reader.size("num_heads", "attention heads");
  c.head_width = reader.size("head_dim", "width of an attention head");
  c.width = reader.size("output_shape", "width of the model");
  c.layers = reader.depth("num_layers", "layers");
  c.std = {StdForm::Kind::exp, 0, 1e-3};
  if (reader.get<bool>("bound_std", "whether standard deviations have a positive lower bound", false))
    c.std = {StdForm::Kind::softplus, 0.01, 1e-3};
  c.dropout = read_dropout(reader);
  c.permutation_repeats = read_permutation_repeats(reader);
  reader.finish();
  Initializer init(Framework::tensorflow, weights);
  return std::make_unique<Taylorformer>(c, init);
}

constexpr PublishedSize kTaylorformerSizes[] = {
    {"taylorformer/ettm2", 91'858},
    {"taylorformer/exchange", 93'572},
};

constexpr const char* kSmallTaylorformers[] = {
    R"({"enc_dim": 4, "xmin": 0.1, "xmax": 2, "num_heads": 2, "head_dim": 3, "output_shape": 8, "num_layers": 2, "neighbour_noise": 0})",
    R"({"enc_dim": 4, "xmin": 0.1, "xmax": 2, "num_heads": 1, "head_dim": 5, "output_shape": 8, "num_layers": 3, "bound_std": true, "p": 1, "neighbour_noise": 0})",
    R"({"enc_dim": 4, "xmin": 0.1, "xmax": 2, "num_heads": 2, "head_dim": 3, "output_shape": 8, "num_layers": 2, "neighbour_noise": 0, "mha_x": false})",
    R"({"enc_dim": 4, "xmin": 0.1, "xmax": 2, "num_heads": 2, "head_dim": 3, "output_shape": 8, "num_layers": 2, "neighbour_noise": 0, "local_taylor": false})",
    R"({"enc_dim": 4, "xmin": 0.1, "xmax": 2, "num_heads": 2, "head_dim": 3, "output_shape": 8, "num_layers": 2, "neighbour_noise": 0, "local_taylor": false, "mha_x": false})",
};

}  // namespace

ModelInfo taylorformer_info() {
  return {
      .name = "taylorformer",
      .title = "Taylorformer, autoregressive, relative to local Taylor expansions",
      .paper = "Nivron et al., Taylorformer: probabilistic modelling for random processes including time series, 2023",
      .make = make_taylorformer,
      .small_forms = kSmallTaylorformers,
      .sizes = kTaylorformerSizes,
      .authors = taylorformer_authors(),
      .density = Density::joint,
      .input_gradients = false,  // neighbours are found, and no operations recorded of places
      .traits = {.counts_points = true},
  };
}

}  // namespace npzoo
