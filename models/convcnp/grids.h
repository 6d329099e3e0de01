#pragma once

#include <array>

#include "npzoo/datasets/model_config.h"
#include "npzoo/ops/set_convolution/regular_grid.h"

// The grid of a convolutional model. In the authors' codes it covers the context and the targets of a batch. Here its
// extent is a parameter of the model, so that a prediction depends neither on other targets nor on the other tasks of a
// batch. Points outside interact with the part of the grid within their reach.

namespace npzoo {

/// Inputs that are to be covered.
struct Extent {
  double low = -2, high = 2;

  bool operator==(const Extent&) const = default;
};

/// Reads grid_low and grid_high, common to all inputs unless there are grid_low_2 and grid_high_2 for the second.
std::array<Extent, 2> read_extents(ConfigReader& reader, std::int64_t dim_x, const char* model);

/// ConvCNP's code: .1 farther on each side, and a number of points per unit, rounded up to a multiple; both ends are
/// nodes.
GridAxis convcnp_axis(const Extent& extent, double points_per_unit, std::int64_t multiple);
/// dl4bi: so many points per unit, rounded down; both ends are nodes.
GridAxis dl4bi_axis(const Extent& extent, double points_per_unit);
/// neuralprocesses: `margin` and a step farther on each side, a multiple of nodes, at whole multiples of the step.
GridAxis convgnp_axis(const Extent& extent, double points_per_unit, std::int64_t multiple, double margin);

/// Pixels of an image: `count` nodes, from 2 on, the ends of the extent among them.
GridAxis pixel_axis(const Extent& extent, std::int64_t count);

/// Throws Error, opened by `model`, for more nodes than a model can want.
RegularGrid checked_grid(std::int64_t dim_x, const GridAxis& first, const GridAxis& last, const char* model);

}  // namespace npzoo
