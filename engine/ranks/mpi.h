#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "npzoo/engine/ranks/launcher.h"
#include "npzoo/engine/ranks/ranks.h"

namespace npzoo {

/// Opens the MPI library of the launcher and joins its job. Programs that this one starts do not join it. Throws Error
/// in one line where no library can be opened, or where it does not see as many ranks as the launcher started.
std::unique_ptr<Ranks> open_mpi(const Launcher& launcher);

/// An MPI_Comm: its value, and the bytes that it has in the library that made it.
struct MpiCommunicator {
  std::uintptr_t handle;
  std::size_t bytes;
};

/// Joins a communicator of an MPI library that runs in this process, which others have started and will end.
/// Collective: all its ranks call this function, and destroy what it returns. Throws Error where no library runs.
std::unique_ptr<Ranks> join_mpi(const MpiCommunicator& communicator);

}  // namespace npzoo
