#pragma once

#include "npzoo/models/convcnp/convcnp.h"

// SConvCNP, the spectral convolutional conditional neural process (Mohseni and Duffield, "Spectral convolutional
// conditional neural processes", ICLR 2024 workshop on learning from time series for health; arXiv 2404.13182, version
// 1): a ConvCnp over one input whose network is a Fourier neural operator (fourier_network.h). It reads the place of
// each node, so predictions do not move with the inputs. Its loss is the mean over targets and channels.

namespace npzoo {

/// Reads dim_x, dim_y, points_per_unit, grid_low, grid_high, channels, width, modes and the keys of read_likelihood.
/// Throws Error unless dim_x is 1, width is even and the grid has enough nodes for the modes.
ConvCnpConfig read_sconvcnp_config(const ModelConfig& config);

}  // namespace npzoo
