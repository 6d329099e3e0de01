#include "npzoo/engine/ranks/launcher.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace npzoo {

namespace {

std::optional<int> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return {};
  const std::string_view digits = text;
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return {};
  return number;
}

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

/// The parent of a process; 0 where the system does not tell.
long parent_of(long process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  const auto end = line.rfind(')');  // the name of a program may hold spaces and brackets
  if (end == line.npos) return 0;
  char state = 0;
  long parent = 0;
  std::istringstream(line.substr(end + 1)) >> state >> parent;
  return parent;
}

/// The folder of libraries beside the launcher among the parents of this process; empty where there is none.
std::filesystem::path libraries_beside_launcher() {
  constexpr std::array<std::string_view, 8> kPrograms = {"orterun", "orted",   "prterun",       "prted",
                                                         "mpirun",  "mpiexec", "mpiexec.hydra", "hydra_pmi_proxy"};
  constexpr int kMostParents = 6;
  long process = ::getppid();
  for (int i = 0; i < kMostParents && process > 1; ++i, process = parent_of(process)) {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/exe", error);
    if (!error && std::ranges::find(kPrograms, program.filename().string()) != kPrograms.end())
      return program.parent_path().parent_path() / "lib";
  }
  return {};
}

std::optional<Launcher> launcher_in_environment() {
  using enum Launcher::Kind;
  if (const char* const wish = std::getenv("NPZOO_MPI"); wish != nullptr && std::string_view(wish) == "none") return {};
  // In this order: an mpirun within a job of Slurm sees variables of both, and started the process.
  if (is_set("OMPI_COMM_WORLD_SIZE"))
    return Launcher{open_mpi, "Open MPI's mpirun", number_in("OMPI_COMM_WORLD_SIZE"),
                    number_in("OMPI_COMM_WORLD_RANK")};
  const auto tasks = number_in("SLURM_STEP_NUM_TASKS");  // SLURM_NTASKS is also set for a batch script itself
  if (is_set("PMI_SIZE")) {
    const bool srun = tasks && !is_set("HYDI_CONTROL_FD");
    return Launcher{pmi, srun ? "srun --mpi=pmi2" : "mpiexec", number_in("PMI_SIZE"), number_in("PMI_RANK")};
  }
  if (is_set("PMIX_RANK"))
    return Launcher{pmix, tasks ? "srun --mpi=pmix" : "a PMIx launcher", tasks, number_in("PMIX_RANK")};
  if (tasks) return Launcher{slurm, "srun without an MPI", tasks, number_in("SLURM_PROCID")};
  return {};
}

}  // namespace

std::optional<Launcher> find_launcher() {
  auto launcher = launcher_in_environment();
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (launcher && !launcher->local_rank) launcher->local_rank = number_in(variable);
  return launcher;
}

std::vector<std::string> mpi_libraries(const Launcher& launcher) {
  if (const char* const wish = std::getenv("NPZOO_MPI"); wish != nullptr && *wish != '\0') return {wish};
  // A standard ABI, Open MPI, and MPICH under its names on Debian and elsewhere.
  std::vector<std::string> names = {"libmpi.so.40", "libmpi_abi.so.1", "libmpich.so.12", "libmpi.so.12"};
  if (launcher.kind == Launcher::Kind::pmi) std::rotate(names.begin(), names.begin() + 1, names.end());
  std::vector<std::string> all;
  const std::filesystem::path folder = libraries_beside_launcher();
  if (!folder.empty())
    for (const std::string& name : names) {
      std::error_code error;
      if (std::filesystem::exists(folder / name, error)) all.push_back((folder / name).string());
    }
  all.insert(all.end(), names.begin(), names.end());
  return all;
}

}  // namespace npzoo
