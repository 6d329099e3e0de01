#include "models/tnp/tnp_a.h"

#include <algorithm>
#include <numeric>

#include "models/blocks/path_attention.h"
#include "models/parity/authors.h"
#include "models/predictions/autoregressive.h"
#include "models/predictions/independent.h"
#include "models/registry.h"
#include "models/tnp/tnp_d.h"
#include "ops/concat/concat.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gather/gather.h"
#include "ops/reshape/reshape.h"

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
Tensor encode(const TwoStreamTransformer& encoder, const TnpAState& state, const Targets& targets,
              const Keys& keys_of) {
  const PrefixMask real = PrefixMask::lengths(state.context.lengths);
  Tensor h = targets.tokens;
  for (std::size_t i = 0; i < encoder.layers.size(); ++i) {
    const TransformerLayer& layer = encoder.layers[i];
    const KeysValues keys = keys_of(i, h);
    const bool last = i + 1 == encoder.layers.size();  // what leaves it is read of those to be predicted alone
    if (last) h = slice(h, 1, h.dim(1) - targets.predicted, h.dim(1));
    const Tensor attended = attend_along_paths(layer.attention, layer.before_attention(h), state.encoded[i], real, keys,
                                               last ? targets.seen_by_predicted : targets.seen);
    h = layer.after_attention(h, attended);
  }
  return encoder.norm ? (*encoder.norm)(h) : h;
}

/// Row b·P + p of x (B·P, n, D) as (P, B, n, D).
Tensor paths_first(const Tensor& x, std::int64_t batch) {
  const std::int64_t rows = x.dim(0), paths = rows / batch, each = x.dim(1) * x.dim(2);
  Tensor index = Tensor::empty({1, rows}, DType::int64, Device::cpu);
  for (std::int64_t i = 0; i < rows; ++i) index.data<std::int64_t>()[i] = i % batch * paths + i / batch;
  return reshape(gather(reshape(x, {1, rows, each}), index), {paths, batch, x.dim(1), x.dim(2)});
}

/// Places from the least to the largest of `keys`.
void sort_places(std::span<const double> keys, std::span<std::int64_t> places) {
  std::iota(places.begin(), places.end(), 0);
  std::ranges::sort(places, {}, [&](std::int64_t i) { return keys[static_cast<std::size_t>(i)]; });
}

/// The order that undoes each of the orders (…, n).
Tensor inverse(const Tensor& orders) {
  const std::int64_t n = orders.dim(-1);
  Tensor back = Tensor::empty(orders.shape(), DType::int64, Device::cpu);
  for (std::int64_t i = 0; i < orders.numel(); ++i)
    back.data<std::int64_t>()[i / n * n + orders.data<std::int64_t>()[i]] = i % n;
  return back;
}

}  // namespace

/// What TNP-A says of targets.
class TnpA::TargetByTarget final : public Autoregressive {
 public:
  TargetByTarget(const TnpA& model, const TnpAState& state, Tensor xt)
      : Autoregressive(state, xt, state.draws, state.samples, 1), model_(model), state_(state), xt_(std::move(xt)) {}

  Marginals marginals() const override {
    Draws draws = state_.draws;
    Paths paths = follow(state_.samples, draws);
    return {std::move(paths.moments.mean), std::move(paths.moments.std)};
  }

  Tensor joint_log_likelihood(const Tensor& y) const override { return each_given(y).joint_log_likelihood(y); }

  Marginals given_those_before(const Tensor& y) const override { return each_given(y).marginals(); }

  Tensor sample(std::int64_t n, Draws& draws) const override {
    return follow(n, draws).values.to(Device::cpu).to(DType::float64);
  }

  /// Of each target given the values y (B, Nt, Dy) of those before it, in one pass.
  Moments given_those_before(const Tensor& y, Draws& draws) const {
    const std::int64_t targets = xt_.dim(1), given = std::max<std::int64_t>(targets - 1, 0);
    const Tensor seen = draws.derived({xt_.dim(0), given + targets}, [=](std::span<std::int64_t> counts) {
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i) % (given + targets);
        counts[i] = at < given ? at + 1 : at - given;
      }
    });
    const Tensor tokens =
        model_.embedder(concat({concat({slice(xt_, 1, 0, given), xt_}, 1),
                                concat({slice(y, 1, 0, given), Tensor::zeros(y.shape(), y.dtype(), y.device())}, 1)},
                               -1));  // (B, 2 Nt − 1, E)
    return predict({tokens, targets, PrefixMask::lengths(seen), PrefixMask::growing(0)},
                   [&](std::size_t layer, const Tensor& h) {
                     return model_.encoder.layers[layer].keys_values(slice(h, 1, 0, given));
                   });
  }

 protected:
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
    encode(model_.encoder, state_, {tokens, 0, up_to_itself, up_to_itself}, [&](std::size_t layer, const Tensor& h) {
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
    check(y.dim(1) == xt_.dim(1), "[prediction] y {} found, expected values of {} targets", y.shape(), xt_.dim(1));
    Draws draws = state_.draws;
    return Independent(given_those_before(y.to(xt_.dtype()).to(xt_.device()), draws));
  }

  struct Paths {
    Moments moments;  // (K, B, Nt, Dy)
    Tensor values;
  };

  template <class Keys>
  Moments predict(const Targets& targets, const Keys& keys_of) const {
    const Tensor h = encode(model_.encoder, state_, targets, keys_of);  // (B·P, n, E)
    return gaussian_head(model_.predictor(h), model_.config().std);     // (B·P, n, Dy)
  }

  /// n paths of each task.
  Paths follow(std::int64_t n, Draws& draws) const {
    const NoGrad off;
    const Tensor orders = model_.permute_ ? draw_orders(n, draws) : Tensor();
    const Tensor noise = draw_noise(n, draws);
    const std::int64_t together = paths_at_a_time(n);
    std::vector<Tensor> mean, std, values;
    for (std::int64_t begin = 0; begin < n; begin += together) {
      const std::int64_t end = std::min(begin + together, n);
      Paths some = follow(orders.defined() ? slice_paths(orders, begin, end) : Tensor(), slice(noise, 1, begin, end));
      mean.push_back(std::move(some.moments.mean));
      std.push_back(std::move(some.moments.std));
      values.push_back(std::move(some.values));
    }
    return {{concat(mean, 0), concat(std, 0)}, concat(values, 0)};
  }

  /// Of each task and path (B, n, Nt): the targets in the order of numbers that are drawn.
  Tensor draw_orders(std::int64_t n, Draws& draws) const {
    const std::int64_t batch = xt_.dim(0), targets = xt_.dim(1);
    const Tensor keys = draws.normal(n, batch, {targets}, DType::float64, Device::cpu);  // (n, B, Nt)
    Tensor orders = Tensor::empty({batch, n, targets}, DType::int64, Device::cpu);
    for (std::int64_t row = 0; row < n * batch; ++row) {
      const auto width = static_cast<std::size_t>(targets), from = static_cast<std::size_t>(row) * width;
      const auto to = static_cast<std::size_t>(row % batch * n + row / batch) * width;
      sort_places(keys.values<double>().subspan(from, width), orders.values<std::int64_t>().subspan(to, width));
    }
    return orders;
  }

  /// Standard normal, (B, n, Nt · Dy), drawn target by target.
  Tensor draw_noise(std::int64_t n, Draws& draws) const {
    const std::int64_t batch = xt_.dim(0), targets = xt_.dim(1), width = model_.dim_y();
    Tensor noise = Tensor::empty({batch, n, targets * width}, DType::float64, Device::cpu);
    for (std::int64_t t = 0; t < targets; ++t) {
      const Tensor drawn = draws.normal(n, batch, {width}, DType::float64, Device::cpu);  // (n, B, Dy)
      for (std::int64_t row = 0; row < n * batch; ++row)
        std::copy_n(drawn.data<double>() + row * width, width,
                    noise.data<double>() + ((row % batch * n + row / batch) * targets + t) * width);
    }
    return noise.to(xt_.dtype()).to(xt_.device());
  }

  std::int64_t paths_at_a_time(std::int64_t n) const {
    const std::int64_t numbers = 2 * std::ssize(model_.encoder.layers) * model_.config().transformer.width;
    const std::int64_t path = xt_.dim(0) * xt_.dim(1) * numbers * static_cast<std::int64_t>(size_of(xt_.dtype()));
    return std::clamp<std::int64_t>(path_memory(xt_.device()) / std::max<std::int64_t>(path, 1), 1, n);
  }

  /// Orders (B, n, Nt) of paths [begin, end).
  static Tensor slice_paths(const Tensor& orders, std::int64_t begin, std::int64_t end) {
    const std::int64_t batch = orders.dim(0), all = orders.dim(1), targets = orders.dim(2), some = end - begin;
    Tensor part = Tensor::empty({batch, some, targets}, DType::int64, Device::cpu);
    for (std::int64_t b = 0; b < batch; ++b)
      std::copy_n(orders.data<std::int64_t>() + (b * all + begin) * targets, some * targets,
                  part.data<std::int64_t>() + b * some * targets);
    return part;
  }

  /// Paths in these orders (B, P, Nt), undefined for the given one; noise (B, P, Nt · Dy).
  Paths follow(const Tensor& orders, const Tensor& noise) const {
    const std::int64_t batch = xt_.dim(0), paths = noise.dim(1), targets = xt_.dim(1), width = model_.dim_y();
    const Shape each{batch * paths, targets, width};
    const Tensor x = inputs(orders, paths), normal = reshape(noise, each);
    std::vector<KeysValues> cache = room_for(batch * paths, targets - 1);
    Tensor mean = Tensor::empty(each, x.dtype(), x.device()), std = Tensor::empty_like(mean),
           values = Tensor::empty_like(mean);
    for (std::int64_t t = 0; t < targets; ++t) {
      const Moments one = predict_target(x, values, t, cache);
      copy_slice(one.mean, 1, t, mean);
      copy_slice(one.std, 1, t, std);
      copy_slice(add(one.mean, mul(one.std, slice(normal, 1, t, t + 1))), 1, t, values);
    }
    const auto as_given = [&](const Tensor& in_order) {
      if (!orders.defined()) return paths_first(in_order, batch);
      return paths_first(gather(in_order, inverse(orders).view({batch * paths, targets})), batch);
    };
    return {{as_given(mean), as_given(std)}, as_given(values)};
  }

  /// Target t of each path. On the way the one before it, whose value is known by now, enters the cache.
  Moments predict_target(const Tensor& x, const Tensor& values, std::int64_t t, std::vector<KeysValues>& cache) const {
    const std::int64_t given = t > 0 ? 1 : 0;
    const Tensor unknown = Tensor::zeros({x.dim(0), 1, model_.dim_y()}, x.dtype(), x.device());
    const Tensor tokens = model_.embedder(
        concat({slice(x, 1, t - given, t + 1), concat({slice(values, 1, t - given, t), unknown}, 1)}, -1));
    const PrefixMask all = PrefixMask::first(t);
    return predict({tokens, 1, all, all}, [&](std::size_t layer, const Tensor& h) -> const KeysValues& {
      KeysValues& keys = cache[layer];
      if (given == 0) return keys;
      const KeysValues one = model_.encoder.layers[layer].keys_values(slice(h, 1, 0, given));
      copy_slice(one.keys, 1, t - 1, keys.keys);
      copy_slice(one.values, 1, t - 1, keys.values);
      return keys;
    });
  }

  /// Targets in the order in which each path meets them, (B·P, Nt, Dx).
  Tensor inputs(const Tensor& orders, std::int64_t paths) const {
    const std::int64_t batch = xt_.dim(0), targets = xt_.dim(1), width = xt_.dim(2);
    if (orders.defined())
      return reshape(gather(xt_, orders.view({batch, paths * targets})), {batch * paths, targets, width});
    return reshape(broadcast_to(reshape(xt_, {batch, 1, targets, width}), {batch, paths, targets, width}),
                   {batch * paths, targets, width});
  }

  std::vector<KeysValues> room_for(std::int64_t rows, std::int64_t points) const {
    const Shape each{rows, std::max<std::int64_t>(points, 0), model_.config().transformer.width};
    std::vector<KeysValues> layers(model_.encoder.layers.size());
    for (KeysValues& layer : layers)
      layer = {Tensor::empty(each, xt_.dtype(), xt_.device()), Tensor::empty(each, xt_.dtype(), xt_.device())};
    return layers;
  }

  const TnpA& model_;
  const TnpAState& state_;
  Tensor xt_;
};

TnpA::TnpA(const TnpAConfig& config, Initializer& init)
    : TokenTransformer(config, init), permute_(config.permute), value_noise_(config.value_noise) {}

std::unique_ptr<ContextState> TnpA::condition(const Context& context, Draws& draws, std::int64_t samples) const {
  const auto encoded = TokenTransformer::condition(context, draws, samples);
  auto state = std::make_unique<TnpAState>(state_as<TokenTransformerState>(*encoded, "tnp-a"));
  const Tensor none =
      Tensor::zeros({context.xc.dim(0), 0, config().transformer.width}, context.xc.dtype(), context.xc.device());
  state->before.assign(encoder.layers.size(), {none, none});
  return state;
}

std::unique_ptr<Prediction> TnpA::query(const ContextState& state, const Tensor& xt) const {
  return std::make_unique<TargetByTarget>(*this, own(state), xt);
}

Tensor TnpA::loss(const Task& task, Draws& draws) const {
  const auto state = condition({task.xc, task.yc, task.lengths}, draws, 1);
  Tensor given = task.yt;
  if (value_noise_ > 0) {
    const std::int64_t batch = given.dim(0), nt = given.dim(1), dy = given.dim(2);
    const Tensor noise = draws.normal(1, batch, {nt, dy}, given.dtype(), given.device());
    given = add(given, affine(noise.view(given.shape()), value_noise_, 0));
  }
  const TargetByTarget targets(*this, own(*state), task.xt);
  return nll(Independent(targets.given_those_before(given, draws)), task.yt, task.target_weights, task.target_totals);
}

std::unique_ptr<Model> make_tnp_a(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "tnp-a");
  TnpAConfig c{read_tnp_config(reader, "tnp-a")};
  if (c.std.floor > 0) c.value_noise = 0.05;
  c.permute = reader.get<bool>("permute", false);
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
};

constexpr const char* kSmallTnpAs[] = {
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "emb_depth": 2})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "emb_depth": 2, "bound_std": true})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "emb_depth": 2, "permute": true})",
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
      .input_gradients = false,  // of the paths that are drawn, no operations are recorded
  };
}

}  // namespace npzoo
