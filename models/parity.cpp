#include "models/parity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/io/safetensors.h"
#include "engine/optim/optimiser.h"
#include "engine/tape.h"
#include "models/config_json.h"
#include "models/registry.h"
#include "ops/concat/concat.h"

namespace npzoo {

namespace {

constexpr double kTolerance = 1e-10, kAdamTolerance = 1e-9, kFloatTolerance = 2e-6;

/// Where the authors keep a parameter of ours: one of `parts` equal blocks of rows of their tensor.
struct AuthorsPlace {
  std::string name;
  std::int64_t part = 0, parts = 1;
};

std::vector<std::string> split_name(const std::string& name) {
  std::vector<std::string> words(1);
  for (char c : name) {
    if (c == '.')
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

/// Place of a layer in the authors' nn.Sequential, where activations count too.
std::string in_sequence(const std::string& layer) { return std::to_string(2 * std::stoi(layer)); }

AuthorsPlace authors_cnp(const std::string& name) {
  const auto words = split_name(name);  // encoders.E.pre.layers.L.weight or decoder.layers.L.weight
  if (words[0] == "encoders")
    return {fmt::format("enc{}.net_{}.{}.{}", std::stoi(words[1]) + 1, words[2], in_sequence(words[4]), words[5])};
  if (words[2] == "0") return {"dec.fc." + words[3]};
  return {fmt::format("dec.mlp.{}.{}", 2 * std::stoi(words[2]) - 1, words[3])};
}

AuthorsPlace authors_tnp_d(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] != "encoder") return {fmt::format("{}.{}.{}", words[0], in_sequence(words[2]), words[3])};
  const std::string layer = fmt::format("encoder.layers.{}.", words[2]), &part = words[3], &kind = words.back();
  if (part == "expand") return {layer + "linear1." + kind};
  if (part == "contract") return {layer + "linear2." + kind};
  if (part != "attention") return {layer + part + "." + kind};
  if (words[4] == "out") return {layer + "self_attn.out_proj." + kind};
  return {layer + "self_attn.in_proj_" + kind, words[4] == "query" ? 0 : words[4] == "key" ? 1 : 2, 3};
}

struct AuthorsModel {
  const char* name;
  AuthorsPlace (*place)(const std::string& our_name);
};

constexpr AuthorsModel kAuthors[] = {{"cnp", authors_cnp}, {"tnp-d", authors_tnp_d}};

const std::string& metadata(const TensorFile& file, const std::string& key, const std::string& path) {
  const auto found = file.metadata.find(key);
  check(found != file.metadata.end(), "[parity] {}: there is no '{}' in the metadata; expected a recorded run", path,
        key);
  return found->second;
}

class Record {
 public:
  explicit Record(const std::filesystem::path& path) : path_(path.string()), file_(load_safetensors(path)) {
    spec_.name = metadata(file_, "model", path_);
    const auto authors =
        std::ranges::find(kAuthors, spec_.name, [](const AuthorsModel& m) { return std::string(m.name); });
    check(authors != std::end(kAuthors), "[parity] {}: recorded from model '{}', which this build does not have", path_,
          spec_.name);
    place_ = authors->place;
    spec_.config = model_config_from_json(metadata(file_, "config", path_), "[parity] " + path_);
    spec_.config["architecture"] = std::string("tnp");
  }

  const ModelSpec& spec() const { return spec_; }
  bool has(const std::string& name) const { return file_.tensors.contains(name); }
  /// Its model cannot have more.
  std::int64_t elements() const { return file_.elements(); }

  const Tensor& at(const std::string& name) const {
    const auto found = file_.tensors.find(name);
    check(found != file_.tensors.end(), "[parity] {}: there is no tensor '{}'", path_, name);
    return found->second;
  }

  Task task(DType dtype) const {
    return {at("xc").to(dtype), at("yc").to(dtype), at("xt").to(dtype), at("yt").to(dtype), {}};
  }

  /// What the authors recorded for one of our parameters: `kind` is param, grad or adam.final.
  Tensor of_parameter(const std::string& kind, const NamedParameter& ours) const {
    const AuthorsPlace place = place_(ours.name);
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
  AuthorsPlace (*place_)(const std::string&) = nullptr;
};

double largest(const Tensor& x) {
  double top = 0;
  for (double value : x.values<double>()) top = std::max(top, std::abs(value));
  return top;
}

/// Largest difference; infinite where one side is not a number.
double difference(const Tensor& ours, const Tensor& theirs) {
  check(ours.numel() == theirs.numel(), "[parity] {} values computed, {} recorded", ours.shape(), theirs.shape());
  const Tensor a = ours.to(DType::float64), b = theirs.to(DType::float64);
  double top = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const double d = std::abs(a.data<double>()[i] - b.data<double>()[i]);
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
    for (const NamedParameter& p : parameters_) p.parameter->value = record.of_parameter("param", p).to(dtype).clone();
  }

  void predictions(const std::string& kind, double tolerance) {
    NoGrad off;
    const Prediction p = model_->predict(task_);
    add(kind + ".mean", p.mean, tolerance);
    add(kind + ".std", p.std, tolerance);
    if (kind != "eval") return;
    add("eval.pointwise.tar_ll", log_likelihood(p, task_.yt), tolerance);
    if (!record_.has("eval.pointwise.ctx_ll")) return;
    const Prediction at_context = model_->predict({task_.xc, task_.yc, task_.xc, task_.yc, {}});
    add("eval.pointwise.ctx_ll", log_likelihood(at_context, task_.yc), tolerance);
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
    Tensor losses = Tensor::empty(theirs.shape(), DType::float64);
    Tape tape;
    for (double& value : losses.values<double>()) {
      const Tensor loss = record_step(tape);
      value = loss.item();
      optimiser.step(tape.backward(loss), 5e-4);
    }
    add("adam.losses", losses, kAdamTolerance);
    double scale = 1, error = 0;
    for (const NamedParameter& p : parameters_) {
      const Tensor final_value = record_.of_parameter("adam.final", p);
      scale = std::max(scale, largest(final_value));
      error = std::max(error, difference(p.parameter->value, final_value));
    }
    quantities_.push_back({"adam.final.*", error / scale, kAdamTolerance});
  }

  std::vector<ParityQuantity> take() { return std::move(quantities_); }

 private:
  Tensor record_step(Tape& tape) {
    Recording on(tape);
    for (const NamedParameter& p : parameters_) tape.watch(p.parameter->value);
    return model_->loss(task_);
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
