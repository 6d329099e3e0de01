#pragma once

#include <functional>
#include <span>
#include <vector>

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// A function of tensors that always computes the same. It must use no tensor of a recording but its arguments.
using PureFunction = std::function<Tensor(std::span<const Tensor>)>;

/// Returns f(inputs). The backward pass computes f again, so the recording keeps the inputs and nothing else: less
/// memory for more time (Chen et al., "Training deep nets with sublinear memory cost", 2016). `name` must outlive the
/// tape.
Tensor recomputed(const char* name, std::vector<Tensor> inputs, PureFunction f);

}  // namespace npzoo
