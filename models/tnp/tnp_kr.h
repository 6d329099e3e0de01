#pragma once

#include "npzoo/engine/init.h"
#include "npzoo/models/model.h"

namespace npzoo {

/// TNP-KR (Full): transformer neural process with kernel-regression blocks (Jenson et al., "Transformer neural
/// processes - kernel regression", 2024, first version and its code). A KR block is a pre-norm transformer layer that
/// queries and keys share: targets attend to the context, the context to itself.
std::unique_ptr<Model> make_tnp_kr_full(const ModelConfig& config, const InitialWeights& weights);

/// TNP-KR-Fast: the same with FAVOR+ in the place of attention, so that time and memory are linear in context and
/// targets (section 3.2 of that paper).
///
/// Reads `num_features` a head besides, `feature_norms` "fixed" (the authors' code) or "chi" (the unbiased estimate of
/// softmax attention that the text describes), and if they are given `stabiliser` "none" (the authors' code) or
/// "maximum", and `redraw_every` training steps (0, as in the authors' runs: never).
std::unique_ptr<Model> make_tnp_kr_fast(const ModelConfig& config, const InitialWeights& weights);

}  // namespace npzoo
