#pragma once

#include "npzoo/engine/draws.h"
#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Inverted dropout (Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014):
/// each element is 0 with probability p, else x / (1 − p).
///
/// x (B, …) of B tasks; float32 or float64; 0 ≤ p < 1. Element i of task b is dropped when word i mod 4 of Philox block
/// b · kBlocksOfATask + i / 4 after `draws.generator()` is below p · 2³², so the mask depends on neither threads, nor
/// device, nor the parts of a batch. It takes one call of `draws`; with p = 0 none, and the result is x itself. NaN
/// propagates where it is kept. Saves where the random numbers begin, not the mask.
Tensor dropout(const Tensor& x, double p, Draws& draws);

}  // namespace npzoo
