#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "npzoo/engine/ranks/job.h"

namespace npzoo {

/// Returns what must be the same on all ranks of any job: the program, its instruction set, device and precision.
/// Throws Error if the program cannot be read.
std::vector<Job::Fact> program_facts();

/// Returns the digest of a program and of the shared library that holds npzoo; the library counts once if it is empty
/// or the program itself. Throws Error if a file cannot be read.
std::string program_digest(const std::filesystem::path& program, const std::filesystem::path& library);

}  // namespace npzoo
