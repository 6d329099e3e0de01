#include "models/training/checkpoint.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/io/json.h"
#include "engine/io/safetensors.h"
#include "models/config_json.h"
#include "models/registry.h"

namespace npzoo {

namespace {

using nlohmann::json;

constexpr char kCheckpointFormat[] = "npzoo-checkpoint-1";
constexpr char kWeightsFormat[] = "npzoo-weights-1";
constexpr char kBest[] = "best.";
constexpr char kFirstMoment[] = "optimiser.first_moment.";
constexpr char kSecondMoment[] = "optimiser.second_moment.";

json run_to_json(const Checkpoint& c) {
  const TrainingConfig& training = c.run.protocol.training;
  json state = {{"seed", c.run.seed},
                {"steps", training.steps},
                {"batch_size", training.batch_size},
                {"lr", training.optimiser.lr},
                {"step", c.step},
                {"best_step", c.best_step},
                {"loss_sum", c.loss_sum},
                {"loss_count", c.loss_count},
                {"seconds", c.seconds}};
  if (c.best_step >= 0) state["best_log_likelihood"] = c.best_log_likelihood;
  if (std::isfinite(c.loss)) state["loss"] = c.loss;
  return state;
}

void run_from_json(const json& state, Checkpoint& c) {
  TrainingConfig& training = c.run.protocol.training;
  state.at("seed").get_to(c.run.seed);
  state.at("steps").get_to(training.steps);
  state.at("batch_size").get_to(training.batch_size);
  state.at("lr").get_to(training.optimiser.lr);
  state.at("step").get_to(c.step);
  state.at("best_step").get_to(c.best_step);
  state.at("loss_sum").get_to(c.loss_sum);
  state.at("loss_count").get_to(c.loss_count);
  state.at("seconds").get_to(c.seconds);
  if (c.best_step >= 0) state.at("best_log_likelihood").get_to(c.best_log_likelihood);
  if (state.contains("loss")) state.at("loss").get_to(c.loss);
}

/// A state that no run can be in must not begin one.
void check_run(const Checkpoint& c, const std::string& name) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const TrainingConfig& training = c.run.protocol.training;
  const auto expect = [&](const char* key, std::int64_t value, std::int64_t low, std::int64_t high) {
    check(low <= value && value <= high, "[checkpoint] {}: {} is {}, expected {} to {}", name, key, value, low, high);
  };
  expect("steps", training.steps, 1, kMax);
  expect("batch_size", training.batch_size, 1, kMax);
  expect("step", c.step, 0, training.steps);
  expect("best_step", c.best_step, -1, c.step);
  expect("loss_count", c.loss_count, 0, c.step);
  check(training.optimiser.lr > 0, "[checkpoint] {}: lr is {}, expected a number > 0", name, training.optimiser.lr);
}

const std::string& metadata(const TensorFile& file, const std::string& key, const std::string& name) {
  const auto found = file.metadata.find(key);
  check(found != file.metadata.end(), "[checkpoint] {}: it has no '{}' in its metadata, so npzoo did not write it",
        name, key);
  return found->second;
}

void read_metadata(const TensorFile& file, const std::string& name, Checkpoint& c) {
  const std::string& format = metadata(file, "format", name);
  check(format == kCheckpointFormat || format == kWeightsFormat,
        "[checkpoint] {}: format '{}' found, expected '{}' or '{}'", name, format, kCheckpointFormat, kWeightsFormat);
  if (format == kWeightsFormat)
    c.exported = {.command = metadata(file, "command", name), .evaluation = metadata(file, "evaluation", name)};
  if (const auto commit = file.metadata.find("commit"); commit != file.metadata.end()) c.commit = commit->second;
  c.run.protocol = parse_protocol(metadata(file, "protocol_text", name), name);
  c.run.protocol.name = metadata(file, "protocol", name);
  c.run.spec.name = metadata(file, "model", name);
  c.run.spec.config = model_config_from_json(metadata(file, "config", name), "[checkpoint] " + name);
  try {
    run_from_json(parse_json(metadata(file, "run", name), fmt::format("[checkpoint] {}: damaged metadata", name)), c);
  } catch (const json::exception& e) {
    fail("[checkpoint] {}: damaged metadata: {}", name, e.what());
  }
  check_run(c, name);
}

Weights* destination(Checkpoint& c, std::string& name) {
  const std::pair<const char*, Weights*> kinds[] = {
      {kBest, &c.best_weights}, {kFirstMoment, &c.first_moments}, {kSecondMoment, &c.second_moments}};
  for (const auto& [prefix, weights] : kinds)
    if (name.starts_with(prefix)) {
      name.erase(0, std::string_view(prefix).size());
      return weights;
    }
  return &c.weights;
}

/// Every tensor that a checkpoint in this state must hold.
std::map<std::string, Shape> expected_tensors(const Checkpoint& c, const TensorFile& file) {
  const auto model = make_model(c.run.spec, {.max_elements = file.elements(), .drawn = false});
  std::map<std::string, Shape> shapes;
  for (const auto& [name, parameter] : named_tensors(*model)) {
    const Shape& shape = parameter->value.shape();
    shapes[name] = shape;
    if (c.exported) continue;
    if (parameter->trained) shapes[kFirstMoment + name] = shapes[kSecondMoment + name] = shape;
    if (c.best_step >= 0) shapes[kBest + name] = shape;
  }
  return shapes;
}

std::map<std::string, std::string> describe(const Checkpoint& c, const char* format) {
  std::map<std::string, std::string> metadata = {{"format", format},
                                                 {"npzoo_version", kVersion},
                                                 {"model", c.run.spec.name},
                                                 {"config", to_json(c.run.spec.config)},
                                                 {"protocol", c.run.protocol.name},
                                                 {"protocol_text", c.run.protocol.text},
                                                 {"run", run_to_json(c).dump()}};
  if (!c.commit.empty()) metadata["commit"] = c.commit;
  return metadata;
}

const Weights& weights_that_count(const Checkpoint& c) {
  const bool best = c.run.protocol.training.keep_best && c.best_step >= 0 && !c.exported;
  return best ? c.best_weights : c.weights;
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const Checkpoint& c) {
  check(!c.exported, "[checkpoint] exported weights of {} have no moments, expected a state of training",
        c.run.spec.name);
  TensorFile file{describe(c, kCheckpointFormat), c.weights};
  for (const auto& [name, tensor] : c.best_weights) file.tensors[kBest + name] = tensor;
  for (const auto& [name, tensor] : c.first_moments) file.tensors[kFirstMoment + name] = tensor;
  for (const auto& [name, tensor] : c.second_moments) file.tensors[kSecondMoment + name] = tensor;
  save_safetensors(path, file);
}

std::int64_t export_weights(const std::filesystem::path& path, const Checkpoint& c, const Provenance& provenance) {
  check(!c.commit.empty(), "[export] the checkpoint does not tell the commit that it was trained with");
  TensorFile file{describe(c, kWeightsFormat), {}};
  file.metadata["command"] = provenance.command;
  file.metadata["evaluation"] = provenance.evaluation;
  for (const auto& [name, tensor] : weights_that_count(c)) file.tensors[name] = tensor.to(DType::float32);
  return save_safetensors(path, file);
}

Checkpoint load_checkpoint(const std::filesystem::path& path) {
  return read_checkpoint(load_safetensors(path), path.string());
}

Checkpoint read_checkpoint(const TensorFile& file, const std::string& name) {
  Checkpoint c;
  read_metadata(file, name, c);
  check_names(expected_tensors(c, file), file, name);
  for (const auto& [full_name, tensor] : file.tensors) {
    check(tensor.dtype() != DType::int64, "[checkpoint] {}: tensor '{}' is int64, expected float32 or float64", name,
          full_name);
    std::string own_name = full_name;
    Weights* weights = destination(c, own_name);
    weights->emplace(std::move(own_name), tensor);
  }
  return c;
}

bool holds_training(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  try {
    const SafetensorsReader file(path);
    const auto format = file.metadata().find("format");
    return format != file.metadata().end() && format->second == kCheckpointFormat;
  } catch (const Error&) {
    return false;
  }
}

std::unique_ptr<Model> restore_model(const Checkpoint& c) {
  auto model = make_model(c.run.spec, {.drawn = false});
  assign(named_tensors(*model), weights_that_count(c));
  return model;
}

void assign(const std::vector<NamedParameter>& parameters, const Weights& weights) {
  for (const auto& [name, parameter] : parameters) {
    const auto found = weights.find(name);
    check(found != weights.end() && found->second.shape() == parameter->value.shape(),
          "[assign] there are no weights of shape {} for '{}'", parameter->value.shape(), name);
    const Device device = parameter->value.device();
    parameter->value = found->second.device() == device ? found->second.clone() : found->second.to(device);
  }
}

}  // namespace npzoo
