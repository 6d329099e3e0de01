#pragma once

#include <optional>
#include <string>
#include <vector>

namespace npzoo {

/// The program that started this process as one of several.
struct Launcher {
  enum class Kind { open_mpi, pmi, pmix, slurm } kind = Kind::open_mpi;
  std::string name;                 // for messages
  std::optional<int> size;          // processes of the job, where the environment tells
  std::optional<int> rank;          // of this one, likewise
  std::optional<int> local_rank{};  // of this one among those of its host, likewise
};

/// Read from the environment. Nothing where no launcher started this process, where the variable NPZOO_MPI is "none",
/// and in a batch script of Slurm, which is one process.
std::optional<Launcher> find_launcher();

/// File names of MPI libraries in the order in which to try them: NPZOO_MPI alone where it is set; else those beside
/// the launcher, since a library works with its own launcher only; then names for the system's loader.
std::vector<std::string> mpi_libraries(const Launcher& launcher);

}  // namespace npzoo
