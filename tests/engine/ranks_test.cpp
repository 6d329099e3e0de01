#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/ranks/job.h"
#include "npzoo/engine/ranks/launcher.h"
#include "npzoo/engine/ranks/program_facts.h"
#include "npzoo/engine/ranks/result_bytes.h"
#include "tests/testing.h"
#include "tests/thread_ranks.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

std::string message_of(const std::exception_ptr& thrown) {
  if (!thrown) return "nothing";
  try {
    std::rethrow_exception(thrown);
  } catch (const Interrupted& e) {
    return std::string("stopped: ") + e.what();
  } catch (const std::exception& e) {
    return e.what();
  }
}

using Variables = std::map<std::string, std::string>;

/// The variables of launchers, unset, or set as given; as before when it ends.
class LauncherVariables {
 public:
  explicit LauncherVariables(const Variables& set) {
    for (const char* name : kNames) {
      const char* const value = std::getenv(name);
      if (value != nullptr) before_[name] = value;
      ::unsetenv(name);
    }
    for (const auto& [name, value] : set) ::setenv(name.c_str(), value.c_str(), 1);
  }
  LauncherVariables(const LauncherVariables&) = delete;
  LauncherVariables& operator=(const LauncherVariables&) = delete;
  ~LauncherVariables() {
    for (const char* name : kNames) ::unsetenv(name);
    for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  static constexpr std::array kNames{
      "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE",        "PMI_RANK",  "PMIX_RANK",
      "SLURM_STEP_NUM_TASKS", "SLURM_PROCID",         "HYDI_CONTROL_FD", "NPZOO_MPI", "OMPI_COMM_WORLD_LOCAL_RANK",
      "MPI_LOCALRANKID",      "SLURM_LOCALID"};
  Variables before_;
};

}  // namespace

TEST_CASE("ranks: one rank gathers its own bytes") {
  OneRank alone;
  const std::array<std::byte, 3> own{std::byte{1}, std::byte{2}, std::byte{3}};
  std::array<std::byte, 3> all{};
  alone.gather(own, all);
  CHECK(all == own);
  std::array<std::byte, 4> wrong{};
  CHECK(error_of([&] { alone.gather(own, wrong); }) == "[ranks] room for 4 bytes found, expected 3");
  Job job(alone);
  job.meet();
  job.compare({{"program", "a"}});
  CHECK(error_of([&] { job.meet(std::make_exception_ptr(Error("[here] it broke"))); }) == "[here] it broke");
  job.finish();
}

TEST_CASE("ranks: a gather brings the bytes of all in the order of the ranks") {
  const auto thrown = on_ranks(3, [](Ranks& ranks) {
    Job job(ranks);
    job.meet();
    const std::array<std::byte, 2> own{std::byte(ranks.rank()), std::byte(10 + ranks.rank())};
    std::array<std::byte, 6> all{};
    job.gather(own, all);
    for (std::size_t r = 0; r < 3; ++r)
      check(all[2 * r] == std::byte(r) && all[2 * r + 1] == std::byte(10 + r), "rank {} has other bytes", ranks.rank());
    job.finish();
  });
  for (const auto& e : thrown) CHECK(message_of(e) == "nothing");
}

TEST_CASE("ranks: an error of one rank ends all, and the others tell it with its rank and host") {
  const auto thrown = on_ranks(3, [](Ranks& ranks) {
    Job job(ranks);
    run_in(job, [&] {
      job.meet();
      if (ranks.rank() == 1) fail("[disk] it is full");
      job.meet();
      return 0;
    });
  });
  CHECK(message_of(thrown[1]) == "[disk] it is full");
  for (const int r : {0, 2}) {
    const std::string message = message_of(thrown[static_cast<std::size_t>(r)]);
    CHECK(message.starts_with("rank 1 on "));
    CHECK(message.ends_with(": [disk] it is full"));
  }
}

TEST_CASE("ranks: a stop of one rank stops all") {
  const auto thrown = on_ranks(2, [](Ranks& ranks) {
    Job job(ranks);
    run_in(job, [&] {
      for (int step = 0; step < 5; ++step) {
        if (ranks.rank() == 1 && step == 3) throw Interrupted("[stop] here");
        job.meet();
      }
      return 0;
    });
  });
  CHECK(message_of(thrown[0]) == "stopped: [ranks] rank 1 was asked to stop");
  CHECK(message_of(thrown[1]) == "stopped: [stop] here");
}

TEST_CASE("ranks: one that ends early is an error of those that go on") {
  const auto thrown = on_ranks(2, [](Ranks& ranks) {
    Job job(ranks);
    run_in(job, [&] {
      for (int step = 0; step < (ranks.rank() == 0 ? 2 : 1); ++step) job.meet();
      return 0;
    });
  });
  CHECK(message_of(thrown[0]).find("it ended while rank 0 continues") != std::string::npos);
}

TEST_CASE("ranks: a difference is named on all ranks, with both ranks and values") {
  const auto thrown = on_ranks(3, [](Ranks& ranks) {
    Job job(ranks);
    run_in(job, [&] {
      job.compare({{"program", "p"}, {"instruction set", ranks.rank() == 2 ? "avx2" : "avx512"}});
      return 0;
    });
  });
  for (const auto& e : thrown) {
    const std::string message = message_of(e);
    CHECK(message.starts_with("[ranks] rank 2 on "));
    CHECK(message.find("has the instruction set avx2, expected avx512, as on rank 0 (") != std::string::npos);
  }
}

TEST_CASE("ranks: a collection brings bytes of any number from all ranks, in their order") {
  const auto thrown = on_ranks(3, [](Ranks& ranks) {
    Job job(ranks, std::chrono::seconds(60));
    constexpr std::size_t kLarge = 20 << 20;  // more than goes at a time
    const std::array<std::size_t, 3> lengths{5, 0, kLarge};
    const std::vector<std::byte> own(lengths[static_cast<std::size_t>(ranks.rank())], std::byte(ranks.rank()));
    const auto all = job.collect(own);
    for (std::size_t r = 0; r < 3; ++r)
      check(all[r] == std::vector<std::byte>(lengths[r], std::byte(r)), "rank {} has other bytes of rank {}",
            ranks.rank(), r);
    check(job.largest(ranks.rank() * 10) == 20, "rank {} has another largest number", ranks.rank());
    job.finish();
  });
  for (const auto& e : thrown) CHECK(message_of(e) == "nothing");
}

namespace {

struct ResultItem {
  std::string name;
  std::optional<double> value;
  std::vector<std::vector<std::int64_t>> rows;

  static void fields(auto& bytes, auto& self) { bytes(self.name, self.value, self.rows); }
};

}  // namespace

TEST_CASE("ranks: results are read as they were written, and an end that comes early is an error") {
  const std::vector<ResultItem> items{{"a", 1.5, {{1, 2}, {}}}, {"", std::nullopt, {}}};
  const Tensor tensor = Tensor::from<double>({2, 1}, std::vector<double>{3, 4});
  ResultWriter writer;
  writer(items, tensor, Tensor());
  std::vector<ResultItem> found;
  Tensor same, none = tensor;
  ResultReader reader(writer.bytes());
  reader(found, same, none);
  REQUIRE(found.size() == 2);
  CHECK(found[0].name == "a");
  CHECK(found[0].value == 1.5);
  CHECK(found[0].rows == items[0].rows);
  CHECK_FALSE(found[1].value);
  CHECK(same.shape() == Shape{2, 1});
  CHECK(same.values<double>()[1] == 4);
  CHECK_FALSE(none.defined());
  ResultReader cut(writer.bytes().first(20));
  CHECK(error_of([&] { cut(found, same, none); }).starts_with("[ranks] a result of "));
}

TEST_CASE("launcher: found by its variables, the innermost first, and never in a batch script") {
  using enum Launcher::Kind;
  {
    const LauncherVariables none(Variables{{"SLURM_NTASKS", "4"}});
    CHECK_FALSE(find_launcher());
  }
  {
    const LauncherVariables open(Variables{{"OMPI_COMM_WORLD_SIZE", "4"},
                                           {"OMPI_COMM_WORLD_RANK", "2"},
                                           {"PMIX_RANK", "2"},
                                           {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}});
    const auto found = find_launcher();
    REQUIRE(found);
    CHECK(found->kind == open_mpi);
    CHECK(found->size == 4);
    CHECK(found->rank == 2);
    CHECK(found->local_rank == 1);
    CHECK(mpi_libraries(*found).back() == "libmpi.so.12");
  }
  {
    const LauncherVariables mpich(Variables{{"PMI_SIZE", "3"}, {"PMI_RANK", "0"}});
    const auto found = find_launcher();
    REQUIRE(found);
    CHECK(found->kind == pmi);
    CHECK_FALSE(found->local_rank);
    CHECK(mpi_libraries(*found).back() == "libmpi.so.40");
  }
  {
    const LauncherVariables srun(Variables{{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}});
    CHECK(find_launcher()->kind == slurm);
  }
  {
    const LauncherVariables off(Variables{{"PMI_SIZE", "3"}, {"NPZOO_MPI", "none"}});
    CHECK_FALSE(find_launcher());
  }
  {
    const LauncherVariables named(Variables{{"PMI_SIZE", "3"}, {"NPZOO_MPI", "/opt/libmpi.so"}});
    CHECK(mpi_libraries(*find_launcher()) == std::vector<std::string>{"/opt/libmpi.so"});
  }
}

TEST_CASE("ranks: the digest of a program is that of its bytes, and an unreadable one is an Error") {
  namespace fs = std::filesystem;
  const TemporaryDirectory folder;
  const auto write = [&](const char* name, const char* text) {
    const fs::path path = folder / name;
    std::ofstream(path) << text;
    return path;
  };
  const fs::path program = write("program", "abc"), other = write("other", "abc"), library = write("library", "xyz");
  fs::create_symlink(program, folder / "link");
  const std::string alone = program_digest(program, {});
  CHECK(program_digest(program, program) == alone);
  CHECK(program_digest(folder / "link", program) == alone);  // the same file
  CHECK(program_digest(other, {}) == alone);
  CHECK(program_digest(program, library) != alone);
  CHECK(program_digest(library, {}) != alone);
  const fs::path none = folder / "none";
  CHECK(error_of([&] { program_digest(none, {}); }).find("none] cannot open: No such file") != std::string::npos);
  CHECK(error_of([&] { program_digest(program, none); }).find("none] cannot open: No such file") != std::string::npos);
}
