#pragma once

#include "engine/random.h"
#include "engine/tensor.h"

namespace npzoo {

/// Inverted dropout (Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014):
/// each element is 0 with probability p, else x / (1 − p).
///
/// Any shape; float32 or float64; 0 ≤ p < 1. Element i is dropped when word i mod 4 of Philox block offset + i / 4 is
/// below p · 2³², so the mask depends on neither threads nor device. ⌈n/4⌉ blocks of `random` are used up; with p = 0
/// none, and the result is x itself. NaN propagates where it is kept. Saves the random state, not the mask.
Tensor dropout(const Tensor& x, double p, Random& random);

}  // namespace npzoo
