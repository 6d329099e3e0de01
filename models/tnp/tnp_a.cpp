#include "npzoo/models/tnp/tnp_a.h"

#include <algorithm>

#include "npzoo/models/blocks/drop_values.h"
#include "npzoo/models/blocks/path_attention.h"
#include "npzoo/models/conditional/encoders.h"
#include "npzoo/models/parity/authors.h"
#include "npzoo/models/predictions/independent.h"
#include "npzoo/models/predictions/target_orders.h"
#include "npzoo/models/predictions/target_paths.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/tnp/tnp_d.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

/// A context, and targets that came before.
struct TnpAState final : TokenTransformerState {
  explicit TnpAState(TokenTransformerState context_state) : TokenTransformerState(std::move(context_state)) {}

  TwoStreamTransformer::Encoded before;  // of each layer: those targets, (B, n, E)
  std::int64_t count = 0;
};

namespace {

const TnpAState& own(const ContextState& state) { return state_as<TnpAState>(state, "tnp-a"); }

/// Targets on their way through the layers: on each path those whose values are given, then those to be predicted.
struct Targets {
  Tensor tokens;           // (B·P, n, E)
  std::int64_t predicted;  // how many of them, whose encodings are wanted
  PrefixMask seen;         // how many of its path's keys each one sees
  PrefixMask seen_by_predicted;
};

/// Encodings of the targets to be predicted. `keys_of(layer, states)` gives the keys of the paths' own targets in a
/// layer by the states that enter it.
template <class Keys>
Tensor encode(const TwoStreamTransformer& encoder, const TnpAState& state, const Targets& targets, const Keys& keys_of,
              Dropping dropping = {}) {
  const PrefixMask real = PrefixMask::lengths(state.context.lengths);
  Tensor h = targets.tokens;
  for (std::size_t i = 0; i < encoder.layers.size(); ++i) {
    const TransformerLayer& layer = encoder.layers[i];
    const KeysValues keys = keys_of(i, h);
    const bool last = i + 1 == encoder.layers.size();  // what leaves it is read of those to be predicted alone
    if (last) h = slice(h, 1, h.dim(1) - targets.predicted, h.dim(1));
    const Tensor attended = attend_along_paths(layer.attention, layer.before_attention(h), state.encoded[i], real, keys,
                                               last ? targets.seen_by_predicted : targets.seen);
    dropping.apart = h.dim(1) - targets.predicted;
    h = layer.after_attention(h, attended, dropping);
  }
  return encoder.norm ? (*encoder.norm)(h) : h;
}

}  // namespace

/// Shares the weights that the model and the state have now, so it may outlive both.
class TnpA::TargetByTarget final : public TargetPaths {
 public:
  TargetByTarget(const TnpA& model, const std::shared_ptr<const TnpAState>& state, Tensor xt)
      : TargetPaths(state, std::move(xt), state->draws, state->samples,
                    {.dim_y = model.dim_y(),
                     .numbers = 2 * std::ssize(model.encoder.layers) * model.config().transformer.key_width(),
                     .permute = model.permute_}),
        model_(model),
        state_(state) {}

  Tensor joint_log_likelihood(const Tensor& y) const override { return each_given(y).joint_log_likelihood(y); }

  Marginals given_those_before(const Tensor& y) const override { return each_given(y).marginals(); }

  /// In one pass, as TNP-D: targets whose values are unknown do not attend to one another.
  Marginals each_alone() const override { return next(*state_, xt())->marginals(); }

  /// Predicts each target given the values y (B, Nt, Dy) of those before it, in one pass.
  Moments given_those_before(const Tensor& y, Draws& draws, double dropout = 0) const {
    const std::int64_t targets = xt().dim(1), given = std::max<std::int64_t>(targets - 1, 0);
    const Tensor seen = draws.derived({xt().dim(0), given + targets}, [=](std::span<std::int64_t> counts) {
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i) % (given + targets);
        counts[i] = at < given ? at + 1 : at - given;
      }
    });
    const Tensor tokens =
        model_.embedder(concat({concat({slice(xt(), 1, 0, given), xt()}, 1),
                                concat({slice(y, 1, 0, given), Tensor::zeros(y.shape(), y.dtype(), y.device())}, 1)},
                               -1));  // (B, 2 Nt − 1, E)
    return predict({tokens, targets, PrefixMask::lengths(seen), PrefixMask::growing(0)},
                   [&](std::size_t layer, const Tensor& h) {
                     return model_.encoder.layers[layer].keys_values(slice(h, 1, 0, given));
                   },
                   {dropout, &draws});
  }

 protected:
  std::unique_ptr<Walk> walk(std::int64_t rows) const override { return std::make_unique<CachedWalk>(*this, rows); }

  std::unique_ptr<Prediction> next(const ContextState& state, const Tensor& xt) const override {
    const TnpAState& now = own(state);
    const PrefixMask all = PrefixMask::first(now.count);
    const Tensor unknown = Tensor::zeros(xt.shape().with(-1, model_.dim_y()), xt.dtype(), xt.device());
    return std::make_unique<Independent>(predict({model_.embedder(concat({xt, unknown}, -1)), xt.dim(1), all, all},
                                                 [&](std::size_t layer, const Tensor&) { return now.before[layer]; }));
  }

  std::unique_ptr<ContextState> after(const ContextState& state, const Context& observed) const override {
    auto extended = std::make_unique<TnpAState>(own(state));
    const PrefixMask up_to_itself = PrefixMask::growing(extended->count + 1);
    const Tensor tokens = model_.embedder(concat({observed.xc, observed.yc}, -1));
    encode(model_.encoder, *state_, {tokens, 0, up_to_itself, up_to_itself}, [&](std::size_t layer, const Tensor& h) {
      KeysValues& keys = extended->before[layer];
      const KeysValues more = model_.encoder.layers[layer].keys_values(h);
      keys = {concat({keys.keys, more.keys}, 1), concat({keys.values, more.values}, 1)};
      return keys;
    });
    extended->count += observed.xc.dim(1);
    return extended;
  }

 private:
  Independent each_given(const Tensor& y) const {
    check(y.dim(1) == xt().dim(1), "[prediction] y {} found, expected values of {} targets", y.shape(), xt().dim(1));
    Draws draws = state_->draws;
    return Independent(given_those_before(y.to(xt().dtype()).to(xt().device()), draws));
  }

  template <class Keys>
  Moments predict(const Targets& targets, const Keys& keys_of, const Dropping& dropping = {}) const {
    const Tensor h = encode(model_.encoder, *state_, targets, keys_of, dropping);  // (B·P, n, E)
    return gaussian_head(model_.predictor(h), model_.config().std);                // (B·P, n, Dy)
  }

  /// Keys and values of the targets that each path has met.
  class CachedWalk final : public Walk {
   public:
    CachedWalk(const TargetByTarget& sequence, std::int64_t rows)
        : sequence_(sequence), cache_(sequence.room_for(rows, sequence.xt().dim(1) - 1)) {}

    /// On the way the target before this one, whose value is known by now, enters the cache.
    Moments target(const Tensor& x, const Tensor& values, std::int64_t t) override {
      const TnpA& model = sequence_.model_;
      const std::int64_t given = t > 0 ? 1 : 0;
      const Tensor unknown = Tensor::zeros({x.dim(0), 1, model.dim_y()}, x.dtype(), x.device());
      const Tensor tokens = model.embedder(
          concat({slice(x, 1, t - given, t + 1), concat({slice(values, 1, t - given, t), unknown}, 1)}, -1));
      const PrefixMask all = PrefixMask::first(t);
      return sequence_.predict({tokens, 1, all, all}, [&](std::size_t layer, const Tensor& h) -> const KeysValues& {
        KeysValues& keys = cache_[layer];
        if (given == 0) return keys;
        const KeysValues one = model.encoder.layers[layer].keys_values(slice(h, 1, 0, given));
        copy_slice(one.keys, 1, t - 1, keys.keys);
        copy_slice(one.values, 1, t - 1, keys.values);
        return keys;
      });
    }

   private:
    const TargetByTarget& sequence_;
    std::vector<KeysValues> cache_;
  };

  std::vector<KeysValues> room_for(std::int64_t rows, std::int64_t points) const {
    const Shape each{rows, std::max<std::int64_t>(points, 0), model_.config().transformer.key_width()};
    std::vector<KeysValues> layers(model_.encoder.layers.size());
    for (KeysValues& layer : layers)
      layer = {Tensor::empty(each, xt().dtype(), xt().device()), Tensor::empty(each, xt().dtype(), xt().device())};
    return layers;
  }

  const TnpA model_;
  const std::shared_ptr<const TnpAState> state_;
};

TnpA::TnpA(const TnpAConfig& config, Initializer& init)
    : TokenTransformer(config, init),
      permute_(config.permute),
      value_noise_(config.value_noise),
      dropout_(config.dropout),
      permutation_repeats_(config.permutation_repeats) {}

std::unique_ptr<TnpAState> TnpA::state_of(const Context& context, const Draws& draws, std::int64_t samples,
                                          const Dropping& dropping) const {
  auto state = std::make_unique<TnpAState>(std::move(*encoded(context, draws, samples, dropping)));
  const Tensor none =
      Tensor::zeros({context.xc.dim(0), 0, config().transformer.key_width()}, context.xc.dtype(), context.xc.device());
  state->before.assign(encoder.layers.size(), {none, none});
  return state;
}

std::unique_ptr<ContextState> TnpA::do_condition(const Context& context, Draws& draws, std::int64_t samples) const {
  return state_of(context, draws, samples, {});
}

std::unique_ptr<Prediction> TnpA::do_query(const ContextState& state, const Tensor& xt) const {
  return std::make_unique<TargetByTarget>(*this, std::make_shared<const TnpAState>(own(state)), xt);
}

Tensor TnpA::loss(const Task& task, Draws& draws) const {
  std::vector<Tensor> losses;
  for (const Task& shuffled : in_drawn_orders(task, permutation_repeats_, draws))
    losses.push_back(loss_in_order(shuffled, draws));
  return mean_of(losses);
}

Tensor TnpA::loss_in_order(const Task& task, Draws& draws) const {
  const Task dropped = drop_values(task, config().drop_y, draws);
  const std::shared_ptr<const TnpAState> state =
      state_of({dropped.xc, dropped.yc, task.lengths}, draws, 1, {dropout_, &draws});
  Tensor given = task.yt;
  if (value_noise_ > 0) {
    const std::int64_t batch = given.dim(0), nt = given.dim(1), dy = given.dim(2);
    const Tensor noise = draws.normal(1, batch, {nt, dy}, given.dtype(), given.device());
    given = add(given, affine(noise.view(given.shape()), value_noise_, 0));
  }
  const Moments targets = TargetByTarget(*this, state, task.xt).given_those_before(given, draws, dropout_);
  if (config().score_context) {
    const Moments context = gaussian_head(predictor(encode_context(*state)), config().std);
    const Tensor values = clear_padding({task.xc, task.yc, task.lengths}).yc;
    const Independent all({concat({context.mean, targets.mean}, 1), concat({context.std, targets.std}, 1)});
    return nll(all, concat({values, task.yt}, 1), context_and_targets(task).weights);  // (B, Nc + Nt)
  }
  const Tensor loss = nll(Independent(targets), task.yt, task.target_weights, task.target_totals);
  return config().loss_per_channel ? mean_over_channels(loss, dim_y()) : loss;
}

std::unique_ptr<Model> make_tnp_a(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "tnp-a");
  TnpAConfig c{read_tnp_config(reader, "tnp-a")};
  if (c.std.floor > 0) c.value_noise = 0.05;
  c.permute = reader.get<bool>("permute", "whether training shuffles the targets", false);
  read_bandit_options(reader, c);
  reader.finish();
  Initializer init(Framework::torch, weights);
  return std::make_unique<TnpA>(c, init);
}

namespace {

constexpr AuthorsCode kTnpAAuthors[] = {{.recorded_as = "tnp-a", .place = authors_tnp}};

constexpr PublishedSize kTnpASizes[] = {
    {"tnp/gp-rbf", 222'082},
    {"tnp/emnist", 222'146},
    {"tnp/celeba32", 222'790},
    {"tnp/wheel", 15'530},
};

constexpr const char* kSmallTnpAs[] = {
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "emb_depth": 2})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "emb_depth": 2, "bound_std": true})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "emb_depth": 2, "permute": true})",
    R"({"d_model": 8, "dim_feedforward": 14, "nhead": 2, "num_layers": 2, "emb_depth": 2, "drop_y": 0.5, "score_context": true})",
};

}  // namespace

ModelInfo tnp_a_info() {
  return {
      .name = "tnp-a",
      .title = "Transformer neural process, autoregressive",
      .paper = "Nguyen and Grover, Transformer neural processes, ICML 2022",
      .make = make_tnp_a,
      .small_forms = kSmallTnpAs,
      .sizes = kTnpASizes,
      .authors = kTnpAAuthors,
      .density = Density::joint,
  };
}

}  // namespace npzoo
