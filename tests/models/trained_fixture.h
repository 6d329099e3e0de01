#pragma once

#include "npzoo/models/applications/trained_model.h"
#include "npzoo/models/training/named_weights.h"

namespace npzoo::testing {

/// A model that passes for one trained by this run.
inline TrainedModel as_trained(TrainingRun run, std::unique_ptr<Model> model) {
  TrainedModel trained;
  trained.checkpoint.run = std::move(run);
  trained.checkpoint.step = 20;
  trained.model = std::move(model);
  return trained;
}

/// The weights that fill tables of one input.
inline const TrainedModel& weights_of_tables() {
  static const TrainedModel trained = load_model("npzoo/any-1d");
  return trained;
}

}  // namespace npzoo::testing
