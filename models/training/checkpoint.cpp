#include "npzoo/models/training/checkpoint.h"

#include <cmath>
#include <limits>
#include <span>

#include "npzoo/engine/boundary.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/io/checksum.h"
#include "npzoo/engine/io/safetensors.h"
#include "npzoo/models/config_json.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/run_state.h"

namespace npzoo {

namespace {

constexpr char kCheckpointFormat[] = "npzoo-checkpoint-1";
constexpr char kWeightsFormat[] = "npzoo-weights-1";
constexpr char kBest[] = "best.";
constexpr char kFirstMoment[] = "optimiser.first_moment.";
constexpr char kSecondMoment[] = "optimiser.second_moment.";

constexpr char kChecksum[] = "checksum";

const std::string& metadata(const TensorFile& file, const char* key, const std::string& name) {
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
  run_state_from_json(metadata(file, "run", name), fmt::format("[checkpoint] {}: damaged metadata", name), c);
}

/// Files written before there were checksums have none.
void verify_checksum(const TensorFile& file, const std::string& name) {
  const auto told = file.metadata.find(kChecksum);
  if (told == file.metadata.end()) return;
  TensorFile covered = file;
  covered.metadata.erase(kChecksum);
  const std::string found = checksum(covered);
  check(found == told->second, "[checkpoint] {}: it is damaged: checksum {} found, expected {}", name, found,
        excerpt(told->second));
}

template <class T>
bool all_finite(std::span<const T> values) {
  bool finite = true;
  for (const T value : values) finite &= std::abs(value) <= std::numeric_limits<T>::max();
  return finite;
}

bool all_finite(const Tensor& x) {
  return x.dtype() == DType::float32 ? all_finite(x.values<float>()) : all_finite(x.values<double>());
}

/// Writes what load_checkpoint reads, with a checksum; returns the number of bytes.
std::int64_t write(const std::filesystem::path& path, TensorFile file, std::int64_t step) {
  for (auto& [name, tensor] : file.tensors) {
    tensor = tensor.to(Device::cpu);
    check(all_finite(tensor),
          "[checkpoint] {}: {} is not finite after step {}, so it was not written; a lower learning rate may help",
          path.string(), excerpt(name), step);
  }
  file.metadata[kChecksum] = checksum(file);
  return save_safetensors(path, file);
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
                                                 {"run", run_state_to_json(c)}};
  if (!c.commit.empty()) metadata["commit"] = c.commit;
  return metadata;
}

std::map<std::string, Tensor> exported_tensors(const Checkpoint& c) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, tensor] : weights_that_count(c)) tensors[name] = tensor.to(Device::cpu).to(DType::float32);
  return tensors;
}

TensorFile content_of(const Checkpoint& c) {
  TensorFile file{describe(c, kCheckpointFormat), c.weights};
  for (const auto& [name, tensor] : c.best_weights) file.tensors[kBest + name] = tensor;
  for (const auto& [name, tensor] : c.first_moments) file.tensors[kFirstMoment + name] = tensor;
  for (const auto& [name, tensor] : c.second_moments) file.tensors[kSecondMoment + name] = tensor;
  return file;
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const Checkpoint& c) {
  check(!c.exported, "[checkpoint] exported weights of {} have no moments, expected a state of training",
        c.run.spec.name);
  write(path, content_of(c), c.step);
}

std::string state_checksum(Checkpoint c) {
  c.seconds = 0;
  c.commit.clear();
  return checksum(content_of(c));
}

std::int64_t export_weights(const std::filesystem::path& path, const Checkpoint& c, const Provenance& provenance) {
  check(!c.commit.empty(), "[export] the checkpoint does not name the commit that trained it");
  TensorFile file{describe(c, kWeightsFormat), {}};
  file.metadata["command"] = provenance.command;
  file.metadata["evaluation"] = provenance.evaluation;
  file.tensors = exported_tensors(c);
  return write(path, std::move(file), c.step);
}

const Weights& weights_that_count(const Checkpoint& c) {
  const bool best = c.run.protocol.training.keep_best && c.best_step >= 0 && !c.exported;
  return best ? c.best_weights : c.weights;
}

std::string weights_checksum(const Checkpoint& c) { return checksum({{}, exported_tensors(c)}); }

Checkpoint load_checkpoint(const std::filesystem::path& path) {
  return with_errors([&] { return read_checkpoint(load_safetensors(path), path.string()); });
}

Checkpoint read_checkpoint(const TensorFile& file, const std::string& name) {
  verify_checksum(file, name);
  Checkpoint c;
  read_metadata(file, name, c);
  check_names(expected_tensors(c, file), file, name);
  for (const auto& [full_name, tensor] : file.tensors) {
    check(tensor.dtype() != DType::int64, "[checkpoint] {}: tensor '{}' is int64, expected float32 or float64", name,
          full_name);
    check(all_finite(tensor), "[checkpoint] {}: tensor '{}' is not finite, expected weights that can be used", name,
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
  } catch (const Interrupted&) {
    throw;
  } catch (const Error&) {
    return false;
  }
}

std::unique_ptr<Model> restore_model(const Checkpoint& c) {
  return with_errors([&] {
    auto model = make_model(c.run.spec, {.drawn = false});
    const std::vector<NamedParameter> tensors = named_tensors(*model);
    const Weights& weights = weights_that_count(c);
    check(tensors.size() == weights.size(), "[checkpoint] weights of {} tensors found, {} with these options has {}",
          weights.size(), c.run.spec.name, tensors.size());
    assign(tensors, weights);
    return model;
  });
}

void assign(const std::vector<NamedParameter>& parameters, const Weights& weights) {
  for (const auto& [name, parameter] : parameters) {
    const auto found = weights.find(name);
    check(found != weights.end() && found->second.shape() == parameter->value.shape(),
          "[checkpoint] no weights of shape {} for '{}' found", parameter->value.shape(), name);
    const Device device = parameter->value.device();
    parameter->value = found->second.device() == device ? found->second.clone() : found->second.to(device);
  }
}

}  // namespace npzoo
