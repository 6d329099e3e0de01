#pragma once

#include "npzoo/models/convcnp/grid_coders.h"

// For points that are pixels: nodes of a grid (ConvCNP's section 4, "on the grid"). No set convolution is needed there.

namespace npzoo {

/// The image of a context and its mask, each through the same convolution of every channel for itself, with a positive
/// kernel and without bias; what becomes of the image over what becomes of the mask, which is 1e-5 at least; and a
/// linear layer of quotients and masks. A pixel that is given twice counts twice.
std::unique_ptr<GridEncoder> pixel_encoder(int dims, std::int64_t dim_y, std::int64_t kernel, std::int64_t features,
                                           Initializer& init);
/// A network of 5 layers for each pixel by itself; deviations of min_std at least.
std::unique_ptr<GridDecoder> pixel_decoder(std::int64_t channels, const DecodedValues& values, std::int64_t hidden,
                                           double min_std, Initializer& init);

/// Throws Error, opened by `model`, for a point of x (B, N, dims), or of the first `lengths` (B) of each row, that is
/// off the grid by more than a thousandth of a step: float32 rounds to less.
void check_on_grid(const Tensor& x, const Tensor& lengths, const RegularGrid& grid, const char* model);

}  // namespace npzoo
