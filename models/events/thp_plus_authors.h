#pragma once

#include <span>
#include <string>
#include <vector>

#include "npzoo/models/parity/authors.h"

namespace npzoo {

/// The code of Bae et al. for THP+, whose objective is not ours: of the last event of a sequence, the probability that
/// nothing happens before it takes the place of the density of its gap, while its mark counts; components of that
/// probability are held within [1e-5, 1 - 1e-5] without their gradients knowing; all events of a batch are added up,
/// and so is a penalty on all parameters.
std::span<const AuthorsCode> thp_plus_authors();

/// Returns the place of a layer's parameter in this code and in that of THP. `ours` are the words of its name, "layers"
/// first.
std::string hawkes_encoder_place(const std::vector<std::string>& ours);

/// Number of marks of a model with these constructor parameters. Recorded marks are 1 to that, or 0 for padding.
std::int64_t recorded_marks(const ModelConfig& ours);

}  // namespace npzoo
