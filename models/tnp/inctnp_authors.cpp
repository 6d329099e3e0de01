#include "npzoo/models/tnp/inctnp_authors.h"

#include <fmt/core.h>

#include <cmath>

#include "npzoo/models/parity/recorded_forms.h"
#include "npzoo/models/parity/recorded_tensors.h"
#include "npzoo/models/predictions/one_by_one.h"
#include "npzoo/models/tnp/inctnp.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/gather/gather.h"

namespace npzoo {

AuthorsPlace authors_inctnp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] == "embedder") return authors_mlp("encoder.xy_encoder.net", Words(words).subspan(1));
  if (words[0] == "predictor") return authors_mlp("decoder.z_decoder.net", Words(words).subspan(1));
  const char* stream = words[1] == "context_layers" ? "mhsa_layers" : "mhca_layers";
  return mlg_transformer_layer(fmt::format("encoder.transformer_encoder.{}.{}", stream, words[2]),
                               Words(words).subspan(3));
}

namespace {

Context context_between(const Task& task, std::int64_t begin, std::int64_t end) {
  return {slice(task.xc, 1, begin, end), slice(task.yc, 1, begin, end)};
}

void put_moments(NamedTensors& all, const std::string& start, const Moments& moments) {
  all[start + ".mean"] = moments.mean;
  all[start + ".std"] = moments.std;
}

/// √(mean of (mean − y)²) over targets and channels of each row of (B, Nt, Dy): (B).
Tensor root_mean_squares(const Tensor& mean, const Tensor& y) {
  const Tensor ours = in_double(mean), truth = in_double(y);
  const std::int64_t batch = y.dim(0), each = y.numel() / batch;
  Tensor out = Tensor::zeros({batch}, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < y.numel(); ++i)
    out.data<double>()[i / each] += std::pow(ours.data<double>()[i] - truth.data<double>()[i], 2);
  for (double& value : out.values<double>()) value = std::sqrt(value / static_cast<double>(each));
  return out;
}

/// A recorded task and the model that repeats it.
class RunOfIncTnp {
 public:
  RunOfIncTnp(const IncTnp& model, const Task& task) : model_(model), task_(task) {}

  std::unique_ptr<IncTnpState> encoded(const Context& context, std::vector<Tensor>* leaving = nullptr) const {
    return model_.extended({}, context, leaving);
  }
  Moments predicted(const ContextState& state) const { return moments(*model_.query(state, task_.xt)); }

  void training(NamedTensors& all) const {
    Draws none = Draws::recorded({});
    put_moments(
        all, "train",
        model_.config().sequence_loss ? model_.predict_sequence(task_, none).moments : predicted(*encoded(context())));
  }

  void evaluation(NamedTensors& all) const {
    const Moments whole = predicted(*encoded(context()));
    double squares = 0;
    for (const double each : root_mean_squares(whole.mean, task_.yt).values<double>()) squares += each * each;
    all["eval.rmse"] = scalar(std::sqrt(squares / static_cast<double>(task_.yt.dim(0))));
    Tensor order = Tensor::empty({task_.xc.dim(0), task_.xc.dim(1)}, DType::int64, Device::cpu);
    const std::int64_t points = task_.xc.dim(1);
    for (std::int64_t i = 0; i < order.numel(); ++i) order.data<std::int64_t>()[i] = points - 1 - i % points;
    put_moments(all, "eval.reversed", predicted(*encoded({gather(task_.xc, order), gather(task_.yc, order)})));
  }

  /// Keys, values and states of the context in each layer.
  void layers(NamedTensors& all) const {
    std::vector<Tensor> leaving;
    const auto state = encoded(context(), &leaving);
    const std::int64_t heads = model_.config().transformer.heads;
    for (std::size_t i = 0; i < leaving.size(); ++i) {
      const std::string start = fmt::format("state.{}.", i);
      all[start + "context"] = leaving[i];
      const char* const names[] = {"key", "value", "cross_key", "cross_value"};
      for (std::size_t k = 0; k < 4; ++k)
        all[start + names[k]] = split_into_heads(state->cache.rows.points(4 * i + k), heads);
    }
  }

  /// A context that grows by one point, by two, and by the rest, and the same points at once.
  void growth(NamedTensors& all) const {
    std::unique_ptr<IncTnpState> grown = encoded(context_between(task_, 0, 0));
    double apart = 0;
    std::int64_t begin = 0;
    for (const std::int64_t wish : {std::int64_t{1}, std::int64_t{3}, task_.xc.dim(1)}) {
      const std::int64_t end = std::min(wish, task_.xc.dim(1));
      grown = model_.extended(*grown, context_between(task_, begin, end));
      const auto whole = encoded(context_between(task_, 0, end));
      const Moments after = predicted(*grown), full = predicted(*whole);
      put_moments(all, fmt::format("state.after{}", end), after);
      put_moments(all, fmt::format("state.full{}", end), full);
      apart = std::max({apart, difference(after.mean, full.mean), difference(after.std, full.std)});
      for (std::size_t i = 2; i < whole->cache.rows.arrays(); i += 4)
        apart = std::max(apart, difference(grown->cache.rows.points(i), in_double(whole->cache.rows.points(i))));
      begin = end;
    }
    all["state.max_abs_diff"] = scalar(apart);
  }

  /// Each target given the true values of those before it, and along sampled paths.
  void one_by_one(NamedTensors& all, const RecordedTensors& recorded) const {
    const std::shared_ptr<const ContextState> state = encoded(context());
    const std::int64_t batch = task_.yt.dim(0), targets = task_.yt.dim(1), width = task_.yt.dim(2);
    const OneByOne teacher(model_, state, task_.xt, Draws::recorded({}), 1);
    put_moments(all, "eval.teacher", moments(teacher.given_those_before(task_.yt)));
    Tensor each = teacher.joint_log_likelihood(task_.yt).clone();
    for (double& value : each.values<double>()) value /= static_cast<double>(targets * width);
    all["eval.ar.tar_ll"] = each;
    all["eval.ar.rmse"] = root_mean_squares(all.at("eval.teacher.mean"), task_.yt);
    if (!recorded.has("eval.ar.mean")) return;
    const std::int64_t paths = recorded.floats("eval.ar.mean", {RecordedTensors::kAny, batch, targets, width}).dim(0);
    const Draws draws = noise(recorded, paths);
    const OneByOne walks(model_, state, task_.xt, draws, paths);
    const Marginals along = walks.marginals();  // (S, B, Nt, Dy)
    all["eval.ar.mean"] = along.mean;
    all["eval.ar.std"] = along.std;
    Draws again = draws;
    all["eval.ar.samples"] = slice(walks.sample(paths, again), 2, 0, targets - 1);
  }

 private:
  Context context() const { return {task_.xc, task_.yc, task_.lengths}; }

  /// The recorded numbers, of each target for all paths and tasks (B·S, 1, Dy), row b·S + s, in the order in which
  /// paths are walked; zeros for the last target, which the authors do not sample.
  Draws noise(const RecordedTensors& recorded, std::int64_t paths) const {
    const std::int64_t batch = task_.yt.dim(0), targets = task_.yt.dim(1), width = task_.yt.dim(2);
    std::vector<Tensor> calls;
    for (std::int64_t i = 0; i < paths * targets; ++i) {
      const std::int64_t path = i / targets, target = i % targets;
      calls.push_back(Tensor::zeros({1, batch, 1, width}, DType::float64, Device::cpu));
      if (target + 1 == targets) continue;
      const Tensor& all = recorded.numbers(fmt::format("eval.random.{}", target), {batch * paths, 1, width});
      for (std::int64_t b = 0; b < batch; ++b)
        std::copy_n(all.data<double>() + (b * paths + path) * width, width, calls.back().data<double>() + b * width);
    }
    return Draws::recorded(std::move(calls));
  }

  const IncTnp& model_;
  const Task& task_;
};

}  // namespace

NamedTensors recorded_inctnp(const Model& model, const Task& task, const Prediction& /*prediction*/,
                             const RecordedTensors& recorded) {
  const RunOfIncTnp run(dynamic_cast<const IncTnp&>(model), task);
  NamedTensors all;
  run.training(all);
  run.evaluation(all);
  run.layers(all);
  if (!task.lengths.defined()) run.growth(all);
  run.one_by_one(all, recorded);
  return all;
}

}  // namespace npzoo
