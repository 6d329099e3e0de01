#pragma once

#include <vector>

#include "npzoo/models/blocks/linear.h"

namespace npzoo {

/// Linear layers with ReLU between them and none after the last.
class Mlp {
 public:
  /// widths: input, hidden …, output.
  Mlp(const std::vector<std::int64_t>& widths, Initializer& init) {
    check(widths.size() >= 2, "[mlp] {} widths given, expected input and output at least", widths.size());
    for (std::size_t i = 1; i < widths.size(); ++i) layers.emplace_back(widths[i - 1], widths[i], init);
  }

  /// `depth` linear layers from `in` over `hidden` to `out`.
  static Mlp of_depth(std::int64_t in, std::int64_t hidden, std::int64_t out, std::int64_t depth, Initializer& init) {
    check(depth >= 1, "[mlp] depth {} found, expected 1 or more", depth);
    std::vector<std::int64_t> widths(static_cast<std::size_t>(depth) + 1, hidden);
    widths.front() = in;
    widths.back() = out;
    return Mlp(widths, init);
  }

  /// x (…, in) → (…, out)
  Tensor operator()(const Tensor& x) const {
    Tensor h = x;
    for (std::size_t i = 0; i < layers.size(); ++i)
      h = layers[i](h, i + 1 < layers.size() ? Activation::relu : Activation::none);
    return h;
  }

  /// The same with another function between the layers.
  template <class F>
  Tensor with(F between, const Tensor& x) const {
    Tensor h = x;
    for (std::size_t i = 0; i < layers.size(); ++i) h = layers[i](i == 0 ? h : between(h));
    return h;
  }

  void visit(ModuleVisitor& visitor) { visitor("layers", layers); }

  std::vector<Linear> layers;
};

}  // namespace npzoo
