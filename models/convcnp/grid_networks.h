#pragma once

#include <memory>
#include <vector>

#include "engine/init.h"
#include "engine/module.h"

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

/// "UNet" of neuralprocesses, with `channels` at each level: convolutions of 5 nodes, each followed by means of 2.
std::unique_ptr<GridNetwork> pooling_u_network(int dims, std::int64_t in, const std::vector<std::int64_t>& channels,
                                               std::int64_t out, Initializer& init);

/// "ConvNet" of neuralprocesses: `layers` convolutions with ReLU between them.
std::unique_ptr<GridNetwork> plain_network(int dims, std::int64_t in, std::int64_t channels, std::int64_t layers,
                                           std::int64_t kernel, std::int64_t out, Initializer& init);

/// "ConvCNPNet" of dl4bi: blocks of two depth-wise separable convolutions, each after a gain, a bias and ReLU.
std::unique_ptr<GridNetwork> residual_network(int dims, std::int64_t channels, std::int64_t blocks, std::int64_t kernel,
                                              Initializer& init);

}  // namespace npzoo
