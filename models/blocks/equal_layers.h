#pragma once

#include <vector>

#include "npzoo/engine/module.h"

namespace npzoo {

/// Gives every layer the first one's values: torch's lists of copied layers start equal.
template <class Layer>
void make_equal(std::vector<Layer>& layers) {
  for (Layer& layer : layers) {
    const auto source = named_tensors(layers.front()), target = named_tensors(layer);
    for (std::size_t i = 0; i < source.size(); ++i) target[i].parameter->value = source[i].parameter->value.clone();
  }
}

}  // namespace npzoo
