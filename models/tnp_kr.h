#pragma once

#include <cstdint>
#include <memory>

#include "engine/init.h"
#include "models/model.h"

namespace npzoo {

/// TNP-KR (Full): transformer neural process with kernel-regression blocks (Jenson et al., "Transformer neural
/// processes - kernel regression", 2024, first version and its code). A KR block is a pre-norm transformer layer that
/// queries and keys share: targets attend to the context, the context to itself.
std::unique_ptr<Model> make_tnp_kr_full(const ModelConfig& config, const InitialWeights& weights);

}  // namespace npzoo
