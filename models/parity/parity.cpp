#include "models/parity/parity.h"

#include <algorithm>
#include <deque>

#include "engine/optim/optimiser.h"
#include "engine/tape.h"
#include "models/parity/record.h"
#include "models/parity/recorded_forms.h"
#include "models/predictions/autoregressive.h"
#include "models/predictions/joint_gaussian.h"
#include "models/registry.h"
#include "ops/concat/concat.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gaussian_log_density/gaussian_log_density.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"

namespace npzoo {

namespace {

constexpr double kTolerance = 1e-10, kAdamTolerance = 1e-9, kFloatTolerance = 2e-6;
constexpr double kRounding = 1e-14;  // of the largest gradient
const std::string kLoss = "train.loss";

class Comparison {
 public:
  Comparison(const Record& record, DType dtype)
      : record_(record),
        tolerance_(dtype == DType::float64 ? kTolerance : kFloatTolerance),
        task_(record.task(dtype)),
        model_(make_model(record.spec(), {.max_elements = record.elements()})),
        parameters_(named_parameters(*model_)),
        own_(parameters_.size()) {
    for (const NamedParameter& p : named_tensors(*model_)) {
      const Tensor value = record.of_parameter(p.parameter->trained ? "param" : "buffer", p).to(dtype);
      p.parameter->value = default_device() == Device::cpu ? value.clone() : value.to(default_device());
    }
    if (record.authors().adam.penalty == 0) return;
    for (const std::string& name : record.other_parameters(parameters_)) {
      penalised_.push_back({record.at("param." + name).to(dtype).to(default_device()).clone()});
      parameters_.push_back({name, &penalised_.back()});
    }
  }

  /// Of what was recorded under `kind`, "eval" or "eval64".
  void predictions(const std::string& kind) {
    NoGrad off;
    if (record_.authors().outputs != nullptr) return outputs();
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
    add(kLoss, loss, tolerance_);
    const Grads& grads = tape.backward(loss);
    double scale = 0, error = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Tensor theirs = recorded("grad", i);
      scale = std::max(scale, largest_value(theirs));
      error = std::max(error, difference(grads.of(parameters_[i].parameter->value), theirs));
    }
    quantities_.push_back({"grad.*", error / scale, kTolerance});
    const std::vector<NamedParameter> all = named_tensors(*model_);
    std::vector<Tensor> before;
    for (const NamedParameter& p : all) before.push_back(p.parameter->value);
    model_->before_step(task_, record_.training_draws());
    buffers("train.buffer");
    for (std::size_t i = 0; i < all.size(); ++i) all[i].parameter->value = before[i];
  }

  /// Ten updates, which change the model.
  void adam() {
    const RecordedAdam& adam = record_.authors().adam;
    OptimiserConfig config{.name = adam.name, .lr = adam.lr, .beta1 = 0.9, .beta2 = 0.999, .epsilon = adam.epsilon};
    config.weight_decay = adam.weight_decay;
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
    const AuthorsCode& authors = record_.authors();
    Tensor loss = authors.loss != nullptr ? authors.loss(*model_, task_, draws) : model_->loss(task_, draws);
    if (authors.adam.penalty != 0)
      for (const NamedParameter& p : parameters_)
        loss = npzoo::add(loss, affine(sum(square(p.parameter->value)), authors.adam.penalty / 2, 0));
    return loss;
  }

  /// Of parameter i, ours or one of theirs that is penalised alone.
  Tensor recorded(const std::string& kind, std::size_t i) const {
    return i < own_ ? record_.of_parameter(kind, parameters_[i]) : record_.at(kind + "." + parameters_[i].name);
  }

  /// What is kept of batches, after some of them.
  void buffers(const std::string& kind) {
    for (const NamedParameter& p : named_tensors(*model_)) {
      const std::string name = kind + "." + record_.authors().place(p.name).name;
      if (!p.parameter->trained && record_.has(name)) add(name, p.parameter->value, tolerance_);
    }
  }

  void updates(const std::string& kind, const OptimiserConfig& config, double clip_norm) {
    const Tensor& theirs = record_.at(kind + ".losses");
    Optimiser optimiser(config, parameters_);
    Tensor losses = Tensor::empty(theirs.shape(), DType::float64, Device::cpu), norms = losses.clone();
    Tape tape;
    for (std::int64_t step = 0; step < theirs.numel(); ++step) {
      model_->before_step(task_, record_.training_draws(step + 1));
      const Tensor loss = record_step(tape, record_.training_draws(step + 1));
      losses.data<double>()[step] = loss.item();
      optimiser.step(tape.backward(loss), config.lr, clip_norm);
      norms.data<double>()[step] = optimiser.gradient_norm();
    }
    add(kind + ".losses", losses, kAdamTolerance);
    buffers(kind + ".final_buffer");
    if (record_.has(kind + ".grad_norm")) add(kind + ".grad_norm", norms, kAdamTolerance);
    if (!record_.has_final(kind)) return;
    double scale = 1, error = 0, slope = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) slope = std::max(slope, largest_value(recorded("grad", i)));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      // The gradient of a key's bias is 0, and what rounding makes of it an optimiser scales up to steps of its own.
      if (const double own = largest_value(recorded("grad", i)); 0 < own && own <= kRounding * slope) continue;
      const Tensor final_value = recorded(kind + ".final", i);
      scale = std::max(scale, largest_value(final_value));
      error = std::max(error, difference(parameters_[i].parameter->value, final_value));
    }
    quantities_.push_back({kind + ".final.*", error / scale, kAdamTolerance});
  }

  /// What this family's recordings have instead of densities and moments.
  void outputs() {
    const auto add_outputs = [&](const std::string& start, Draws draws, bool training) {
      for (const auto& [name, ours] : record_.authors().outputs(*model_, task_, draws, training))
        if (start + name != kLoss) add_real(start + name, ours);
    };
    add_outputs("eval.", record_.evaluation_draws(), false);
    add_outputs("train.", record_.training_draws(), true);
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

  /// Without targets that are padding, of what has them.
  void add_real(const std::string& name, const Tensor& ours) {
    if (!record_.has(name)) return;
    add(name, without_padding(ours, task_.target_weights), without_padding(record_.at(name), task_.target_weights),
        tolerance_);
  }

  void add_recorded(const std::string& name, const Tensor& ours) {
    if (record_.has(name)) add(name, ours, tolerance_);
  }

  void add(const std::string& name, const Tensor& ours, double tolerance) {
    add(name, ours, record_.at(name).to(DType::float64), tolerance);
  }

  void add(const std::string& name, const Tensor& ours, const Tensor& theirs, double tolerance) {
    quantities_.push_back({name, difference(ours, theirs) / std::max(1.0, largest_value(theirs)), tolerance});
  }

  const Record& record_;
  double tolerance_;
  Task task_;
  std::unique_ptr<Model> model_;
  std::deque<Parameter> penalised_;  // of theirs, that we have not
  std::vector<NamedParameter> parameters_;
  std::size_t own_;  // so many of them are the model's
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
  if (record.dtype() == DType::float64) {
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
