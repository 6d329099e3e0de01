#pragma once

#include "engine/tensor.h"

namespace npzoo {

/// A batch of regression tasks: what models are given and what datasets make.
/// x and y are standardised as the protocol says; all of one floating dtype.
struct Task {
  Tensor xc;  // (B, Nc, Dx) context inputs
  Tensor yc;  // (B, Nc, Dy) context values
  Tensor xt;  // (B, Nt, Dx) target inputs
  Tensor yt;  // (B, Nt, Dy) target values
  /// (B) int64: how many leading context points of each row are real, the rest is padding. Undefined: all of them.
  Tensor lengths{};
};

}  // namespace npzoo
