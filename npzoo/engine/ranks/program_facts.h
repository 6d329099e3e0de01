#pragma once

#include <vector>

#include "npzoo/engine/ranks/job.h"

namespace npzoo {

/// Returns what must be the same on all ranks of any job: the program and its instruction set.
std::vector<Job::Fact> program_facts();

}  // namespace npzoo
