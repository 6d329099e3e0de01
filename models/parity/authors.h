#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "npzoo/datasets/model_config.h"
#include "npzoo/engine/tensor.h"

namespace npzoo {

class Draws;
class Model;
class Prediction;
class RecordedTensors;
struct ContextState;
struct Task;

/// By the names that a recording has for them.
using NamedTensors = std::map<std::string, Tensor>;

/// How the axes of an authors' tensor are ordered. PyTorch has the kernels of convolutions as (out, in, K), of
/// transposed ones as (in, out, K), with one K or two; we as (K, in, out), or (out, in) where it is a linear layer with
/// one K of 1. Complex weights of Fourier modes are (in, out, M, 2) there, the real part before the imaginary one; ours
/// are two parts of (M, in, out).
enum class AuthorsLayout : std::uint8_t { same, convolution, transposed_convolution, pointwise, complex_modes };

/// The authors' place of a parameter of ours: one of `parts` equal blocks of rows of their tensor. A matrix that is
/// called kernel, as in Flax, is transposed; a scalar has one element.
struct AuthorsPlace {
  std::string name;
  std::int64_t part = 0, parts = 1;
  AuthorsLayout layout = AuthorsLayout::same;
};

/// The optimiser of recorded updates.
struct RecordedAdam {
  const char* name = "adam";
  double lr = 5e-4;
  double weight_decay = 0;  // added to the gradient
  double epsilon = 1e-8;
  double clip_epsilon = 0;  // added to the norm that gradients are divided by, as PyTorch does
  double penalty = 0;       // half of it times the squares of all their parameters is part of the loss
};

/// Code of a model's authors from which runs have been recorded, and how it compares with ours.
struct AuthorsCode {
  const char* recorded_as;                         // what recordings call the model
  AuthorsPlace (*place)(const std::string& ours);  // of a parameter, by our name for it
  /// Our constructor parameters by theirs; null: they are the same.
  ModelConfig (*config)(ModelConfig theirs) = nullptr;
  /// The one of theirs that may be a list of numbers; `config` is given a string of them.
  const char* list = nullptr;
  /// A key of the run that `config` is given as well.
  const char* of_run = nullptr;
  /// Returns the recorded parts of the state of a context, by their names, on the CPU; null: none.
  NamedTensors (*state)(const ContextState& state) = nullptr;
  /// Our constructor parameters with those that theirs finds out from the recorded task, in float64 on the CPU; null:
  /// there are none.
  ModelConfig (*of_task)(ModelConfig ours, const Task& task) = nullptr;
  RecordedAdam adam{};
  /// Nodes of the grid that our model computes on; null: it has none. A recording has at least as many numbers.
  std::int64_t (*nodes)(const ModelConfig& ours) = nullptr;
  /// The recorded task for a model of ours, in float64 on the CPU; null: it is xc, yc, xt and yt.
  Task (*task)(const RecordedTensors& recorded, const ModelConfig& ours) = nullptr;
  /// Their objective where it is none of the model's; null: Model::loss.
  Tensor (*loss)(const Model& model, const Task& task, Draws& draws) = nullptr;
  /// Returns the recorded parts of a prediction besides its moments and densities, in training and in evaluation, with
  /// the numbers drawn there; null: none. Padded targets of (B, Nt, …) are not compared. `run` has numbers and truth
  /// values of the run.
  NamedTensors (*outputs)(const Model& model, const Task& task, Draws& draws, bool training,
                          const ModelConfig& run) = nullptr;
  /// The optimiser of the updates that were recorded as "adamw", whose gradients are clipped to the norm 0.5.
  RecordedAdam adamw{.name = "adamw", .lr = 5e-4, .weight_decay = 0.01, .clip_epsilon = 1e-6};
  /// Returns further recorded quantities of an evaluation by their full names, such as states of layers, computed on
  /// the recorded task without a recording of operations; null: none. Those that a recording lacks are not compared,
  /// nor is padding.
  NamedTensors (*others)(const Model& model, const Task& task, const Prediction& prediction,
                         const RecordedTensors& recorded) = nullptr;
  /// The recorded draws, (K, N), are the same for each task of the batch.
  bool draws_for_all_tasks = false;
  /// Recorded draws have the rows of all samples, (K · B, N, D), or of all targets, (B · N, D).
  bool draws_by_rows = false;
};

// For those that write such a function, what several authors' codes have in common.

using Words = std::span<const std::string>;

/// Splits a name at its dots.
std::vector<std::string> split_name(const std::string& name);

/// Place of a layer in the authors' nn.Sequential, where activations count too.
std::string in_sequence(const std::string& layer);

/// The configuration of a model that we have in two architectures, as recorded from TNP's authors.
ModelConfig tnp_architecture(ModelConfig theirs);

/// The same of dl4bi, whose names for some of its parameters are ours by `names`, theirs first.
ModelConfig dl4bi_architecture(ModelConfig theirs, const std::vector<std::pair<std::string, std::string>>& names);

/// Converts the settings that dl4bi's transformers share.
ModelConfig dl4bi_transformer(ModelConfig theirs);

/// Keys by other names, the old ones first; those that are not there are left out.
void rename(ModelConfig& config, const std::vector<std::pair<std::string, std::string>>& names);

/// A weight or bias of the Flax layer `module`, "kernel" or "bias"; of a layer normalisation "scale". What is called
/// kernel is transposed.
std::string flax_name(const std::string& module, const std::string& ours);
AuthorsPlace flax_dense(const std::string& module, const std::string& kind);

/// `words` are layers.L.weight.
AuthorsPlace flax_mlp(const std::string& name, Words words);

/// Places in dl4bi's MultiHeadAttention; `words` are query.weight, or key, value, out.
AuthorsPlace flax_attention(const std::string& name, Words words);

/// A TransformerLayer of dl4bi, `words` being the names within ours.
AuthorsPlace flax_transformer_layer(const std::string& name, Words words);

/// A TransformerLayer in PyTorch's nn.TransformerEncoderLayer `name`, `words` being the names within ours.
AuthorsPlace torch_transformer_layer(const std::string& name, Words words);

/// A TransformerLayer in the code of cambridge-mlg/tnp and of those who built on it, `words` being the names within
/// ours.
AuthorsPlace mlg_transformer_layer(const std::string& name, Words words);

/// A JointHead in the code of TNP-ND's authors and of those after them.
AuthorsPlace authors_joint_head(Words words);

/// `words` are layers.L.weight.
AuthorsPlace authors_mlp(const std::string& name, Words words);

/// Places of the two halves of a PerceiverLayer in the code of EQTNP, LBANP and CMANP: `words` are the names within
/// ours.
AuthorsPlace authors_perceiver_layer(const std::string& attention, const std::string& network, Words words);

/// A LatentLayer, `words` beginning with cross or self; their names for its parts begin with `start`.
AuthorsPlace authors_latent_layer(const std::string& start, Words words);

/// Everything but the encoder of one of these models.
AuthorsPlace authors_perceiver_model(Words words);

}  // namespace npzoo
