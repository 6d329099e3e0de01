#pragma once

#include <memory>
#include <vector>

#include "npzoo/engine/init.h"
#include "npzoo/engine/module.h"

// Convolutional networks on a grid, over one input or two: (B, G, C) or (B, G1, G2, C), channels last. Kernels have the
// same extent along every input.

namespace npzoo {

/// From features on a grid to others on the same grid.
class GridNetwork {
 public:
  virtual ~GridNetwork() = default;

  virtual Tensor operator()(const Tensor& x) const = 0;
  virtual std::int64_t out_channels() const = 0;
  virtual void visit(ModuleVisitor& visitor) = 0;
};

/// Four convolutions of 5 nodes, ReLU after each: "SimpleConv" of ConvCNP's code.
std::unique_ptr<GridNetwork> simple_network(int dims, std::int64_t in, std::int64_t out, Initializer& init);

/// `halvings` convolutions of 5 nodes in steps of 2, and as many transposed ones with what stood there before beside
/// them; the input beside the last: "UNet" of ConvCNP's code, which has 6. Grids are multiples of 2^halvings.
std::unique_ptr<GridNetwork> u_network(int dims, std::int64_t in, std::int64_t halvings, Initializer& init);
inline constexpr std::int64_t kMostHalvings = 6;

/// "UNet" of neuralprocesses: convolutions of 5 nodes that halve the grid, one for each of `channels`, and as many
/// transposed ones. Grids are multiples of 2^channels.
///
/// A layer halves the grid in one of two ways, by the receptive field before it: 1 node before the first layer, and
/// each convolution adds 4. If the field is odd, the layer is a convolution of stride 1 and then a mean over 2 nodes,
/// and the field becomes (field + 1) / 2. If it is even, the layer is a convolution of stride 2, and the field becomes
/// field / 2. So the first two layers pool and all others stride. Source: github.com/wesselb/neuralprocesses @89faf25.
std::unique_ptr<GridNetwork> pooling_u_network(int dims, std::int64_t in, const std::vector<std::int64_t>& channels,
                                               std::int64_t out, Initializer& init);

/// True if layer `layer` of that network, from 0, pools.
bool pools(std::int64_t layer);

/// "ConvNet" of neuralprocesses: `layers` convolutions with ReLU between them.
std::unique_ptr<GridNetwork> plain_network(int dims, std::int64_t in, std::int64_t channels, std::int64_t layers,
                                           std::int64_t kernel, std::int64_t out, Initializer& init);

/// "ConvCNPNet" of dl4bi: blocks of two depth-wise separable convolutions, each after a gain, a bias and ReLU.
std::unique_ptr<GridNetwork> residual_network(int dims, std::int64_t channels, std::int64_t blocks, std::int64_t kernel,
                                              Initializer& init);

}  // namespace npzoo
