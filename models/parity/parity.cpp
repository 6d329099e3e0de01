#include "models/parity/parity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/io/safetensors.h"
#include "engine/optim/optimiser.h"
#include "engine/tape.h"
#include "models/config_json.h"
#include "models/parity/authors.h"
#include "models/registry.h"
#include "ops/concat/concat.h"

namespace npzoo {

namespace {

constexpr double kTolerance = 1e-10, kAdamTolerance = 1e-9, kFloatTolerance = 2e-6;

const std::string& metadata(const TensorFile& file, const std::string& key, const std::string& path) {
  const auto found = file.metadata.find(key);
  check(found != file.metadata.end(), "[parity] {}: there is no '{}' in the metadata; expected a recorded run", path,
        key);
  return found->second;
}

class Record {
 public:
  explicit Record(const std::filesystem::path& path) : path_(path.string()), file_(load_safetensors(path)) {
    const std::string& model = metadata(file_, "model", path_);
    for (const ModelInfo& info : models())
      if (const auto code = std::ranges::find(info.authors, model, &AuthorsCode::recorded_as);
          code != info.authors.end()) {
        authors_ = &*code;
        spec_.name = info.name;
      }
    check(authors_ != nullptr, "[parity] {}: recorded from model '{}', which this build does not have", path_, model);
    spec_.config = model_config_from_json(metadata(file_, "config", path_), "[parity] " + path_);
    if (authors_->config != nullptr) spec_.config = authors_->config(std::move(spec_.config));
    run_ = model_config_from_json(metadata(file_, "run", path_), "[parity] " + path_);
  }

  const ModelSpec& spec() const { return spec_; }
  const AuthorsCode& authors() const { return *authors_; }
  bool has(const std::string& name) const { return file_.tensors.contains(name); }
  /// Its model cannot have more.
  std::int64_t elements() const { return file_.elements(); }

  const Tensor& at(const std::string& name) const {
    const auto found = file_.tensors.find(name);
    check(found != file_.tensors.end(), "[parity] {}: there is no tensor '{}'", path_, name);
    return found->second;
  }

  Task task(DType dtype) const {
    return Task{at("xc").to(dtype), at("yc").to(dtype), at("xt").to(dtype), at("yt").to(dtype), {}}.to(
        default_device());
  }

  /// Whether the parameters after the last update were kept.
  bool has_final() const {
    const auto kept = run_.find("keep_final");
    return kept == run_.end() || kept->second != ModelConfig::mapped_type(false);
  }

  /// Context points of the first of two parts, of a run that was continued; 0 where there is none.
  std::int64_t first_points() const {
    const auto first = run_.find("first");
    if (first == run_.end()) return 0;
    check(authors_->state != nullptr, "[parity] {}: states recorded of model '{}', expected none", path_, spec_.name);
    const auto* count = std::get_if<std::int64_t>(&first->second);
    check(count != nullptr && 0 < *count && *count <= at("xc").dim(1),
          "[parity] {}: 'first' in the run must be a number of context points, 1 to {}", path_, at("xc").dim(1));
    return *count;
  }

  /// What the authors recorded for one of our parameters: `kind` is param, grad or adam.final.
  Tensor of_parameter(const std::string& kind, const NamedParameter& ours) const {
    const AuthorsPlace place = authors_->place(ours.name);
    const Tensor& theirs = at(kind + "." + place.name);
    const Shape& shape = ours.parameter->value.shape();
    check(theirs.rank() == shape.rank() && theirs.dim(0) == place.parts * shape[0] &&
              theirs.shape().with(0, 1) == shape.with(0, 1),
          "[parity] {}: '{}.{}' has shape {}, expected {} of {}", path_, kind, place.name, theirs.shape(), place.parts,
          shape);
    return slice(theirs, 0, place.part * shape[0], (place.part + 1) * shape[0]);
  }

 private:
  std::string path_;
  TensorFile file_;
  ModelSpec spec_;
  ModelConfig run_;  // sizes of the run, and what was recorded of it
  const AuthorsCode* authors_ = nullptr;
};

double largest(const Tensor& x) {
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

class Comparison {
 public:
  Comparison(const Record& record, DType dtype)
      : record_(record),
        task_(record.task(dtype)),
        model_(make_model(record.spec(), {.max_elements = record.elements()})),
        parameters_(named_parameters(*model_)) {
    for (const NamedParameter& p : parameters_) {
      const Tensor value = record.of_parameter("param", p).to(dtype);
      p.parameter->value = default_device() == Device::cpu ? value.clone() : value.to(default_device());
    }
  }

  void predictions(const std::string& kind, double tolerance) {
    NoGrad off;
    const auto state = condition({task_.xc, task_.yc, {}});
    const auto p = model_->query(*state, task_.xt);
    add_moments(kind + ".", *p, tolerance);
    if (kind != "eval") return;
    add("eval.pointwise.tar_ll", p->log_likelihood(task_.yt), tolerance);
    if (!record_.has("eval.pointwise.ctx_ll")) return;
    add("eval.pointwise.ctx_ll", model_->query(*state, task_.xc)->log_likelihood(task_.yc), tolerance);
  }

  void loss_and_gradients() {
    Tape tape;
    const Tensor loss = record_step(tape);
    add("train.loss", loss, kTolerance);
    const Grads& grads = tape.backward(loss);
    double scale = 0, error = 0;
    for (const NamedParameter& p : parameters_) {
      const Tensor theirs = record_.of_parameter("grad", p);
      scale = std::max(scale, largest(theirs));
      error = std::max(error, difference(grads.of(p.parameter->value), theirs));
    }
    quantities_.push_back({"grad.*", error / scale, kTolerance});
  }

  void adam() {
    const Tensor& theirs = record_.at("adam.losses");
    Optimiser optimiser({.name = "adam", .lr = 5e-4, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}, parameters_);
    Tensor losses = Tensor::empty(theirs.shape(), DType::float64, Device::cpu);
    Tape tape;
    for (double& value : losses.values<double>()) {
      const Tensor loss = record_step(tape);
      value = loss.item();
      optimiser.step(tape.backward(loss), 5e-4);
    }
    add("adam.losses", losses, kAdamTolerance);
    if (!record_.has_final()) return;
    double scale = 1, error = 0;
    for (const NamedParameter& p : parameters_) {
      const Tensor final_value = record_.of_parameter("adam.final", p);
      scale = std::max(scale, largest(final_value));
      error = std::max(error, difference(p.parameter->value, final_value));
    }
    quantities_.push_back({"adam.final.*", error / scale, kAdamTolerance});
  }

  /// A context in two parts: after the first, after the second, and both at once.
  void states() {
    const std::int64_t first = record_.first_points(), all = task_.xc.dim(1);
    if (first == 0) return;
    NoGrad off;
    const auto points = [&](std::int64_t begin, std::int64_t end) {
      return Context{slice(task_.xc, 1, begin, end), slice(task_.yc, 1, begin, end)};
    };
    const auto begun = condition(points(0, first));
    state("state.first.", *begun);
    state("state.updated.", *model_->update(*begun, points(first, all)));
    state("state.full.", *condition(points(0, all)));
  }

  std::vector<ParityQuantity> take() { return std::move(quantities_); }

 private:
  /// No model that has recordings draws anything.
  static Draws no_draws() { return Draws::recorded({}); }

  std::unique_ptr<ContextState> condition(const Context& context) const {
    Draws draws = no_draws();
    return model_->condition(context, draws, kSamples);
  }

  Tensor record_step(Tape& tape) {
    Recording on(tape);
    for (const NamedParameter& p : parameters_) tape.watch(p.parameter->value);
    Draws draws = no_draws();
    return model_->loss(task_, draws);
  }

  void state(const std::string& start, const ContextState& state) {
    for (const auto& [name, ours] : record_.authors().state(state)) add(start + name, ours, kTolerance);
    if (!record_.has(start + "mean")) return;
    add_moments(start, *model_->query(state, task_.xt), kTolerance);
  }

  void add_moments(const std::string& start, const Prediction& prediction, double tolerance) {
    const Moments p = moments(prediction);
    add(start + "mean", p.mean, tolerance);
    add(start + "std", p.std, tolerance);
  }

  void add(const std::string& name, const Tensor& ours, double tolerance) {
    const Tensor theirs = record_.at(name).to(DType::float64);
    quantities_.push_back({name, difference(ours, theirs) / std::max(1.0, largest(theirs)), tolerance});
  }

  const Record& record_;
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
    exact.predictions("eval", kTolerance);
    exact.states();
    exact.loss_and_gradients();
    exact.adam();
    report.quantities = exact.take();
    return report;
  }
  exact.predictions("eval64", kTolerance);
  report.quantities = exact.take();
  Comparison rounded(record, DType::float32);
  rounded.predictions("eval", kFloatTolerance);
  std::ranges::move(rounded.take(), std::back_inserter(report.quantities));
  return report;
}

}  // namespace npzoo
