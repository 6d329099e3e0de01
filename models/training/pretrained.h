#pragma once

#include <string>

#include "npzoo/models/training/checkpoint.h"

namespace npzoo {

/// Has a run begin with the weights that count of a checkpoint or of exported weights, by path or name, instead of
/// random ones. A run without a model gets that of the weights. Throws Error if there are none, or where they take
/// other numbers of inputs and values than the run's protocol has.
void begin_with(TrainingRun& run, const std::string& source);

/// Whether the run's model is its protocol's preset, and not only that of the weights that it begins with.
bool is_preset(const TrainingRun& run);

/// The weights that `run.init` names, for a model of the run. Throws Error if they have changed since the run was
/// described, or where a tensor of the model is missing among them or has another shape there.
Weights pretrained_weights(const TrainingRun& run, Model& model);

}  // namespace npzoo
