#pragma once

#include <cstdint>
#include <filesystem>

namespace npzoo {

/// Files in which Linux lists the control groups (such as containers) of a process. Tests use other files.
struct ControlGroups {
  std::filesystem::path memberships = "/proc/self/cgroup";
  std::filesystem::path mount = "/sys/fs/cgroup";
};

/// Cores that this process may run on: those of its affinity mask, but no more than the time that its control groups
/// grant amounts to. At least 1.
int usable_cores(const ControlGroups& groups = {});

/// Returns the largest number of threads of a pool. More would only wait for each other, and each takes address space
/// for a stack. Several for each core, so that uneven work and busy neighbours can be tried out.
int most_threads();

/// Bytes that this process can hold at the very most: the memory and swap of the machine, or what its control groups or
/// its limit of address space allow where that is less.
std::int64_t usable_memory(const ControlGroups& groups = {});

}  // namespace npzoo
