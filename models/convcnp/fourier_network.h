#pragma once

#include <functional>

#include "npzoo/models/blocks/linear.h"
#include "npzoo/models/convcnp/grid_networks.h"
#include "npzoo/ops/set_convolution/regular_grid.h"

// A neural operator on the nodes of one axis, by Fourier transforms that keep the lowest modes. Its parts take and
// return (G, B, C), the nodes first: the transforms of a whole batch are then one product of two matrices.

namespace npzoo {

/// A matrix that is not learned, in both dtypes, on the default device.
class FixedMatrix {
 public:
  /// `element(i, j)` is the element in row i and column j.
  FixedMatrix(std::int64_t rows, std::int64_t columns,
              const std::function<double(std::int64_t, std::int64_t)>& element);

  /// The matrix as float32 or float64.
  const Tensor& as(DType dtype) const { return dtype == DType::float64 ? double_ : single_; }
  /// The product with x (columns, B, C): (rows, B, C).
  Tensor operator()(const Tensor& x) const;

 private:
  Tensor single_, double_;
};

/// The number of nodes and channels before and after a layer.
struct FourierExtents {
  std::int64_t nodes = 1, in = 1;
  std::int64_t nodes_after = 1, out = 1;
};

/// A real Fourier transform along the nodes, a product of each of the lowest M modes with a complex matrix of its own,
/// and the inverse transform to another number of nodes. As in numpy, the transform has no factor and its inverse has
/// one over its nodes, so values on half as many nodes are twice as large. The imaginary parts of mode 0 and of the
/// mode at half the nodes do not count.
class SpectralConvolution {
 public:
  /// Draws complex weights N(0, 1) / (in · out). Expects at most nodes / 2 + 1 modes, of both numbers of nodes.
  SpectralConvolution(const FourierExtents& extents, std::int64_t modes, Initializer& init);

  /// x (G, B, C) → (G′, B, C′), float32 or float64.
  Tensor operator()(const Tensor& x) const;
  void visit(ModuleVisitor& visitor);

  Parameter real, imaginary;  // of the weights, (M, C, C′)

 private:
  FixedMatrix transform_;  // (2 M, G): real and imaginary part of each mode in turn
  FixedMatrix inverse_;    // (G′, 2 M)
};

/// Linear interpolation at G′ places that divide the range from the first to the last of G nodes equally.
class GridResampling {
 public:
  GridResampling(std::int64_t nodes, std::int64_t nodes_after);

  /// x (G, B, C) → (G′, B, C)
  Tensor operator()(const Tensor& x) const;

 private:
  bool same_;             // as many nodes after as before
  Tensor below_, above_;  // (1, G′) int64: the nodes around each place
  FixedMatrix share_;     // (G′, 1): of the node above
};

/// GELU(GELU(spectral convolution + linear layer of the same input, resampled)).
class FourierBlock {
 public:
  FourierBlock(const FourierExtents& extents, std::int64_t modes, Initializer& init);

  /// x (G, B, C) → (G′, B, C′)
  Tensor operator()(const Tensor& x) const;
  void visit(ModuleVisitor& visitor);

  SpectralConvolution spectral;
  Linear skip;

 private:
  bool coarser_;
  GridResampling resampled_;
};

struct FourierNetworkConfig {
  std::int64_t channels = 16;  // of its input and its output
  std::int64_t width = 64;     // an even number
  std::int64_t modes = 32;
};

/// Grids are multiples of this number of nodes.
inline constexpr std::int64_t kFourierMultiple = 8;
/// The largest number of modes on a grid of so many nodes: the coarsest grid inside has a quarter of them.
constexpr std::int64_t most_modes(std::int64_t nodes) { return nodes / 4 / 2 + 1; }

/// "UNO" of SConvCNP's code: a U-shaped Fourier neural operator that reads the place of each node besides its channels,
/// so it does not move with the inputs. Takes and returns (B, G, channels), for the G nodes of `axis` alone.
std::unique_ptr<GridNetwork> fourier_network(const FourierNetworkConfig& config, const GridAxis& axis,
                                             Initializer& init);

}  // namespace npzoo
