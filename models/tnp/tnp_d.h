#pragma once

#include <cstdint>
#include <memory>

#include "npzoo/engine/init.h"
#include "npzoo/models/model.h"

namespace npzoo {

struct AuthorsPlace;
struct TokenTransformerConfig;

/// TNP-D, the diagonal transformer neural process (Nguyen and Grover, "Transformer neural processes: uncertainty-aware
/// meta learning via sequence modeling", ICML 2022, section 3): a post-norm transformer encoder over [context; targets]
/// in which every point attends to the context alone.
///
/// Reads `architecture` "tnp" (TNP-pytorch) or "dl4bi" (the TNP-KR authors' version) and that code's constructor
/// parameters; of "tnp" also the bandits' drop_y (see drop_values) and whether the loss is of the context's points too,
/// score_context, if they are given. Both have 222,082 parameters in one dimension; they differ in initialisation
/// and layer-norm epsilon.
std::unique_ptr<Model> make_tnp_d(const ModelConfig& config, const InitialWeights& weights);

/// Reads what TNP-pytorch's TNP-D, TNP-ND and TNP-A have in common: dim_x, dim_y, d_model, dim_feedforward, nhead,
/// num_layers, emb_depth and, if they are given, dropout (which must be 0) and bound_std (σ = 0.05 + 0.95 softplus).
/// `model` opens the messages.
TokenTransformerConfig read_tnp_config(ConfigReader& reader, const std::string& model);

/// The same of dl4bi's TNP-D and TNP-ND: min_std in the place of bound_std, and head_hidden if it is given.
TokenTransformerConfig read_dl4bi_tnp_config(ConfigReader& reader, const std::string& model);

/// Reads what TNP-pytorch's bandits of all three have besides, if it is given: drop_y and score_context.
void read_bandit_options(ConfigReader& reader, TokenTransformerConfig& config);

/// Places in TNP-pytorch and dl4bi of the parameters that these share.
AuthorsPlace authors_tnp(const std::string& name);
AuthorsPlace dl4bi_tnp(const std::string& name);

}  // namespace npzoo
