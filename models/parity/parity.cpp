#include "npzoo/models/parity/parity.h"

#include <algorithm>
#include <deque>

#include "npzoo/engine/optim/optimiser.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/parity/quantities.h"
#include "npzoo/models/parity/record.h"
#include "npzoo/models/parity/recorded_forms.h"
#include "npzoo/models/predictions/autoregressive.h"
#include "npzoo/models/predictions/joint_gaussian.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gaussian_log_density/gaussian_log_density.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

constexpr double kTolerance = 1e-10, kAdamTolerance = 1e-9, kFloatTolerance = 2e-6, kAdamwClip = 0.5;
constexpr double kRounding = 1e-14;           // of the largest gradient
constexpr std::int64_t kMostUpdates = 1'000;  // recordings have 10
const std::string kLoss = "train.loss", kEvaluation = "eval.random.", kTraining = "random.";

/// A few bytes of a recording may describe a grid of any size.
std::unique_ptr<Model> model_of(const Record& record) {
  if (const auto nodes = record.authors().nodes; nodes != nullptr) {
    const std::int64_t count = nodes(record.spec().config);
    check(count <= record.elements(),
          "[parity] {}: the model has a grid of {} nodes, expected at most {}, the numbers in the file", record.path(),
          count, record.elements());
  }
  return make_model(record.spec(), {.max_elements = record.elements()});
}

class Comparison {
 public:
  Comparison(const Record& record, DType dtype)
      : record_(record),
        quantities_(record.tensors(), dtype == DType::float64 ? kTolerance : kFloatTolerance),
        task_(record.task(dtype)),
        model_(model_of(record)),
        parameters_(named_parameters(*model_)),
        own_(parameters_.size()) {
    for (const NamedParameter& p : named_tensors(*model_)) {
      const Tensor value = record.of_parameter(p.parameter->trained ? "param" : "buffer", p).to(dtype);
      p.parameter->value = default_device() == Device::cpu ? value.clone() : value.to(default_device());
    }
    if (record.authors().adam.penalty == 0) return;
    for (const std::string& name : record.other_parameters(parameters_)) {
      record.tensors().check_finite("param." + name);
      penalised_.push_back({record.tensors().at("param." + name).to(dtype).to(default_device()).clone()});
      parameters_.push_back({name, &penalised_.back()});
    }
  }

  /// Compares predictions that were recorded under `kind`, "eval" or "eval64".
  void predictions(const std::string& kind) {
    NoGrad off;
    if (record_.authors().outputs != nullptr) return outputs();
    Draws draws = record_.draws(kEvaluation);
    const auto state = model_->condition({task_.xc, task_.yc, task_.lengths}, draws, record_.evaluation_samples());
    const auto p = model_->query(*state, task_.xt);
    add_moments(kind + ".", *p);
    if (kind != "eval") return record_.drawn(kEvaluation, draws.calls());
    // A model whose state was recorded draws nothing and has no mode for training.
    if (record_.authors().state != nullptr && record_.first_points() == 0) {
      add_moments("train.", *p);
      for (const auto& [name, ours] : record_.authors().state(*state))
        for (const char* kind_of : {"eval.", "train."}) quantities_.add_if_recorded(kind_of + name, ours);
    }
    densities(*state, *p);
    if (record_.has("eval.shifted.mean")) shifted();
    if (const auto* joint = dynamic_cast<const JointGaussian*>(p.get()))
      task_.target_lengths.defined() ? leading_factors() : joint_gaussian(*joint, draws);
    record_.drawn(kEvaluation, draws.calls());
    if (const auto* sequence = dynamic_cast<const Autoregressive*>(p.get())) teacher_forced(*sequence, *p);
    if (record_.authors().others == nullptr) return;
    for (const auto& [name, ours] : record_.authors().others(*model_, task_, *p, record_.tensors()))
      quantities_.add_real(name, ours, task_.target_weights);
  }

  void loss_and_gradients() {
    Tape tape;
    const Tensor loss = record_step(tape, kTraining);
    quantities_.add(kLoss, loss);
    const Grads& grads = tape.backward(loss);
    double scale = 0, error = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Tensor theirs = recorded("grad", i);
      scale = std::max(scale, largest_value(theirs));
      error = std::max(error, difference(grads.of(parameters_[i].parameter->value), theirs));
    }
    quantities_.put("grad.*", error / scale, kTolerance);
    const std::vector<NamedParameter> all = named_tensors(*model_);
    std::vector<Tensor> before;
    for (const NamedParameter& p : all) before.push_back(p.parameter->value);
    model_->before_step(task_, record_.draws(kTraining));
    buffers("train.buffer");
    for (std::size_t i = 0; i < all.size(); ++i) all[i].parameter->value = before[i];
  }

  /// Ten updates, which change the model.
  void adam() { updates("adam", record_.authors().adam, 0); }
  void adamw() { updates("adamw", record_.authors().adamw, kAdamwClip); }
  /// The same by the optimiser of TNP-KR's authors.
  void yogi() { updates("yogi", {.name = "yogi", .lr = 1e-3, .epsilon = 1e-3}, 3); }

  /// A context in two parts: after the first, after the second, and both at once.
  void states() {
    const std::int64_t first = record_.first_points(), all = task_.xc.dim(1);
    if (first == 0) return;
    NoGrad off;
    const auto points = [&](std::int64_t begin, std::int64_t end) {
      return Context{slice(task_.xc, 1, begin, end), slice(task_.yc, 1, begin, end)};
    };
    const auto condition = [&](const Context& context) {
      Draws draws = record_.draws(kEvaluation);
      return model_->condition(context, draws, record_.evaluation_samples());
    };
    const auto begun = condition(points(0, first));
    state("state.first.", *begun);
    state("state.updated.", *model_->update(*begun, points(first, all)));
    state("state.full.", *condition(points(0, all)));
  }

  std::vector<ParityQuantity> take() { return quantities_.take(); }

 private:
  /// `start` is what names of the random numbers begin with.
  Tensor record_step(Tape& tape, const std::string& start) {
    Recording on(tape);
    for (const NamedParameter& p : parameters_) tape.watch(p.parameter->value);
    const AuthorsCode& authors = record_.authors();
    Draws draws = record_.draws(start);
    Tensor loss = authors.loss != nullptr ? authors.loss(*model_, task_, draws) : model_->loss(task_, draws);
    record_.drawn(start, draws.calls());
    if (authors.adam.penalty != 0)
      for (const NamedParameter& p : parameters_)
        loss = npzoo::add(loss, affine(sum(square(p.parameter->value)), authors.adam.penalty / 2, 0));
    return loss;
  }

  /// Returns the recording for parameter i, ours or one of theirs that is penalised alone.
  Tensor recorded(const std::string& kind, std::size_t i) const {
    if (i < own_) return record_.of_parameter(kind, parameters_[i]);
    return in_double(record_.tensors().like(kind + "." + parameters_[i].name, parameters_[i].parameter->value));
  }

  /// Compares the statistics that layers keep of batches.
  void buffers(const std::string& kind) {
    for (const NamedParameter& p : named_tensors(*model_)) {
      const std::string name = kind + "." + record_.authors().place(p.name).name;
      if (!p.parameter->trained) quantities_.add_if_recorded(name, p.parameter->value);
    }
  }

  /// `clip_norm` is that of the gradients, 0 for none.
  void updates(const std::string& kind, const RecordedAdam& theirs, double clip_norm) {
    const OptimiserConfig config = optimiser_of(theirs);
    const std::int64_t count = record_.tensors().floats(kind + ".losses", {RecordedTensors::kAny}).dim(0);
    check(count <= kMostUpdates, "[parity] {}: '{}.losses' has {} updates, expected 1 to {}", record_.path(), kind,
          count, kMostUpdates);
    Optimiser optimiser(config, parameters_);
    Tensor losses = Tensor::empty({count}, DType::float64, Device::cpu), norms = losses.clone();
    Tape tape;
    for (std::int64_t step = 0; step < count; ++step) {
      const std::string start = fmt::format("{}step{}.", kTraining, step + 1);
      model_->before_step(task_, record_.draws(start));
      const Tensor loss = record_step(tape, start);
      losses.data<double>()[step] = loss.item();
      const Grads& grads = tape.backward(loss);
      const double norm = theirs.clip_epsilon > 0 ? norm_of(grads, parameters_) : 1;
      optimiser.step(grads, config.lr, clip_norm * norm / (norm + theirs.clip_epsilon));
      norms.data<double>()[step] = optimiser.gradient_norm();
    }
    quantities_.add(kind + ".losses", losses, kAdamTolerance);
    buffers(kind + ".final_buffer");
    if (record_.has(kind + ".grad_norm")) quantities_.add(kind + ".grad_norm", norms, kAdamTolerance);
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
    quantities_.put(kind + ".final.*", error / scale, kAdamTolerance);
  }

  /// Compares the outputs that recordings of this family hold instead of densities and moments.
  void outputs() {
    const auto add_outputs = [&](const std::string& start, const std::string& random, bool training) {
      Draws draws = record_.draws(random);
      for (const auto& [name, ours] : record_.authors().outputs(*model_, task_, draws, training, record_.run()))
        if (start + name != kLoss) quantities_.add_real(start + name, ours, task_.target_weights);
      record_.drawn(random, draws.calls());
    };
    add_outputs("eval.", kEvaluation, false);
    add_outputs("train.", kTraining, true);
  }

  /// The prediction when all inputs are shifted.
  void shifted() {
    const std::vector<double> by = record_.shift(task_.xc.dim(2));
    const Tensor shift = Tensor::from<double>({1, 1, task_.xc.dim(2)}, by).to(task_.xc.dtype()).to(default_device());
    Draws draws = record_.draws(kEvaluation);
    const auto state =
        model_->condition({npzoo::add(task_.xc, shift), task_.yc, task_.lengths}, draws, record_.evaluation_samples());
    add_moments("eval.shifted.", *model_->query(*state, npzoo::add(task_.xt, shift)));
  }

  /// Compares the densities of each target by itself, of all together, and their reductions in the authors' code.
  void densities(const ContextState& state, const Prediction& p) {
    if (model_info(record_.spec().name).density == Density::joint) {
      const Tensor together = p.joint_log_likelihood(task_.yt);
      Tensor each = together.clone();
      for (double& value : each.values<double>()) value /= static_cast<double>(task_.yt.dim(1));
      quantities_.add_if_recorded("eval.joint.tar_ll", each);
      quantities_.add_if_recorded("eval.tar_ll", scalar(mean_of(each)));
      quantities_.add_if_recorded("eval.nll", scalar(-mean_of(each)));
      return;
    }
    const Tensor own = in_double(p.log_likelihood(task_.yt));
    if (record_.has("eval.nll")) quantities_.add("eval.nll", scalar(-mean_by_channel(p, task_)));
    quantities_.add_if_recorded("eval.tar_ll", scalar(mean_of(own)));
    quantities_.add_if_recorded("eval.ll", scalar(mean_of(own)));
    for (const char* name : {"eval.loglik", "train.loglik"})
      if (record_.has(name)) quantities_.add(name, p.joint_log_likelihood(task_.yt));
    if (record_.authors().state != nullptr) pointwise("train.pointwise.ll", p, task_.yt);
    pointwise("eval.pointwise.tar_ll", p, task_.yt);
    if (!record_.has("eval.pointwise.ctx_ll")) return;
    const auto context = model_->query(state, task_.xc);
    pointwise("eval.pointwise.ctx_ll", *context, task_.yc);
    quantities_.add_if_recorded("eval.ctx_ll", scalar(mean_of(in_double(context->log_likelihood(task_.yc)))));
  }

  /// Recorded (B, N), or of each function (K, B, N).
  void pointwise(const std::string& name, const Prediction& p, const Tensor& y) {
    if (!record_.has(name)) return;
    if (record_.tensors().at(name).rank() == 2) return quantities_.add(name, p.log_likelihood(y));
    const Marginals m = p.marginals();
    quantities_.add(name, gaussian_log_density(broadcast_to(y, m.mean.shape()), m.mean, m.std));
  }

  void joint_gaussian(const JointGaussian& joint, Draws& draws) {
    const Tensor covariances = covariance(joint), factor = scale_tril(joint);
    quantities_.add_if_recorded("eval.covariance", covariances);
    quantities_.add_if_recorded("eval.mean_std", scalar(mean_of(covariances)));
    quantities_.add_if_recorded("eval.scale_tril", factor);
    quantities_.add_if_recorded("eval.predict.mean", reshape(joint.mean(), task_.yt.shape()));
    if (!record_.has("eval.samples")) return;
    // The recorded numbers multiply the triangular factor, so a low rank has other draws than ours.
    const JointGaussian triangular(joint.mean(), factor);
    const Tensor samples = in_double(triangular.sample(recorded_samples(), draws));
    quantities_.add("eval.samples", samples);
    quantities_.add_if_recorded("eval.predict.std", deviation(samples));
  }

  /// Paths of the recording, (S, B, Nt, Dy).
  std::int64_t recorded_samples() const {
    const Shape& y = task_.yt.shape();
    return record_.tensors().floats("eval.samples", {RecordedTensors::kAny, y[0], y[1], y[2]}).dim(0);
  }

  /// For tasks with different numbers of targets: compares the factor of the real targets, predicted by themselves,
  /// with their part of the recording.
  void leading_factors() {
    const std::int64_t values = task_.yt.dim(1) * task_.yt.dim(2);
    const Tensor theirs = in_double(record_.tensors().floats("eval.scale_tril", {task_.yt.dim(0), values, values}));
    double error = 0;
    for (std::int64_t b = 0; b < task_.xc.dim(0); ++b) {
      const auto row = [b](const Tensor& x) { return slice(x, 0, b, b + 1); };
      Draws draws = record_.draws(kEvaluation);
      const std::int64_t points = task_.lengths.values<std::int64_t>()[b],
                         targets = task_.target_lengths.values<std::int64_t>()[b];
      const auto state =
          model_->condition({row(task_.xc), row(task_.yc), Tensor::from<std::int64_t>({1}, {points})}, draws, 1);
      const auto p = model_->query(*state, slice(row(task_.xt), 1, 0, targets));
      const Tensor ours = scale_tril(dynamic_cast<const JointGaussian&>(*p));
      error = std::max(error, difference(ours, slice(slice(row(theirs), 1, 0, ours.dim(1)), 2, 0, ours.dim(1))));
    }
    quantities_.put("eval.scale_tril", error / std::max(1.0, largest_value(theirs)), quantities_.tolerance());
  }

  /// Blocks of targets, each given the true values of those before it.
  void teacher_forced(const Autoregressive& sequence, const Prediction& p) {
    std::vector<Tensor> means, deviations, each;
    std::int64_t number = 0;
    sequence.teacher_forced(task_.yt, [&](const Prediction& block, std::int64_t begin, std::int64_t end) {
      if (const auto* joint = dynamic_cast<const JointGaussian*>(&block)) {
        const std::string start = "eval.block" + std::to_string(number++) + ".";
        const Tensor mean = in_double(joint->mean());
        quantities_.add_if_recorded(start + "mean", mean.view({mean.dim(0), mean.numel() / mean.dim(0)}));
        quantities_.add_if_recorded(start + "scale_tril", scale_tril(*joint));
        return;
      }
      const Moments m = moments(block);
      means.push_back(m.mean);
      deviations.push_back(m.std);
      each.push_back(in_double(block.log_likelihood(slice(task_.yt, 1, begin, end))));
    });
    if (means.empty()) return;
    quantities_.add_if_recorded("eval.teacher.mean", concat(means, 1));
    quantities_.add_if_recorded("eval.teacher.std", concat(deviations, 1));
    quantities_.add_if_recorded("eval.pointwise.tar_ll", concat(each, 1));
    if (!record_.has("eval.samples")) return;
    Draws draws = record_.draws(kEvaluation);
    const Tensor samples = in_double(p.sample(recorded_samples(), draws));
    record_.drawn(kEvaluation, draws.calls());
    if (!record_.has("eval.permutation")) return quantities_.add("eval.samples", samples);
    const std::string ordered_by = kEvaluation + "0";
    const RecordedTensors& recorded = record_.tensors();
    const std::int64_t targets = task_.yt.dim(1);
    const Tensor& order = recorded.integers("eval.permutation", {samples.dim(0), targets}, 0, targets - 1);
    quantities_.add("eval.permutation", ascending(recorded.numbers(ordered_by, {samples.dim(0), targets})));
    quantities_.add("eval.samples", in_order(samples, order));
  }

  void state(const std::string& start, const ContextState& state) {
    for (const auto& [name, ours] : record_.authors().state(state)) quantities_.add(start + name, ours);
    if (!record_.has(start + "mean")) return;
    add_moments(start, *model_->query(state, task_.xt));
  }

  /// Adds the moments of each function if several were recorded.
  void add_moments(const std::string& start, const Prediction& prediction) {
    if (!record_.has(start + "mean")) return;
    const Marginals m = prediction.marginals();
    quantities_.add_functions(start + "mean", m.mean);
    quantities_.add_functions(start + "std", m.std);
    quantities_.add_functions(start + "var", square(m.std));
  }

  const Record& record_;
  Quantities quantities_;
  Task task_;
  std::unique_ptr<Model> model_;
  std::deque<Parameter> penalised_;  // of theirs, that we have not
  std::vector<NamedParameter> parameters_;
  std::size_t own_;  // so many of them are the model's
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

ParityReport check_parity(const std::filesystem::path& path) { return check_parity(Record(path)); }

ParityReport check_parity(const Record& record) {
  ParityReport report{record.path(), record.spec().name, {}, {}};
  const auto take = [&](Comparison& comparison) {
    std::ranges::move(comparison.take(), std::back_inserter(report.quantities));
  };
  Comparison exact(record, DType::float64);
  if (record.dtype() == DType::float64) {
    exact.predictions("eval");
    exact.states();
    exact.loss_and_gradients();
    exact.adam();
    take(exact);
    for (const auto& [kind, repeat] : {std::pair("yogi", &Comparison::yogi), std::pair("adamw", &Comparison::adamw)}) {
      if (!record.has(std::string(kind) + ".losses")) continue;
      Comparison again(record, DType::float64);
      (again.*repeat)();
      take(again);
    }
  } else {
    exact.predictions("eval64");
    take(exact);
    Comparison rounded(record, DType::float32);
    rounded.predictions("eval");
    take(rounded);
  }
  report.not_compared = record.tensors().unused();
  return report;
}

}  // namespace npzoo
