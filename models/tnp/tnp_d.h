#pragma once

#include <cstdint>
#include <memory>

#include "engine/init.h"
#include "models/model.h"

namespace npzoo {

/// TNP-D, the diagonal transformer neural process (Nguyen and Grover, "Transformer neural processes: uncertainty-aware
/// meta learning via sequence modeling", ICML 2022, section 3): a post-norm transformer encoder over [context; targets]
/// in which every point attends to the context alone.
///
/// Reads `architecture` "tnp" (TNP-pytorch) or "dl4bi" (the TNP-KR authors' version) and that code's constructor
/// parameters. Both have 222,082 parameters in one dimension; they differ in initialisation and layer-norm epsilon.
std::unique_ptr<Model> make_tnp_d(const ModelConfig& config, const InitialWeights& weights);

}  // namespace npzoo
