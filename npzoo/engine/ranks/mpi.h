#pragma once

#include <memory>

#include "npzoo/engine/ranks/launcher.h"
#include "npzoo/engine/ranks/ranks.h"

namespace npzoo {

/// Opens the MPI library of the launcher and joins its job. Programs that this one starts do not join it. Throws Error
/// in one line where no library can be opened, or where it does not see as many ranks as the launcher started.
std::unique_ptr<Ranks> open_mpi(const Launcher& launcher);

}  // namespace npzoo
