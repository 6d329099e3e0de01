#pragma once

#include <string>
#include <string_view>

#include "npzoo/models/training/checkpoint.h"

namespace npzoo {

/// The numbers of a checkpoint as JSON: what differs from the protocol, and how far the run is.
std::string run_state_to_json(const Checkpoint& checkpoint);

/// Reads them into a checkpoint that has its protocol. Throws Error, beginning with `where`, for what is missing, of
/// another type or such that no run can have it: a file from a stranger must not begin one.
void run_state_from_json(std::string_view text, std::string_view where, Checkpoint& checkpoint);

}  // namespace npzoo
