#pragma once

#include "npzoo/models/convcnp/convcnp.h"

namespace npzoo {

/// Reads the constructor parameters of all architectures.
ConvCnpConfig read_convcnp_config(const ModelConfig& config);

}  // namespace npzoo
