#pragma once

#include <functional>
#include <span>
#include <vector>

#include "npzoo/engine/tensor.h"
#include "npzoo/models/blocks/chunks.h"

// Parts of a model that the backward pass computes again, so that a recording keeps their arguments and nothing else:
// less memory for more time (Chen et al., "Training deep nets with sublinear memory cost", 2016). A function that is
// computed again must always compute the same, and what it refers to must outlive the tape. It may read any variable of
// the recording. `name` must outlive the tape.

namespace npzoo {

using PureFunction = std::function<Tensor(std::span<const Tensor>)>;

/// Returns f(inputs); the recording keeps the inputs.
Tensor recomputed(const char* name, std::vector<Tensor> inputs, PureFunction f);

/// True if a recording is on and x (B, N, …) has so many points that layers compute their rows again: all that layers
/// note of each point would take gigabytes.
bool recomputes(const Tensor& x);

/// A function of points (B, n, C), of which the first is number `begin`.
using PointFunction = std::function<Tensor(const Tensor& points, std::int64_t begin)>;

/// Returns what f makes of all points of x (B, N, C), computed chunk by chunk; f treats every point by itself. The
/// recording keeps x. `reads` are variables that f reads besides; one that stands for others is enough.
Tensor recomputed_points(const char* name, const Tensor& x, std::vector<Tensor> reads, PointFunction f);

/// The same where f makes contributions of points to one sum, (B, …) for any number of points; `sum` is that sum.
Tensor recomputed_sum(const char* name, const Tensor& x, std::vector<Tensor> reads, Tensor sum, PointFunction f);

}  // namespace npzoo
