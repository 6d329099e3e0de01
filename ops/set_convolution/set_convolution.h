#pragma once

#include "npzoo/engine/tensor.h"
#include "npzoo/ops/set_convolution/reach.h"
#include "npzoo/ops/set_convolution/regular_grid.h"

namespace npzoo {

// Set convolutions (Gordon et al., "Convolutional conditional neural processes", ICLR 2020): from points anywhere onto
// a regular grid, and back. A point at distance d of a node has the weight exp(−d² / (2 l²)), where l > 0 is the length
// scale of a channel, or one for all of them. Weights beyond kSetConvolutionReach length scales count as 0: time grows
// with the number of points plus the number of nodes. Over two inputs a weight is a product of two.
//
// x is (B, N, D) with D = 1 or 2, that of the grid; scales (C), or (1) for all channels; one dtype, float32 or float64.
// Grids are (B, G, C) or (B, G1, G2, C): inputs come first, channels last, as in convolutions. Extents of 0 are legal.
// A NaN in x reaches every node along its input, and a NaN among the scales every node of its channel. Gradients go to
// x, values and scales.

/// values (B, N, C) → grid: Σ over the points. The result loses no digits to the number of points. `lengths` (B) int64
/// are the numbers of real points: the others are never read and have gradient 0. Values of 1 give the density of the
/// points. Saves all arguments.
Tensor points_to_grid(const Tensor& x, const Tensor& values, const Tensor& scales, const RegularGrid& grid,
                      const Tensor& lengths = {});

/// values on the grid → (B, N, C) at the points: Σ over the nodes. Saves all arguments.
Tensor grid_to_points(const Tensor& x, const Tensor& values, const Tensor& scales, const RegularGrid& grid);

}  // namespace npzoo
