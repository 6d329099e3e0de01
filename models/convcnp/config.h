#pragma once

#include "npzoo/models/convcnp/convcnp.h"

namespace npzoo {

/// Reads the constructor parameters of all architectures.
ConvCnpConfig read_convcnp_config(const ModelConfig& config);

/// Reads points_per_unit.
double read_points_per_unit(ConfigReader& reader);

}  // namespace npzoo
