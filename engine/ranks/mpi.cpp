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
#include <type_traits>
#include <vector>

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

/// Whether MPI runs in this process: from its start until its end.
bool is_started(void* library) {
  int started = 0, ended = 0;
  check_mpi(function<int (*)(int*)>(library, "MPI_Initialized")(&started), "MPI_Initialized");
  check_mpi(function<int (*)(int*)>(library, "MPI_Finalized")(&ended), "MPI_Finalized");
  return started != 0 && ended == 0;
}

/// A handle is a pointer for Open MPI and the standard ABI, an integer for MPICH.
template <class Handle>
struct Constants {
  Handle communicator, byte;
  int funneled;  // MPI_THREAD_FUNNELED
};

/// MPI by its C functions.
template <class Handle>
class Mpi final : public Ranks {
 public:
  /// Starts MPI unless it is started, for the time until the process ends.
  static std::unique_ptr<Ranks> start(void* library, const Constants<Handle>& constants) {
    int provided = 0;
    if (is_started(library)) return of_communicator(library, constants);
    check_mpi(function<int (*)(int*, char***, int, int*)>(library, "MPI_Init_thread")(nullptr, nullptr,
                                                                                      constants.funneled, &provided),
              "MPI_Init_thread");
    auto ranks = of_communicator(library, constants);
    static const auto finalise = function<int (*)()>(library, "MPI_Finalize");
    // A launcher may kill the other ranks as soon as the first has ended, so what they print goes out before.
    std::atexit([] {
      std::fflush(nullptr);
      finalise();
    });
    return ranks;
  }

  /// Joins a communicator of an MPI that others have started. Messages go by a copy, apart from theirs.
  static std::unique_ptr<Ranks> join(void* library, Constants<Handle> constants) {
    Handle copy{};
    check_mpi(function<int (*)(Handle, Handle*)>(library, "MPI_Comm_dup")(constants.communicator, &copy),
              "MPI_Comm_dup");
    constants.communicator = copy;
    auto ranks = of_communicator(library, constants);
    ranks->free_ = function<int (*)(Handle*)>(library, "MPI_Comm_free");
    return ranks;
  }

  ~Mpi() override {
    if (free_ != nullptr) free_(&constants_.communicator);
  }

  void gather(std::span<const std::byte> own, std::span<std::byte> all, const Meanwhile& meanwhile) override {
    check(all.size() == own.size() * static_cast<std::size_t>(size()),
          "[mpi] room for {} bytes found, expected {} for each of {} ranks", all.size(), own.size(), size());
    call(gather_, own.data(), own.size(), all.data(), meanwhile);
  }

  void exchange(std::span<const std::byte> own, std::span<std::byte> blocks, const Meanwhile& meanwhile) override {
    const auto ranks = static_cast<std::size_t>(size());
    check(own.size() % ranks == 0 && blocks.size() == own.size(),
          "[mpi] {} and {} bytes found, expected {} blocks of one size in both", own.size(), blocks.size(), size());
    call(exchange_, own.data(), own.size() / ranks, blocks.data(), meanwhile);
  }

  void send_mark(int to) override {
    const std::byte mark{};
    check_mpi(send_(&mark, 1, constants_.byte, to, kMark, constants_.communicator), "MPI_Send");
  }

  bool take_mark(int from) override {
    Status status;
    int found = 0;
    check_mpi(probe_(from, kMark, constants_.communicator, &found, &status), "MPI_Iprobe");
    if (found == 0) return false;
    std::byte mark{};
    check_mpi(receive_(&mark, 1, constants_.byte, from, kMark, constants_.communicator, &status), "MPI_Recv");
    return true;
  }

 private:
  static std::unique_ptr<Mpi> of_communicator(void* library, const Constants<Handle>& constants) {
    int provided = 0, rank = 0, size = 0;
    check_mpi(function<int (*)(int*)>(library, "MPI_Query_thread")(&provided), "MPI_Query_thread");
    check(provided >= constants.funneled, "[mpi] the MPI library allows no threads");
    const Handle communicator = constants.communicator;
    check_mpi(function<int (*)(Handle, int*)>(library, "MPI_Comm_rank")(communicator, &rank), "MPI_Comm_rank");
    check_mpi(function<int (*)(Handle, int*)>(library, "MPI_Comm_size")(communicator, &size), "MPI_Comm_size");
    return std::unique_ptr<Mpi>(new Mpi(library, constants, rank, size));
  }

  Mpi(void* library, const Constants<Handle>& constants, int rank, int size)
      : Ranks(rank, size),
        constants_(constants),
        gather_(library, "MPI_Allgather", "MPI_Iallgather"),
        exchange_(library, "MPI_Alltoall", "MPI_Ialltoall"),
        test_(function<Test>(library, "MPI_Test")),
        send_(function<Send>(library, "MPI_Send")),
        probe_(function<Probe>(library, "MPI_Iprobe")),
        receive_(function<Receive>(library, "MPI_Recv")) {}

  static constexpr int kMark = 0;  // the tag of marks
  struct alignas(16) Status {
    std::array<std::byte, 64> room;  // a status has at most 32 bytes, of all libraries
  };
  /// A function that all ranks call, and its form that does not wait.
  struct Collective {
    Collective(void* library, const char* name, const char* name_of_begin)
        : name(name),
          run(function<decltype(run)>(library, name)),
          begin(function<decltype(begin)>(library, name_of_begin)) {}
    const char* name;
    int (*run)(const void*, int, Handle, void*, int, Handle, Handle);
    // A request is a handle like the others: a pointer or an integer.
    int (*begin)(const void*, int, Handle, void*, int, Handle, Handle, Handle*);
  };
  using Test = int (*)(Handle*, int*, Status*);
  using Send = int (*)(const void*, int, Handle, int, int, Handle);
  using Probe = int (*)(int, int, Handle, int*, Status*);
  using Receive = int (*)(void*, int, Handle, int, int, Handle, Status*);

  void call(const Collective& f, const void* own, std::size_t size, void* all, const Meanwhile& meanwhile) {
    check(size <= INT_MAX, "[mpi] {} bytes for a rank found, expected at most {}", size, INT_MAX);
    const int bytes = static_cast<int>(size);
    if (!meanwhile)
      return check_mpi(f.run(own, bytes, constants_.byte, all, bytes, constants_.byte, constants_.communicator),
                       f.name);
    Handle request{};
    check_mpi(f.begin(own, bytes, constants_.byte, all, bytes, constants_.byte, constants_.communicator, &request),
              f.name);
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

  Constants<Handle> constants_;
  Collective gather_, exchange_;
  Test test_;
  Send send_;
  Probe probe_;
  Receive receive_;
  int (*free_)(Handle*) = nullptr;  // of the communicator, if it is our own
};

/// The first library that can be opened, and its name; a message of what was tried where there is none.
struct Opened {
  void* library = nullptr;
  std::string name, tried;
};

/// Those that are in this process already, as in a Python that has imported mpi4py.
std::vector<Opened> loaded_libraries() {
  std::vector<Opened> all;
  for (const char* name : {"libmpi_abi.so.1", "libmpi.so.40", "libmpich.so.12", "libmpi.so.12"})
    if (void* const library = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD)) all.push_back({library, name, {}});
  return all;
}

Opened open_library(const Launcher& launcher) {
  if (std::vector<Opened> loaded = loaded_libraries(); !loaded.empty()) return loaded.front();  // two do not work
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

/// Calls `use` with the constants of the library: for the communicator of all ranks.
template <class F>
std::unique_ptr<Ranks> with_constants(const Opened& opened, const F& use) {
  // Those of the MPI 5 standard, and those that the headers of Open MPI and MPICH define.
  if (has_standard_abi(opened.library)) return use(Constants<void*>{address(0x101), address(0x247), 1024});
  if (void* const world = ::dlsym(opened.library, "ompi_mpi_comm_world"))
    return use(Constants<void*>{world, function<void*>(opened.library, "ompi_mpi_byte"), 1});
  const std::string version = version_of(opened.library);
  check(version.find("MPICH") != version.npos || version.find("Intel") != version.npos,
        "[mpi] {} is '{}', expected Open MPI, MPICH or a library with the ABI of MPI 5", opened.name, version);
  return use(Constants<int>{0x44000000, 0x4c00010d, 1});
}

template <class Handle>
Handle handle_of(std::uintptr_t value) {
  if constexpr (std::is_pointer_v<Handle>)
    return address(value);
  else
    return static_cast<Handle>(static_cast<std::uint32_t>(value));
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
  auto ranks = with_constants(opened, [&]<class Handle>(const Constants<Handle>& constants) {
    return Mpi<Handle>::start(opened.library, constants);
  });
  check(!launcher.size || *launcher.size == ranks->size(),
        "[mpi] {} started {} ranks, but {} ({}) sees {}, expected the MPI library of the launcher; set NPZOO_MPI "
        "to its path",
        launcher.name, launcher.size.value_or(0), opened.name, version, ranks->size());
  // Children inherit the launcher's variables and would pose as this rank.
  ::setenv("NPZOO_MPI", "none", 1);
  return ranks;
}

std::unique_ptr<Ranks> join_mpi(const MpiCommunicator& communicator) {
  const std::vector<Opened> loaded = loaded_libraries();
  const auto found = std::ranges::find_if(loaded, [](const Opened& o) { return is_started(o.library); });
  check(found != loaded.end(), "[mpi] no MPI library that is known runs in this process, expected Open MPI or MPICH");
  return with_constants(*found, [&]<class Handle>(Constants<Handle> constants) {
    check(communicator.bytes == sizeof(Handle), "[mpi] a communicator of {} bytes found, expected {}, as those of {}",
          communicator.bytes, sizeof(Handle), found->name);
    constants.communicator = handle_of<Handle>(communicator.handle);
    return Mpi<Handle>::join(found->library, constants);
  });
}

}  // namespace npzoo
