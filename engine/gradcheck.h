#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "npzoo/engine/tensor.h"

namespace npzoo {

struct GradcheckOptions {
  std::uint64_t seed = 0;
  double step = 6e-6;              // relative to max(1, |x|); the cube root of the rounding error
  std::int64_t max_entries = 200;  // of each input; larger inputs are sampled
};

struct GradcheckResult {
  double max_error = 0;      // infinite where a gradient is not finite
  std::int64_t checked = 0;  // derivatives compared
  std::string worst;         // which one had the largest error, and its two values
};

using TensorFunction = std::function<Tensor(const std::vector<Tensor>&)>;

/// Compares the gradients that the tape computes for `f` with central differences, for one random cotangent.
///
/// Every float64 input is checked, entry by entry, and then all of them at once along a random direction, which finds
/// what the sampling of a large input misses. Undefined inputs and other dtypes are passed on as they are. `f` must be
/// deterministic and return float64 of any shape; it is called twice for each entry, four times where the derivative
/// changes fast. An entry that is not finite (masked out, say) must have gradient 0.
///
/// The error of an entry is |analytic - numeric| divided by the largest gradient of its input, or by a thousandth of
/// the largest gradient of all inputs where that is more, or by 1e-4: below these, rounding is all that differences
/// show. Throws Error if the output does not depend on any input, as far as the tape knows.
GradcheckResult gradcheck(const TensorFunction& f, std::vector<Tensor> inputs, const GradcheckOptions& options = {});

}  // namespace npzoo
