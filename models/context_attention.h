#pragma once

#include <vector>

#include "npzoo/models/model.h"

namespace npzoo {

/// Returns the attention of targets to their context: for each layer in which they attend to it, from the first to the
/// last, the weights of the context's points in each head, (B, H, Nc), float64 on the CPU. They are the weights of the
/// queries and keys that predict (Kim et al., "Attentive neural processes", ICLR 2019, figures 7 and 16), and add up to
/// 1 if a context has points. Empty for a model without attention.
///
/// xt (B, 1, Dx): one target for each task, since in models that predict jointly the attention may depend on the other
/// targets. If targets read latents, the attention of these to the context is followed through the layers since, in the
/// mean over those layers' heads and without the part that residual connections carry past them. Random features weigh
/// by the kernel that they approximate, φ(q)·φ(k). Bootstraps of a context have its inputs for keys, so all of them
/// have its weights.
std::vector<Tensor> context_attention(const Model& model, const Context& context, const Tensor& xt, Draws draws);

}  // namespace npzoo
