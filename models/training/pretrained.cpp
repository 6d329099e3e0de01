#include "npzoo/models/training/pretrained.h"

#include "npzoo/models/registry.h"
#include "npzoo/models/training/named_weights.h"

namespace npzoo {

void begin_with(TrainingRun& run, const std::string& source) {
  const Checkpoint found = load_checkpoint(find_weights(source));
  const TaskConfig& data = *run.protocol.data;
  const std::unique_ptr<Model> model = restore_model(found);
  check(model->dim_x() == data.dim_x() && model->dim_y() == data.dim_y(),
        "[init] {} takes {} inputs and predicts {} values, {} has {} and {}", source, model->dim_x(), model->dim_y(),
        run.protocol.name, data.dim_x(), data.dim_y());
  if (run.spec.name.empty()) run.spec = found.run.spec;
  run.init = {full_weights_name(source), weights_checksum(found)};
}

bool is_preset(const TrainingRun& run) {
  return run.protocol.models.contains(run.spec.name) && model_spec(run.protocol, run.spec.name) == run.spec;
}

Weights pretrained_weights(const TrainingRun& run, Model& model) {
  const auto& [source, checksum] = *run.init;
  const Checkpoint found = load_checkpoint(find_weights(source));
  const std::string now = weights_checksum(found);
  check(now == checksum, "[init] {} has other weights now: checksum {} found, expected {}", source, now, checksum);
  const Weights& weights = weights_that_count(found);
  for (const auto& [name, parameter] : named_tensors(model)) {
    const auto same = weights.find(name);
    check(same != weights.end(), "[init] {} is a {} without '{}', which the {} under {} has", source,
          found.run.spec.name, name, run.spec.name, run.protocol.name);
    check(same->second.shape() == parameter->value.shape(),
          "[init] {}: '{}' has the shape {}, expected {} for the {} under {}", source, name, same->second.shape(),
          parameter->value.shape(), run.spec.name, run.protocol.name);
  }
  return weights;
}

}  // namespace npzoo
