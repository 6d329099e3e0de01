#include "npzoo/models/applications/optimise/model_surrogate.h"

#include <cmath>
#include <utility>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/predictions/autoregressive.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

Belief belief_of(const Marginals& marginals) {
  const Marginals m = on_host(marginals);
  check_gaussian(m, "optimise");
  check(m.scale == Scale::linear && m.labels == 0, "[optimise] the model does not predict values of functions");
  const auto doubles = [](const Tensor& t) {
    return t.defined() ? std::vector<double>(t.values<double>().begin(), t.values<double>().end())
                       : std::vector<double>();
  };
  return {m.mean.dim(0), doubles(m.mean), doubles(m.std), doubles(m.log_weight)};
}

Marginals each_alone(const Prediction& prediction) {
  const auto* sequence = dynamic_cast<const Autoregressive*>(&prediction);
  return sequence ? sequence->each_alone() : prediction.marginals();
}

ModelSurrogate::ModelSurrogate(const Model& model, const ModelInfo& info, std::int64_t tasks,
                               ModelSurrogateOptions options)
    : model_(model),
      info_(info),
      device_(device_of(model)),
      tasks_(tasks),
      options_(std::move(options)),
      seen_(static_cast<std::size_t>(tasks), Observations{.dims = model.dim_x()}),
      shift_(static_cast<std::size_t>(tasks)),
      scale_(static_cast<std::size_t>(tasks), 1.0) {
  check(model.dim_y() == 1, "[optimise] {} predicts {} values, expected a model of one", info_.name, model.dim_y());
}

ModelSurrogate::~ModelSurrogate() = default;

bool ModelSurrogate::samples_functions() const { return info_.drawing() != Density::marginal; }

Tensor ModelSurrogate::tensor(std::vector<double> values, const Shape& shape) const {
  return Tensor::from<double>(shape, std::span<const double>(values)).to(options_.dtype).to(device_);
}

std::vector<double> ModelSurrogate::inputs(std::span<const double> x) const {
  const Interval& to = options_.range.inputs;
  std::vector<double> mapped;
  for (const double u : x) mapped.push_back(to.low + u * (to.high - to.low));
  return mapped;
}

/// The values from number `first` on, each task `copies` times.
Context ModelSurrogate::context(std::int64_t first, std::int64_t copies) const {
  const std::int64_t n = seen_.front().size() - first, dims = model_.dim_x();
  std::vector<double> xc, yc;
  for (std::size_t b = 0; b < seen_.size(); ++b)
    for (std::int64_t k = 0; k < copies; ++k) {
      const std::vector<double> x = inputs(std::span(seen_[b].x).subspan(static_cast<std::size_t>(first * dims)));
      xc.insert(xc.end(), x.begin(), x.end());
      for (std::size_t i = static_cast<std::size_t>(first); i < seen_[b].y.size(); ++i)
        yc.push_back((seen_[b].y[i] - shift_[b]) / scale_[b]);
    }
  return {tensor(std::move(xc), {tasks_ * copies, n, dims}), tensor(std::move(yc), {tasks_ * copies, n, 1}), {}};
}

void ModelSurrogate::observe(std::span<const double> x, std::span<const double> y) {
  const DeviceScope on(device_);
  const auto dims = static_cast<std::size_t>(model_.dim_x()), each = y.size() / seen_.size();
  check(y.size() % seen_.size() == 0 && x.size() == y.size() * dims,
        "[optimise] {} inputs and {} values of {} tasks, expected {} inputs for each value", x.size(), y.size(), tasks_,
        dims);
  const std::int64_t before = seen_.front().size();
  for (std::size_t b = 0; b < seen_.size(); ++b) {
    const auto points = x.subspan(b * each * dims, each * dims);
    const auto values = y.subspan(b * each, each);
    seen_[b].x.insert(seen_[b].x.end(), points.begin(), points.end());
    seen_[b].y.insert(seen_[b].y.end(), values.begin(), values.end());
    if (!options_.standardise) continue;
    double sum = 0, squares = 0;
    for (const double v : seen_[b].y) sum += v;
    shift_[b] = sum / static_cast<double>(seen_[b].size());
    for (const double v : seen_[b].y) squares += (v - shift_[b]) * (v - shift_[b]);
    const double std = std::sqrt(squares / static_cast<double>(seen_[b].size()));
    scale_[b] = std > 0 ? std / options_.range.value_std : 1;
  }
  const NoGrad off;
  Draws draws(options_.seed, Purpose::prediction, 0);
  state_ = state_ && !options_.standardise ? model_.update(*state_, context(before, 1))
                                           : model_.condition(context(0, 1), draws, options_.samples);
  const auto of_one = model_.query(*state_, slice(context(0, 1).xc, 1, 0, 1));
  sequential_ = dynamic_cast<const Autoregressive*>(of_one.get()) != nullptr;
}

/// Returns x as targets of the model, (B, N, D).
Tensor ModelSurrogate::places(std::span<const double> x) const {
  check(state_ != nullptr, "[optimise] {} has no observation, expected one or more", info_.name);
  return tensor(inputs(x), {tasks_, std::ssize(x) / model_.dim_x() / tasks_, model_.dim_x()});
}

/// Returns the marginals of B N points in their order.
Marginals ModelSurrogate::targets_alone(const Tensor& xt) const {
  throw_if_stopped();
  if (sequential_ || info_.density != Density::joint) return each_alone(*model_.query(*state_, xt));
  // Every point is a task of its own.
  Draws draws(options_.seed, Purpose::prediction, 0);
  const auto state = model_.condition(context(0, xt.dim(1)), draws, options_.samples);
  return model_.query(*state, reshape(xt, {tasks_ * xt.dim(1), 1, model_.dim_x()}))->marginals();
}

Belief ModelSurrogate::in_values(const Marginals& marginals) const {
  Belief belief = belief_of(marginals);
  const std::size_t all = static_cast<std::size_t>(belief.points()), each = all / seen_.size();
  for (std::size_t i = 0; i < belief.mean.size(); ++i) {
    const std::size_t b = i % all / each;
    belief.mean[i] = shift_[b] + scale_[b] * belief.mean[i];
    belief.std[i] *= scale_[b];
  }
  return belief;
}

Belief ModelSurrogate::believe(std::span<const double> x) const {
  const DeviceScope on(device_);
  const NoGrad off;
  return in_values(targets_alone(places(x)));
}

/// Computes slopes by differences of the fourth order.
Judged ModelSurrogate::judge_by_differences(std::span<const double> x, const Judge& judge) const {
  constexpr double kStep = 1e-3;
  const auto dims = static_cast<std::size_t>(model_.dim_x());
  Judged judged{judge(believe(x), nullptr), std::vector<double>(x.size())};
  for (std::size_t d = 0; d < dims; ++d)
    for (const auto& [steps, weight] : {std::pair{1, 8.0}, {-1, -8.0}, {2, -1.0}, {-2, 1.0}}) {
      std::vector<double> moved(x.begin(), x.end());
      for (std::size_t i = d; i < x.size(); i += dims) moved[i] += steps * kStep;
      const std::vector<double> value = judge(believe(moved), nullptr);
      for (std::size_t i = 0; i < value.size(); ++i) judged.d_x[i * dims + d] += weight * value[i] / (12 * kStep);
    }
  return judged;
}

Judged ModelSurrogate::judge(std::span<const double> x, const Judge& judge) const {
  const DeviceScope on(device_);
  if (!info_.input_gradients) return judge_by_differences(x, judge);
  Tensor xt = places(x);
  Tape tape;
  tape.watch(xt);
  Marginals marginals;
  Tensor out;
  {
    const Recording on(tape);
    marginals = targets_alone(xt);
    const auto flat = [](const Tensor& t) { return reshape(t, {t.numel()}); };
    out = marginals.log_weight.defined()
              ? concat({flat(marginals.mean), flat(marginals.std), flat(marginals.log_weight)}, 0)
              : concat({flat(marginals.mean), flat(marginals.std)}, 0);
  }
  BeliefSlopes slopes;
  const Belief belief = in_values(marginals);
  Judged judged{judge(belief, &slopes), {}};
  const std::size_t all = static_cast<std::size_t>(belief.points()), each = all / seen_.size();
  std::vector<double> d_out;
  for (const auto* part : {&slopes.mean, &slopes.std})
    for (std::size_t i = 0; i < part->size(); ++i) d_out.push_back((*part)[i] * scale_[i % all / each]);
  if (marginals.log_weight.defined()) d_out.insert(d_out.end(), slopes.log_weight.begin(), slopes.log_weight.end());
  const Shape shape{std::ssize(d_out)};
  const Tensor d_x = tape.backward(out, tensor(std::move(d_out), shape)).of(xt).to(Device::cpu).to(DType::float64);
  const double extent = options_.range.inputs.high - options_.range.inputs.low;
  for (const double d : d_x.values<double>()) judged.d_x.push_back(d * extent);
  return judged;
}

std::vector<double> ModelSurrogate::sample(std::span<const double> x, Draws& draws) const {
  const DeviceScope on(device_);
  if (!samples_functions()) return {};
  const NoGrad off;
  const std::int64_t dims = model_.dim_x(), each = std::ssize(x) / dims / tasks_;
  const Tensor drawn = model_.query(*state_, tensor(inputs(x), {tasks_, each, dims}))->sample(1, draws);
  std::vector<double> values(drawn.values<double>().begin(), drawn.values<double>().end());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t b = i / static_cast<std::size_t>(each);
    values[i] = shift_[b] + scale_[b] * values[i];
  }
  return values;
}

}  // namespace npzoo
