#include "models/parity/parity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "datasets/gp/cholesky.h"
#include "engine/optim/optimiser.h"
#include "engine/tape.h"
#include "models/parity/record.h"
#include "models/predictions/autoregressive.h"
#include "models/predictions/joint_gaussian.h"
#include "models/registry.h"
#include "ops/concat/concat.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gaussian_log_density/gaussian_log_density.h"
#include "ops/reshape/reshape.h"

namespace npzoo {

namespace {

constexpr double kTolerance = 1e-10, kAdamTolerance = 1e-9, kFloatTolerance = 2e-6;
constexpr double kRounding = 1e-14;  // of the largest gradient

double largest_value(const Tensor& x) {
  double top = 0;
  for (double value : x.values<double>()) top = std::max(top, std::abs(value));
  return top;
}

/// Largest difference; infinite where one side is not a number.
double difference(const Tensor& ours, const Tensor& theirs) {
  check(ours.numel() == theirs.numel(), "[parity] {} values computed, {} recorded", ours.shape(), theirs.shape());
  const Tensor a = ours.to(Device::cpu).to(DType::float64), b = theirs.to(DType::float64);
  const auto found = a.values<double>(), expected = b.values<double>();
  double top = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double d = std::abs(found[i] - expected[i]);
    top = d <= top ? top : std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
  }
  return top;
}

Tensor in_double(const Tensor& x) { return x.to(Device::cpu).to(DType::float64); }

double mean_of(const Tensor& x) {
  const Tensor values = in_double(x);
  double sum = 0;
  for (const double value : values.values<double>()) sum += value;
  return sum / static_cast<double>(values.numel());
}

Tensor scalar(double value) { return Tensor::full({}, value, DType::float64); }

/// Functions (K, B, …) in the order in which they were recorded: (B·K, …), row b·K + k, where the first extent says so.
Tensor as_recorded(const Tensor& ours, const Tensor& theirs) {
  const std::int64_t count = ours.dim(0), batch = ours.dim(1), row = ours.numel() / (count * batch);
  if (count == 1 || theirs.dim(0) != count * batch) return ours;
  const Tensor from = in_double(ours);
  Tensor out = Tensor::empty(theirs.shape(), DType::float64);
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t b = 0; b < batch; ++b)
      std::copy_n(from.data<double>() + (k * batch + b) * row, row, out.data<double>() + (b * count + k) * row);
  return out;
}

/// Factor · factorᵀ and the diagonal, (B, M, M).
Tensor covariance(const JointGaussian& joint) {
  const Tensor factors = in_double(joint.factor());
  const std::int64_t batch = factors.dim(0), m = factors.dim(1), rank = factors.dim(2);
  Tensor all = Tensor::zeros({batch, m, m}, DType::float64);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < m; ++j) {
        double& value = all.data<double>()[(b * m + i) * m + j];
        for (std::int64_t r = 0; r < rank; ++r)
          value += factors.data<double>()[(b * m + i) * rank + r] * factors.data<double>()[(b * m + j) * rank + r];
        if (i == j && joint.diagonal().defined()) value += in_double(joint.diagonal()).data<double>()[b * m + i];
      }
  return all;
}

/// Its lower triangular factor, with a positive diagonal where it is not the one that the model gives.
Tensor scale_tril(const JointGaussian& joint) {
  if (!joint.diagonal().defined()) return in_double(joint.factor());
  Tensor factors = covariance(joint);
  const std::int64_t m = factors.dim(1);
  for (std::int64_t b = 0; b < factors.dim(0); ++b) {
    const std::span<double> matrix = factors.values<double>().subspan(b * m * m, m * m);
    const Cholesky cholesky(std::vector<double>(matrix.begin(), matrix.end()), m);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < m; ++j) matrix[i * m + j] = j <= i ? cholesky(i, j) : 0;
  }
  return factors;
}

/// Targets of samples (K, B, Nt, Dy) in the order (K, Nt) in which the authors' code drew and left them.
Tensor in_order(const Tensor& samples, const Tensor& order) {
  const std::int64_t batch = samples.dim(1), targets = samples.dim(2), width = samples.dim(3);
  Tensor out = Tensor::empty_like(samples);
  for (std::int64_t row = 0; row < samples.dim(0) * batch; ++row)
    for (std::int64_t t = 0; t < targets; ++t)
      std::copy_n(
          samples.data<double>() + (row * targets + order.data<std::int64_t>()[row / batch * targets + t]) * width,
          width, out.data<double>() + (row * targets + t) * width);
  return out;
}

class Comparison {
 public:
  Comparison(const Record& record, DType dtype)
      : record_(record),
        tolerance_(dtype == DType::float64 ? kTolerance : kFloatTolerance),
        task_(record.task(dtype)),
        model_(make_model(record.spec(), {.max_elements = record.elements()})),
        parameters_(named_parameters(*model_)) {
    for (const NamedParameter& p : named_tensors(*model_)) {
      const Tensor value = record.of_parameter(p.parameter->trained ? "param" : "buffer", p).to(dtype);
      p.parameter->value = default_device() == Device::cpu ? value.clone() : value.to(default_device());
    }
  }

  /// Of what was recorded under `kind`, "eval" or "eval64".
  void predictions(const std::string& kind) {
    NoGrad off;
    Draws draws = record_.evaluation_draws();
    const auto state = model_->condition({task_.xc, task_.yc, task_.lengths}, draws, record_.evaluation_samples());
    const auto p = model_->query(*state, task_.xt);
    add_moments(kind + ".", *p);
    if (kind != "eval") return;
    if (record_.authors().state != nullptr && record_.first_points() == 0)
      for (const auto& [name, ours] : record_.authors().state(*state))
        for (const char* kind_of : {"eval.", "train."}) add_recorded(kind_of + name, ours);
    densities(*state, *p);
    if (const auto* joint = dynamic_cast<const JointGaussian*>(p.get()))
      task_.target_lengths.defined() ? leading_factors() : joint_gaussian(*joint, draws);
    if (const auto* sequence = dynamic_cast<const Autoregressive*>(p.get())) teacher_forced(*sequence, *p);
  }

  void loss_and_gradients() {
    Tape tape;
    const Tensor loss = record_step(tape, record_.training_draws());
    add("train.loss", loss, tolerance_);
    const Grads& grads = tape.backward(loss);
    double scale = 0, error = 0;
    for (const NamedParameter& p : parameters_) {
      const Tensor theirs = record_.of_parameter("grad", p);
      scale = std::max(scale, largest_value(theirs));
      error = std::max(error, difference(grads.of(p.parameter->value), theirs));
    }
    quantities_.push_back({"grad.*", error / scale, kTolerance});
  }

  /// Ten updates, which change the model.
  void adam() {
    OptimiserConfig config{
        .name = "adam", .lr = record_.authors().adam.lr, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
    config.weight_decay = record_.authors().adam.weight_decay;
    updates("adam", config, 0);
  }

  /// The same by the optimiser of TNP-KR's authors.
  void yogi() { updates("yogi", {.name = "yogi", .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-3}, 3); }

  /// A context in two parts: after the first, after the second, and both at once.
  void states() {
    const std::int64_t first = record_.first_points(), all = task_.xc.dim(1);
    if (first == 0) return;
    NoGrad off;
    const auto points = [&](std::int64_t begin, std::int64_t end) {
      return Context{slice(task_.xc, 1, begin, end), slice(task_.yc, 1, begin, end)};
    };
    const auto condition = [&](const Context& context) {
      Draws draws = record_.evaluation_draws();
      return model_->condition(context, draws, record_.evaluation_samples());
    };
    const auto begun = condition(points(0, first));
    state("state.first.", *begun);
    state("state.updated.", *model_->update(*begun, points(first, all)));
    state("state.full.", *condition(points(0, all)));
  }

  std::vector<ParityQuantity> take() { return std::move(quantities_); }

 private:
  Tensor record_step(Tape& tape, Draws draws) {
    Recording on(tape);
    for (const NamedParameter& p : parameters_) tape.watch(p.parameter->value);
    return model_->loss(task_, draws);
  }

  void updates(const std::string& kind, const OptimiserConfig& config, double clip_norm) {
    const Tensor& theirs = record_.at(kind + ".losses");
    Optimiser optimiser(config, parameters_);
    Tensor losses = Tensor::empty(theirs.shape(), DType::float64, Device::cpu), norms = losses.clone();
    Tape tape;
    for (std::int64_t step = 0; step < theirs.numel(); ++step) {
      const Tensor loss = record_step(tape, record_.training_draws(step + 1));
      losses.data<double>()[step] = loss.item();
      optimiser.step(tape.backward(loss), config.lr, clip_norm);
      norms.data<double>()[step] = optimiser.gradient_norm();
    }
    add(kind + ".losses", losses, kAdamTolerance);
    if (record_.has(kind + ".grad_norm")) add(kind + ".grad_norm", norms, kAdamTolerance);
    if (!record_.has_final(kind)) return;
    double scale = 1, error = 0, slope = 0;
    for (const NamedParameter& p : parameters_) slope = std::max(slope, largest_value(record_.of_parameter("grad", p)));
    for (const NamedParameter& p : parameters_) {
      // The gradient of a key's bias is 0, and what rounding makes of it an optimiser scales up to steps of its own.
      if (const double own = largest_value(record_.of_parameter("grad", p)); 0 < own && own <= kRounding * slope)
        continue;
      const Tensor final_value = record_.of_parameter(kind + ".final", p);
      scale = std::max(scale, largest_value(final_value));
      error = std::max(error, difference(p.parameter->value, final_value));
    }
    quantities_.push_back({kind + ".final.*", error / scale, kAdamTolerance});
  }

  /// Of each target by itself, of all together, and of what the authors' reductions make of them.
  void densities(const ContextState& state, const Prediction& p) {
    if (model_info(record_.spec().name).density == Density::joint) {
      const Tensor together = p.joint_log_likelihood(task_.yt);
      Tensor each = together.clone();
      for (double& value : each.values<double>()) value /= static_cast<double>(task_.yt.dim(1));
      add_recorded("eval.joint.tar_ll", each);
      add_recorded("eval.tar_ll", scalar(mean_of(each)));
      add_recorded("eval.nll", scalar(-mean_of(each)));
      return;
    }
    const Tensor own = in_double(p.log_likelihood(task_.yt));
    if (record_.has("eval.nll")) add("eval.nll", scalar(-mean_by_channel(p)), tolerance_);
    add_recorded("eval.tar_ll", scalar(mean_of(own)));
    add_recorded("eval.ll", scalar(mean_of(own)));
    add_recorded("eval.loglik", p.joint_log_likelihood(task_.yt));
    pointwise("eval.pointwise.tar_ll", p, task_.yt);
    if (!record_.has("eval.pointwise.ctx_ll")) return;
    const auto context = model_->query(state, task_.xc);
    pointwise("eval.pointwise.ctx_ll", *context, task_.yc);
    add_recorded("eval.ctx_ll", scalar(mean_of(in_double(context->log_likelihood(task_.yc)))));
  }

  /// Mean over real targets and channels, each of which is a mixture by itself.
  double mean_by_channel(const Prediction& p) const {
    const Marginals m = p.marginals();
    const std::int64_t batch = task_.yt.dim(0), channels = task_.yt.dim(2), values = task_.yt.dim(1) * channels;
    const Shape each_alone{m.mean.dim(0), batch, values, 1};
    const Marginals alone{reshape(m.mean, each_alone), reshape(m.std, each_alone)};
    const Tensor each = log_likelihood(alone, reshape(task_.yt, {batch, values, 1}));  // (B, Nt · Dy)
    const Tensor weights = in_double(task_.target_weights);                            // (B, Nt)
    double sum = 0, count = 0;
    for (std::int64_t i = 0; i < each.numel(); ++i) {
      const double weight = weights.data<double>()[i / channels];
      sum += weight * each.data<double>()[i];
      count += weight;
    }
    return sum / count;
  }

  /// Recorded (B, N), or of each function (K, B, N).
  void pointwise(const std::string& name, const Prediction& p, const Tensor& y) {
    if (!record_.has(name)) return;
    if (record_.at(name).rank() == 2) return add(name, p.log_likelihood(y), tolerance_);
    const Marginals m = p.marginals();
    add(name, gaussian_log_density(broadcast_to(y, m.mean.shape()), m.mean, m.std), tolerance_);
  }

  void joint_gaussian(const JointGaussian& joint, Draws& draws) {
    add_recorded("eval.covariance", covariance(joint));
    const Tensor factor = scale_tril(joint);
    add_recorded("eval.scale_tril", factor);
    if (!record_.has("eval.samples")) return;
    const std::int64_t samples = record_.at("eval.samples").dim(0);
    // What was recorded multiplies the triangular factor, so a low rank has other draws than ours.
    const JointGaussian triangular(joint.mean(), factor);
    add("eval.samples", triangular.sample(samples, draws), tolerance_);
  }

  /// Of tasks that have targets of different numbers: of the real ones, asked for by themselves, and the part of what
  /// was recorded that is theirs.
  void leading_factors() {
    const Tensor& theirs = record_.at("eval.scale_tril");
    double error = 0;
    for (std::int64_t b = 0; b < task_.xc.dim(0); ++b) {
      const auto row = [b](const Tensor& x) { return slice(x, 0, b, b + 1); };
      Draws draws = record_.evaluation_draws();
      const std::int64_t points = task_.lengths.values<std::int64_t>()[b],
                         targets = task_.target_lengths.values<std::int64_t>()[b];
      const auto state =
          model_->condition({row(task_.xc), row(task_.yc), Tensor::from<std::int64_t>({1}, {points})}, draws, 1);
      const auto p = model_->query(*state, slice(row(task_.xt), 1, 0, targets));
      const Tensor ours = scale_tril(dynamic_cast<const JointGaussian&>(*p));
      error = std::max(error, difference(ours, slice(slice(row(theirs), 1, 0, ours.dim(1)), 2, 0, ours.dim(1))));
    }
    quantities_.push_back({"eval.scale_tril", error / std::max(1.0, largest_value(theirs)), tolerance_});
  }

  /// Blocks of targets, each given the true values of those before it.
  void teacher_forced(const Autoregressive& sequence, const Prediction& p) {
    std::vector<Tensor> means, deviations, each;
    std::int64_t number = 0;
    sequence.teacher_forced(task_.yt, [&](const Prediction& block, std::int64_t begin, std::int64_t end) {
      if (const auto* joint = dynamic_cast<const JointGaussian*>(&block)) {
        const std::string start = "eval.block" + std::to_string(number++) + ".";
        add_recorded(start + "mean", joint->mean());
        add_recorded(start + "scale_tril", scale_tril(*joint));
        return;
      }
      const Moments m = moments(block);
      means.push_back(m.mean);
      deviations.push_back(m.std);
      each.push_back(in_double(block.log_likelihood(slice(task_.yt, 1, begin, end))));
    });
    if (means.empty()) return;
    add_recorded("eval.teacher.mean", concat(means, 1));
    add_recorded("eval.teacher.std", concat(deviations, 1));
    add_recorded("eval.pointwise.tar_ll", concat(each, 1));
    if (!record_.has("eval.samples")) return;
    Draws draws = record_.evaluation_draws();
    const Tensor samples = p.sample(record_.at("eval.samples").dim(0), draws);
    add("eval.samples", record_.has("eval.permutation") ? in_order(samples, record_.at("eval.permutation")) : samples,
        tolerance_);
  }

  void state(const std::string& start, const ContextState& state) {
    for (const auto& [name, ours] : record_.authors().state(state)) add(start + name, ours, tolerance_);
    if (!record_.has(start + "mean")) return;
    add_moments(start, *model_->query(state, task_.xt));
  }

  /// Of each function where several were recorded.
  void add_moments(const std::string& start, const Prediction& prediction) {
    if (!record_.has(start + "mean")) return;
    const Marginals m = prediction.marginals();
    const auto put = [&](const std::string& name, const Tensor& ours) {
      if (record_.has(name)) add(name, as_recorded(ours, record_.at(name)), tolerance_);
    };
    put(start + "mean", m.mean);
    put(start + "std", m.std);
    put(start + "var", square(m.std));
  }

  void add_recorded(const std::string& name, const Tensor& ours) {
    if (record_.has(name)) add(name, ours, tolerance_);
  }

  void add(const std::string& name, const Tensor& ours, double tolerance) {
    const Tensor theirs = record_.at(name).to(DType::float64);
    quantities_.push_back({name, difference(ours, theirs) / std::max(1.0, largest_value(theirs)), tolerance});
  }

  const Record& record_;
  double tolerance_;
  Task task_;
  std::unique_ptr<Model> model_;
  std::vector<NamedParameter> parameters_;
  std::vector<ParityQuantity> quantities_;
};

}  // namespace

double ParityReport::max_error() const {
  double top = 0;
  for (const ParityQuantity& q : quantities) top = std::max(top, q.max_error);
  return top;
}

bool ParityReport::passed() const {
  return std::ranges::all_of(quantities, [](const ParityQuantity& q) { return q.max_error <= q.tolerance; });
}

ParityReport check_parity(const std::filesystem::path& path) {
  const Record record(path);
  ParityReport report{path.string(), record.spec().name, {}};
  Comparison exact(record, DType::float64);
  if (record.at("xc").dtype() == DType::float64) {
    exact.predictions("eval");
    exact.states();
    exact.loss_and_gradients();
    exact.adam();
    report.quantities = exact.take();
    if (record.has("yogi.losses")) {
      Comparison again(record, DType::float64);
      again.yogi();
      std::ranges::move(again.take(), std::back_inserter(report.quantities));
    }
    return report;
  }
  exact.predictions("eval64");
  report.quantities = exact.take();
  Comparison rounded(record, DType::float32);
  rounded.predictions("eval");
  std::ranges::move(rounded.take(), std::back_inserter(report.quantities));
  return report;
}

}  // namespace npzoo
