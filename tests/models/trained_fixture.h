#pragma once

#include "npzoo/models/applications/trained_model.h"

namespace npzoo::testing {

/// A model that passes for one trained by this run.
inline TrainedModel as_trained(TrainingRun run, std::unique_ptr<Model> model) {
  TrainedModel trained;
  trained.checkpoint.run = std::move(run);
  trained.checkpoint.step = 20;
  trained.model = std::move(model);
  return trained;
}

}  // namespace npzoo::testing
