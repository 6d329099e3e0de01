#include "npzoo/engine/ranks/mpi.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

// Longest text that MPI_Get_library_version writes, of all libraries.
constexpr std::size_t kVersionBytes = 8192;

template <class F>
F function(void* library, const char* name) {
  void* const found = ::dlsym(library, name);
  check(found != nullptr, "[mpi] the MPI library has no function {}", name);
  return reinterpret_cast<F>(found);
}

void check_mpi(int status, const char* what) { check(status == 0, "[mpi] {} failed with code {}", what, status); }

/// MPI by its C functions. A handle is a pointer for Open MPI and the standard ABI, an integer for MPICH.
template <class Handle>
class Mpi final : public Ranks {
 public:
  struct Constants {
    Handle world, byte;
    int funneled;  // MPI_THREAD_FUNNELED
  };

  static std::unique_ptr<Ranks> start(void* library, const Constants& constants) {
    int running = 0, provided = 0, rank = 0, size = 0;
    check_mpi(function<int (*)(int*)>(library, "MPI_Initialized")(&running), "MPI_Initialized");
    if (running != 0)
      check_mpi(function<int (*)(int*)>(library, "MPI_Query_thread")(&provided), "MPI_Query_thread");
    else
      check_mpi(function<int (*)(int*, char***, int, int*)>(library, "MPI_Init_thread")(nullptr, nullptr,
                                                                                        constants.funneled, &provided),
                "MPI_Init_thread");
    check(provided >= constants.funneled, "[mpi] the MPI library allows no threads");
    check_mpi(function<int (*)(Handle, int*)>(library, "MPI_Comm_rank")(constants.world, &rank), "MPI_Comm_rank");
    check_mpi(function<int (*)(Handle, int*)>(library, "MPI_Comm_size")(constants.world, &size), "MPI_Comm_size");
    if (running == 0) {
      static const auto finalise = function<int (*)()>(library, "MPI_Finalize");
      // A launcher may kill the other ranks as soon as the first has ended, so what they print goes out before.
      std::atexit([] {
        std::fflush(nullptr);
        finalise();
      });
    }
    return std::unique_ptr<Ranks>(new Mpi(library, constants, rank, size));
  }

  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    const int bytes = checked_size(own, all);
    check_mpi(gather_(own.data(), bytes, constants_.byte, all.data(), bytes, constants_.byte, constants_.world),
              "MPI_Allgather");
  }

  void gather_and_look(std::span<const std::byte> own, std::span<std::byte> all,
                       const std::function<void()>& meanwhile) override {
    const int bytes = checked_size(own, all);
    Handle request{};
    check_mpi(begin_gather_(own.data(), bytes, constants_.byte, all.data(), bytes, constants_.byte, constants_.world,
                            &request),
              "MPI_Iallgather");
    constexpr int kEager = 1000;  // looks before the first pause: most waits are short
    for (int looks = 0;; ++looks) {
      Status status;
      int done = 0;
      check_mpi(test_(&request, &done, &status), "MPI_Test");
      if (done != 0) return;
      if (looks < kEager) continue;
      meanwhile();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  void send_mark(int to) override {
    const std::byte mark{};
    check_mpi(send_(&mark, 1, constants_.byte, to, kMark, constants_.world), "MPI_Send");
  }

  bool take_mark(int from) override {
    Status status;
    int found = 0;
    check_mpi(probe_(from, kMark, constants_.world, &found, &status), "MPI_Iprobe");
    if (found == 0) return false;
    std::byte mark{};
    check_mpi(receive_(&mark, 1, constants_.byte, from, kMark, constants_.world, &status), "MPI_Recv");
    return true;
  }

 private:
  Mpi(void* library, const Constants& constants, int rank, int size)
      : Ranks(rank, size),
        constants_(constants),
        gather_(function<Gather>(library, "MPI_Allgather")),
        begin_gather_(function<BeginGather>(library, "MPI_Iallgather")),
        test_(function<Test>(library, "MPI_Test")),
        send_(function<Send>(library, "MPI_Send")),
        probe_(function<Probe>(library, "MPI_Iprobe")),
        receive_(function<Receive>(library, "MPI_Recv")) {}

  int checked_size(std::span<const std::byte> own, std::span<std::byte> all) const {
    check(own.size() <= INT_MAX, "[mpi] {} bytes of a rank found, expected at most {}", own.size(), INT_MAX);
    check(all.size() == own.size() * static_cast<std::size_t>(size()),
          "[mpi] room for {} bytes found, expected {} for each of {} ranks", all.size(), own.size(), size());
    return static_cast<int>(own.size());
  }

  static constexpr int kMark = 0;  // the tag of marks
  struct alignas(16) Status {
    std::array<std::byte, 64> room;  // a status has at most 32 bytes, of all libraries
  };
  using Gather = int (*)(const void*, int, Handle, void*, int, Handle, Handle);
  // A request is a handle like the others: a pointer or an integer.
  using BeginGather = int (*)(const void*, int, Handle, void*, int, Handle, Handle, Handle*);
  using Test = int (*)(Handle*, int*, Status*);
  using Send = int (*)(const void*, int, Handle, int, int, Handle);
  using Probe = int (*)(int, int, Handle, int*, Status*);
  using Receive = int (*)(void*, int, Handle, int, int, Handle, Status*);

  Constants constants_;
  Gather gather_;
  BeginGather begin_gather_;
  Test test_;
  Send send_;
  Probe probe_;
  Receive receive_;
};

/// The first library that can be opened, and its name; a message of what was tried where there is none.
struct Opened {
  void* library = nullptr;
  std::string name, tried;
};

Opened open_library(const Launcher& launcher) {
  // One that is there already, as in a Python that has imported mpi4py: two in a process do not work.
  for (const char* name : {"libmpi_abi.so.1", "libmpi.so.40", "libmpich.so.12", "libmpi.so.12"})
    if (void* const library = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD)) return {library, name, {}};
  Opened opened;
  for (const std::string& name : mpi_libraries(launcher)) {
    // Global: plug-ins of Open MPI look for the library's symbols. Never closed: it leaves threads behind.
    if (void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL)) return {library, name, {}};
    opened.tried += (opened.tried.empty() ? "" : "; ") + std::string(::dlerror());
  }
  return opened;
}

/// Both questions may be asked before MPI is started.
std::string version_of(void* library) {
  std::array<char, kVersionBytes> text{};
  int length = 0;
  function<int (*)(char*, int*)>(library, "MPI_Get_library_version")(text.data(), &length);
  return {text.data(), std::ranges::find_if(text, [](char c) { return c == '\0' || c == '\n'; })};
}

bool has_standard_abi(void* library) {
  int major = 0, minor = 0;
  if (void* const ask = ::dlsym(library, "MPI_Abi_get_version"))
    reinterpret_cast<int (*)(int*, int*)>(ask)(&major, &minor);
  return major >= 1;
}

void* address(std::uintptr_t value) { return reinterpret_cast<void*>(value); }

std::unique_ptr<Ranks> start(void* library, const std::string& name, const std::string& version) {
  // Constants of the MPI 5 standard, and those that the headers of Open MPI and MPICH define.
  if (has_standard_abi(library)) return Mpi<void*>::start(library, {address(0x101), address(0x247), 1024});
  if (void* const world = ::dlsym(library, "ompi_mpi_comm_world"))
    return Mpi<void*>::start(library, {world, function<void*>(library, "ompi_mpi_byte"), 1});
  check(version.find("MPICH") != version.npos || version.find("Intel") != version.npos,
        "[mpi] {} is '{}', expected Open MPI, MPICH or a library with the ABI of MPI 5", name, version);
  return Mpi<int>::start(library, {0x44000000, 0x4c00010d, 1});
}

}  // namespace

std::unique_ptr<Ranks> open_mpi(const Launcher& launcher) {
  check(launcher.kind != Launcher::Kind::slurm,
        "[mpi] {} started this program as one of {} processes without a connection, expected srun --mpi=pmix or "
        "--mpi=pmi2 (see: srun --mpi=list)",
        launcher.name, launcher.size.value_or(0));
  const Opened opened = open_library(launcher);
  check(opened.library != nullptr,
        "[mpi] {} started this program, but no MPI library can be opened ({}); set NPZOO_MPI to its path, or to none",
        launcher.name, opened.tried);
  const std::string version = version_of(opened.library);
  auto ranks = start(opened.library, opened.name, version);
  check(!launcher.size || *launcher.size == ranks->size(),
        "[mpi] {} started {} ranks, but {} ({}) sees {}, expected the MPI library of the launcher; set NPZOO_MPI "
        "to its path",
        launcher.name, launcher.size.value_or(0), opened.name, version, ranks->size());
  // Children inherit the launcher's variables and would pose as this rank.
  ::setenv("NPZOO_MPI", "none", 1);
  return ranks;
}

}  // namespace npzoo
