#pragma once

#include <cstdint>

namespace npzoo {

/// The similarity of a query and a key. The kinds of attention of attentive neural processes (Kim et al., ICLR 2019)
/// are these; multihead attention is the dot product with several heads between projections.
enum class AttentionScore : std::uint8_t {
  dot_product,  // scale · q·k
  laplace,      // −scale · Σ |q − k|
  uniform       // 0: the mean of the visible values
};

}  // namespace npzoo
