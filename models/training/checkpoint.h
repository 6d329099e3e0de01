#pragma once

#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/io/safetensors.h"
#include "npzoo/engine/optim/optimiser.h"
#include "npzoo/models/model.h"

namespace npzoo {

/// Trained weights that a run begins with.
struct PretrainedWeights {
  std::string source;    // path or name, as requested
  std::string checksum;  // identifies them
};

/// The model, the protocol and the settings of a training: together with the data's own randomness they determine every
/// bit of the result.
struct TrainingRun {
  Protocol protocol;  // with the run's own steps, batch size and learning rate
  ModelSpec spec;
  std::uint64_t seed = 0;
  std::optional<PretrainedWeights> init{};  // instead of random weights
};

/// All tensors of a model, trained or not, by name.
using Weights = std::map<std::string, Tensor>;

/// Facts about exported weights besides the run that made them.
struct Provenance {
  std::string command;     // that trains them again
  std::string evaluation;  // JSON, an array: their scores as `npzoo eval --json` prints them
};

/// A training run at one instant: all that it needs to continue with the same bits. Data and initial weights are
/// functions of the seed and the step, so there is no generator state.
struct Checkpoint {
  TrainingRun run;
  std::int64_t step = 0;  // updates made
  Weights weights;
  Weights first_moments, second_moments;

  std::int64_t best_step = -1;  // -1: none yet
  double best_log_likelihood = -std::numeric_limits<double>::infinity();
  Weights best_weights;

  double loss = std::numeric_limits<double>::quiet_NaN();  // in the last line of metrics
  double loss_sum = 0;                                     // since then
  std::int64_t loss_count = 0;
  double seconds = 0;  // of training so far
  std::string commit;  // of the program that trained last; empty if unknown

  std::optional<Provenance> exported;  // if these are only weights, without moments to continue with
};

/// Writes one safetensors file: weights under the parameters' names, `best.NAME`, `optimiser.first_moment.NAME` and
/// `optimiser.second_moment.NAME`, the rest as metadata. Durable; a crash leaves the old file (AtomicFile).
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Returns what identifies a state: run, weights, moments and progress, but neither seconds nor commit.
std::string state_checksum(Checkpoint checkpoint);

/// Writes the weights that count, in float32, with a description: a small file to predict with, to score and to share.
/// Returns the number of bytes. Throws Error if the checkpoint has no commit.
std::int64_t export_weights(const std::filesystem::path& path, const Checkpoint& checkpoint,
                            const Provenance& provenance);

/// Those of the best validation where the protocol keeps them, else the last.
const Weights& weights_that_count(const Checkpoint& checkpoint);

/// Returns a checksum of the weights that count, as they are exported (see npzoo/engine/io/checksum.h).
std::string weights_checksum(const Checkpoint& checkpoint);

/// Reads a checkpoint or exported weights. Throws Error for a file that is damaged, that is neither, or whose tensors
/// are not those of its model.
Checkpoint load_checkpoint(const std::filesystem::path& path);
/// The same of a file's content. `name` is what messages call it.
Checkpoint read_checkpoint(const TensorFile& file, const std::string& name);

/// Whether a file holds a state of training, which nothing but the training itself may replace; false as well for a
/// file that is not there or cannot be read.
bool holds_training(const std::filesystem::path& path);

/// The model of a checkpoint with the weights that count.
std::unique_ptr<Model> restore_model(const Checkpoint& checkpoint);

/// Copies `weights` into the parameters; names and shapes must be equal (checked by load_checkpoint for its own).
void assign(const std::vector<NamedParameter>& parameters, const Weights& weights);

}  // namespace npzoo
