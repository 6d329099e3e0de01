#pragma once

#include <vector>

#include "npzoo/engine/ranks/job.h"

namespace npzoo {

/// Returns what must be the same on all ranks of any job: the program, its instruction set, device
/// and precision.
std::vector<Job::Fact> program_facts();

}  // namespace npzoo
