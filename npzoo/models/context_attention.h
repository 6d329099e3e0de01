#pragma once

#include <vector>

#include "npzoo/models/model.h"

namespace npzoo {

/// How a model's targets look at their context: for each layer in which they attend to it, from the first to the last,
/// the weights of the context's points in each head, (B, H, Nc), float64 on the CPU. They are those of the very queries
/// and keys that predict (Kim et al., "Attentive neural processes", ICLR 2019, figures 7 and 16), and add up to 1 where
/// a context has points. Empty for a model without attention.
///
/// xt (B, 1, Dx): one target for each task, since what models that predict jointly attend to may depend on the others.
/// Where targets read latents, what these have read of the context is followed through the layers that they went
/// through since they met it, in the mean over those layers' heads and without what residual connections carry past
/// them. Random features weigh by what they stand for, φ(q)·φ(k). Bootstraps of a context have its inputs for keys, so
/// that all of them have its weights.
std::vector<Tensor> context_attention(const Model& model, const Context& context, const Tensor& xt, Draws draws);

}  // namespace npzoo
