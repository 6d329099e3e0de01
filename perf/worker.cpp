// Our side of perf/compare.py: runs one case on request and tells how long each repetition took. Started as
//
//     perf_worker '{"kind": "train-step", "model": "tnp-d", "protocol": "tnp/gp-rbf", "threads": 1, "seed": 0}'
//
// it prints a line that describes the case and answers every line of standard input by one line (perf/README.md has the
// protocol). What goes wrong is a line {"error": …} and exit status 1.

#include <fmt/core.h>

#include <iostream>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "npzoo/engine/config.h"
#include "npzoo/engine/io/json.h"
#include "npzoo/engine/io/safetensors.h"
#include "npzoo/engine/measure/flops.h"
#include "npzoo/engine/memory.h"
#include "npzoo/models/config_json.h"
#include "npzoo/ops/convolution/convolution.h"
#include "npzoo/ops/masked_attention/masked_attention.h"
#include "tools/bench/cases.h"
#include "tools/bench/support.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_tree.h"

using namespace npzoo;
using namespace npzoo::tools;
using nlohmann::json;

namespace {

#ifdef __clang__
constexpr const char* kCompiler = __VERSION__;
#else
constexpr const char* kCompiler = "g++ " __VERSION__;
#endif

/// A member of a JSON object, `fallback` if there is none.
template <class T>
T member(const json& object, const char* key, const std::optional<T>& fallback = {}) {
  if (!object.contains(key) && fallback) return *fallback;
  check(object.contains(key), "[worker] '{}' is missing", key);
  try {
    return object.at(key).get<T>();
  } catch (const json::exception&) {
    fail("[worker] '{}' is {}, expected another type", key, object.at(key).dump());
  }
}

std::int64_t size_member(const json& object, const char* key, std::int64_t least) {
  const json value = member<json>(object, key);
  check(value.is_number_integer() && value >= least, "[worker] '{}' is {}, expected a whole number from {}", key,
        value.dump(), least);
  return value;
}

std::optional<std::int64_t> optional_size(const json& object, const char* key, std::int64_t least) {
  return object.contains(key) ? std::optional(size_member(object, key, least)) : std::nullopt;
}

json parse(const std::string& text) {
  const json value = parse_json_or_discard(text);
  check(value.is_object(), "[worker] '{}' is no JSON object", text);
  return value;
}

/// One thing to time.
class Case {
 public:
  virtual ~Case() = default;

  /// Returns the description for the first line, without running the case.
  virtual json describe() { return json::object(); }
  virtual void repeat() { fail("[worker] this kind of case has nothing to run"); }
  /// Writes what another program needs to compute the same; returns the loss that it should find.
  virtual double export_to(const std::string&) { fail("[worker] this kind of case has nothing to export"); }
  /// Before each of `count` updates from the initial weights.
  virtual std::vector<double> losses(std::int64_t) { fail("[worker] this kind of case is not trained"); }
};

double gflop_of(const std::function<void()>& f) {
  const std::int64_t before = counted_flops();
  f();
  return static_cast<double>(counted_flops() - before) * 1e-9;
}

json describe_model(Model& model, const ModelSpec& spec, const Task& task) {
  return {{"parameters", count_elements(named_parameters(model))},
          {"model_config", parse_json_or_discard(to_json(spec.config))},
          {"batch", task.xt.dim(0)},
          {"context", task.xc.dim(1)},
          {"targets", task.xt.dim(1)}};
}

void export_model(const std::string& path, Model& model, const Task& task, const std::vector<Tensor>& draws = {}) {
  TensorFile file;
  for (std::size_t i = 0; i < draws.size(); ++i) file.tensors["draw." + std::to_string(i)] = draws[i];
  for (const auto& [name, parameter] : named_tensors(model)) file.tensors[name] = parameter->value;
  file.tensors["task.xc"] = task.xc;
  file.tensors["task.yc"] = task.yc;
  file.tensors["task.xt"] = task.xt;
  file.tensors["task.yt"] = task.yt;
  save_safetensors(path, file);
}

/// Member by member: g++ 12 destroys what a braced list has made twice where a later initialiser throws.
BenchCase model_case(const json& c) {
  BenchCase result;
  result.protocol.name = member<std::string>(c, "protocol");
  result.model = member<std::string>(c, "model");
  result.batch = optional_size(c, "batch", 1);
  result.context = optional_size(c, "context", 0);
  result.targets = optional_size(c, "targets", 1);
  result.seed = member<std::uint64_t>(c, "seed", 0);
  return result;
}

class TrainCase final : public Case {
 public:
  explicit TrainCase(const json& c)
      : case_(model_case(c)), protocol_(load_protocol(case_.protocol)), step_(protocol_, case_) {}

  json describe() override {
    const OptimiserConfig& o = protocol_.training.optimiser;
    json line = describe_model(step_.model(), model_spec(protocol_, case_.model), step_.task());
    line["optimiser"] = {{"name", to_string(o.kind)},
                         {"learning_rate", step_.learning_rate()},
                         {"beta1", o.beta1},
                         {"beta2", o.beta2},
                         {"epsilon", o.epsilon},
                         {"weight_decay", o.weight_decay},
                         {"clip_norm", protocol_.training.clip_norm}};
    // With a profile nothing is padded, which would count as work.
    TrainStep fresh(protocol_, case_);
    StepProfile profile;
    line["gflop"] = gflop_of([&] { static_cast<void>(fresh(&profile)); });
    return line;
  }
  void repeat() override { static_cast<void>(step_()); }
  double export_to(const std::string& path) override {
    TrainStep fresh(protocol_, case_);
    export_model(path, fresh.model(), fresh.task(), fresh.drawn());
    return fresh();
  }
  std::vector<double> losses(std::int64_t count) override {
    TrainStep fresh(protocol_, case_);
    std::vector<double> found;
    for (std::int64_t i = 0; i < count; ++i) found.push_back(fresh());
    return found;
  }

 private:
  BenchCase case_;
  Protocol protocol_;
  TrainStep step_;
};

class ForwardCase final : public Case {
 public:
  explicit ForwardCase(const json& c)
      : case_(model_case(c)), protocol_(load_protocol(case_.protocol)), forward_(protocol_, case_) {}

  json describe() override {
    json line = describe_model(forward_.model(), model_spec(protocol_, case_.model), forward_.task());
    line["gflop"] = gflop_of([this] { repeat(); });
    return line;
  }
  void repeat() override { static_cast<void>(forward_()); }
  double export_to(const std::string& path) override {
    export_model(path, forward_.model(), forward_.task());
    return forward_.loss();
  }

 private:
  BenchCase case_;
  Protocol protocol_;
  Forward forward_;
};

double mean_square(const Tensor& x) {
  double sum = 0;
  const Tensor here = x.to(Device::cpu);
  for (const float value : here.values<float>()) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum / static_cast<double>(x.numel());
}

/// An operation alone, of one output, forward or with the gradients of all that it is given.
class OperationCase : public Case {
 public:
  json describe() override {
    return {{"gflop", gflop_of([this] { repeat(); })}};
  }
  void repeat() override {
    if (backward_)
      static_cast<void>(gradients());
    else
      static_cast<void>(forward(given_));
  }
  /// The "loss" is the mean square of the output and, for backward cases, of each gradient, added up.
  double export_to(const std::string& path) override {
    double sum = mean_square(forward(given_));
    if (backward_) {
      const Grads& grads = gradients();
      for (const Tensor& x : given_) sum += mean_square(grads.of(x));
    }
    std::map<std::string, Tensor> tensors{{name_ + ".d_out", d_out_}};
    for (std::size_t i = 0; i < given_.size(); ++i) tensors[name_ + "." + names_[i]] = given_[i];
    save_safetensors(path, {.metadata = {}, .tensors = tensors});
    return sum;
  }

 protected:
  OperationCase(std::string name, const json& c, bool backward)
      : name_(std::move(name)), backward_(backward), random_(member<std::uint64_t>(c, "seed", 0)) {}

  /// Random numbers that it is given, and at last those of the gradient that comes back.
  void give(const char* name, const Shape& shape) {
    names_.emplace_back(name);
    given_.push_back(random_normal(random_, shape));
  }
  void give_gradient(const Shape& shape) { d_out_ = random_normal(random_, shape); }

  virtual Tensor forward(const std::vector<Tensor>& given) const = 0;

 private:
  const Grads& gradients() {
    const Recording on(tape_);
    for (Tensor& x : given_) tape_.watch(x);
    const Tensor out = forward(given_);
    return tape_.backward(out, d_out_);
  }

  std::string name_;
  bool backward_;
  Random random_;
  std::vector<std::string> names_;
  std::vector<Tensor> given_;
  Tensor d_out_;
  Tape tape_;
};

/// Masked attention, all keys visible.
class AttentionCase final : public OperationCase {
 public:
  AttentionCase(const json& c, bool backward)
      : OperationCase("attention", c, backward), heads_(size_member(c, "heads", 1)) {
    const std::int64_t batch = size_member(c, "batch", 1), channels = heads_ * size_member(c, "width", 1),
                       queries = size_member(c, "queries", 1), keys = size_member(c, "keys", 1);
    give("q", {batch, queries, channels});
    give("k", {batch, keys, channels});
    give("v", {batch, keys, channels});
    give_gradient({batch, queries, channels});
  }

 private:
  Tensor forward(const std::vector<Tensor>& given) const override {
    return masked_attention(given[0], given[1], given[2], PrefixMask::all(), {.heads = static_cast<int>(heads_)});
  }

  std::int64_t heads_;
};

/// A convolution of square images with a square kernel that keeps their size.
class ConvolutionCase final : public OperationCase {
 public:
  ConvolutionCase(const json& c, bool backward)
      : OperationCase("convolution", c, backward), kernel_(size_member(c, "kernel", 1)) {
    const std::int64_t batch = size_member(c, "batch", 1), size = size_member(c, "size", 1),
                       channels = size_member(c, "channels", 1);
    give("x", {batch, size, size, channels});
    give("weight", {kernel_, kernel_, channels, channels});
    give_gradient({batch, size, size, channels});
  }

 private:
  Tensor forward(const std::vector<Tensor>& given) const override {
    return convolution(given[0], given[1], {}, ConvolutionConfig::same(kernel_, kernel_));
  }

  std::int64_t kernel_;
};

/// One batch of a protocol's training data, another one each time.
class DataCase final : public Case {
 public:
  explicit DataCase(const json& c)
      : protocol_(load_protocol(member<std::string>(c, "protocol"))),
        batch_(optional_size(c, "batch", 1).value_or(protocol_.training.batch_size)),
        tasks_(protocol_.data->source({.batch_size = batch_,
                                       .seed = member<std::uint64_t>(c, "seed", 0),
                                       .split = Split::training,
                                       .device = default_device()})) {}

  json describe() override {
    const TaskExtents extents = protocol_.data->typical_extents();
    return {{"batch", batch_}, {"dims", protocol_.data->dim_x()}, {"points", extents.context + extents.targets}};
  }
  void repeat() override { static_cast<void>(tasks_->task(index_++)); }

 private:
  Protocol protocol_;
  std::int64_t batch_;
  std::unique_ptr<TaskSource> tasks_;
  std::uint64_t index_ = 0;
};

/// Nothing to run: it is there to measure the machine.
class MachineCase final : public Case {};

std::unique_ptr<Case> make_case(const json& c) {
  const auto kind = member<std::string>(c, "kind");
  if (kind == "train-step") return std::make_unique<TrainCase>(c);
  if (kind == "forward") return std::make_unique<ForwardCase>(c);
  if (kind == "attention" || kind == "attention-backward")
    return std::make_unique<AttentionCase>(c, kind == "attention-backward");
  if (kind == "convolution" || kind == "convolution-backward")
    return std::make_unique<ConvolutionCase>(c, kind == "convolution-backward");
  if (kind == "data") return std::make_unique<DataCase>(c);
  if (kind == "machine") return std::make_unique<MachineCase>();
  fail(
      "[worker] kind '{}' found, expected train-step, forward, attention, attention-backward, convolution, "
      "convolution-backward, data or machine",
      kind);
}

/// `count` repetitions, or fewer where they take longer than so many seconds.
json run(Case& c, std::int64_t count, double seconds) {
  std::vector<double> wall, cpu;
  for (double spent = 0; std::ssize(wall) < count && spent <= 1e3 * seconds; spent += wall.back()) {
    const double cpu_before = cpu_milliseconds();
    wall.push_back(milliseconds([&c] { c.repeat(); }));
    cpu.push_back(cpu_milliseconds() - cpu_before);
  }
  json times = {{"wall_ms", wall}, {"cpu_ms", cpu}};
  if (default_device() == Device::cpu) return times;
  const MemoryStats memory = memory_stats(default_device());
  times.update({{"peak_live_bytes", memory.peak_live_bytes}, {"peak_reserved_bytes", memory.peak_reserved_bytes}});
  return times;
}

json answer(Case& c, const json& request) {
  if (request.contains("run"))
    return run(c, size_member(request, "run", 1),
               member<double>(request, "seconds", std::numeric_limits<double>::infinity()));
  if (request.contains("export")) return {{"loss", c.export_to(member<std::string>(request, "export"))}};
  if (request.contains("losses")) return {{"losses", c.losses(size_member(request, "losses", 1))}};
  if (request.contains("peak"))
    return {{"peak_gflops", measured_peak_gflops()}, {"bandwidth_gbs", measured_bandwidth_gbs()}};
  fail("[worker] request {} found, expected run, export, losses or peak", request.dump());
}

void print_line(const json& line) {
  fmt::print("{}\n", line.dump(-1, ' ', false, json::error_handler_t::replace));
  check(std::fflush(stdout) == 0, "[worker] standard output cannot be written");
}

/// Leaves the case alone in the memory of a GPU, which is shared with the programs that take turns, and counted. What a
/// step takes is counted when it is captured, so that the peak is that of all repetitions.
void clean_up() {
  if (default_device() == Device::cpu) return;
  release_cached_memory(default_device());
  reset_peak_memory(default_device());
}

void serve(const json& settings) {
  CommonOptions common;
  common.device = member<std::string>(settings, "device", "cpu");
  common.precision = member<std::string>(settings, "precision", "float32");
  common.threads = static_cast<int>(size_member(settings, "threads", 1));
  apply(common);
  const std::unique_ptr<Case> c = make_case(settings);
  json description = {{"name", "npzoo"}, {"version", kVersion}, {"compiler", kCompiler}};
  description.update(machine().tree().value);
  description.update(c->describe());
  clean_up();
  print_line(description);
  for (std::string line; std::getline(std::cin, line);) {
    const json request = parse(line);
    print_line(answer(*c, request));
    if (!request.contains("run")) clean_up();
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    check(argc == 2, "[worker] {} arguments found, expected one: the case as a JSON object", argc - 1);
    serve(parse(argv[1]));
    return 0;
  } catch (const std::exception& e) {
    fmt::print("{}\n", json({{"error", e.what()}}).dump(-1, ' ', false, json::error_handler_t::replace));
    return 1;
  }
}
