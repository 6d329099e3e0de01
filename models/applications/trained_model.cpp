#include "npzoo/models/applications/trained_model.h"

#include <fmt/format.h>

#include "npzoo/engine/boundary.h"
#include "npzoo/engine/config.h"
#include "npzoo/engine/words.h"
#include "npzoo/models/training/named_weights.h"

namespace npzoo {

TrainedModel load_model(const std::string& weights) {
  return with_errors([&] {
    TrainedModel trained{load_checkpoint(find_weights(weights)), nullptr};
    trained.model = restore_model(trained.checkpoint);
    return trained;
  });
}

std::string WeightsUsed::made_by(std::string_view command) const {
  if (protocol.empty()) return fmt::format("npzoo {} {}: {}, fitted to the table", kVersion, command, model);
  return fmt::format("npzoo {} {}: {} trained under {}, seed {}, {}", kVersion, command, model, protocol, seed,
                     counted(steps, "step"));
}

std::string WeightsUsed::name() const { return protocol.empty() ? model : model + ":" + protocol; }

WeightsUsed weights_used(const Checkpoint& checkpoint) {
  const TrainingRun& run = checkpoint.run;
  return {run.spec.name, run.protocol.name, run.seed, checkpoint.step};
}

}  // namespace npzoo
