#include "npzoo/engine/io/file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/engine/text_fixtures.h"
#include "tests/testing.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;

namespace {

void replace(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

/// A child process that dies while it writes `path`.
void be_killed_writing(const fs::path& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    error_of([&] {
      AtomicFile killed(path);
      killed.write(std::string(300000, 'k'));
      ::raise(SIGKILL);
    });
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
}

struct stat status_of(const fs::path& path) {
  struct stat status;
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status;
}

/// For permissions, none of which bind root: while it lives the process is another user, where it may choose.
class AnotherUser {
 public:
  AnotherUser() {
    if (::geteuid() == 0 && ::setegid(kNobody) == 0) static_cast<void>(::seteuid(kNobody));
  }
  AnotherUser(const AnotherUser&) = delete;
  AnotherUser& operator=(const AnotherUser&) = delete;
  ~AnotherUser() {
    static_cast<void>(::seteuid(::getuid()));
    static_cast<void>(::setegid(::getgid()));
  }
  bool is_root() const { return ::geteuid() == 0; }

  static constexpr uid_t kNobody = 65534;
};

}  // namespace

TEST_CASE("file: nothing is visible before the commit and nothing is left without one") {
  TemporaryDirectory directory;
  const fs::path path = directory / "out.csv";
  put(path, "old");
  {
    AtomicFile file(path);
    file.write("new");
    CHECK(directory.count() == 2);
    CHECK(read_text(path) == "old");
  }
  CHECK(directory.count() == 1);
  CHECK(read_text(path) == "old");
  AtomicFile file(path);
  file.write("new");
  file.commit();
  CHECK(directory.count() == 1);
  CHECK(read_text(path) == "new");
}

TEST_CASE("file: writes of every size keep their order") {
  TemporaryDirectory directory;
  std::string expected;
  AtomicFile file(directory / "out");
  for (const std::size_t size : {1, 0, 1000, 262143, 1, 262144, 262145, 5, 600000, 7}) {
    const std::string piece(size, static_cast<char>('a' + size % 26));
    file.write(piece);
    expected += piece;
  }
  file.commit();
  CHECK(read_text(directory / "out") == expected);
}

TEST_CASE("file: removes leftovers of a killed writer, but no file of a living one") {
  TemporaryDirectory directory;
  const fs::path path = directory / "weights";
  AtomicFile living(path);
  living.write("living");
  be_killed_writing(path);
  CHECK(directory.count() == 2);
  CHECK_FALSE(fs::exists(path));
  {
    AtomicFile next(path);
    CHECK(directory.count() == 2);
  }
  living.commit();
  CHECK(directory.count() == 1);
  CHECK(read_text(path) == "living");
}

TEST_CASE("file: removes nothing but leftovers of writers") {
  TemporaryDirectory directory;
  const fs::path path = directory / "out";
  const std::string prefix = ".out.npzoo-tmp-";
  const std::string names[] = {
      ".out.tmp-notes",       ".out.tmp-1-2",      prefix + "1",    prefix + "1-",  prefix + "-1",
      prefix + "1-2.bak",     prefix + "1-2-3",    prefix + "1-x",  prefix + "x-1", prefix,
      ".outer.npzoo-tmp-1-2", "out.npzoo-tmp-1-2", ".npzoo-tmp-1-2"};
  for (const std::string& name : names) put(directory / name, "precious");
  fs::create_directory(directory / (prefix + "2-0"));
  fs::create_symlink(names[0], directory / (prefix + "2-1"));
  REQUIRE(::mkfifo((directory / (prefix + "2-2")).c_str(), 0600) == 0);
  fs::create_hard_link(directory / names[0], directory / (prefix + "2-3"));
  if (::geteuid() == 0) {
    put(directory / (prefix + "2-4"), "another user's");
    REQUIRE(::chown((directory / (prefix + "2-4")).c_str(), AnotherUser::kNobody, AnotherUser::kNobody) == 0);
  }
  const auto before = directory.count();
  put(directory / (prefix + "4711-0"), "left");
  replace(path, "new");
  CHECK_FALSE(fs::exists(directory / (prefix + "4711-0")));
  CHECK(directory.count() == before + 1);
  for (const std::string& name : names) CHECK(read_text(directory / name) == "precious");
}

TEST_CASE("file: of many writers at once each has a file of its own, the last one wins") {
  TemporaryDirectory directory;
  const fs::path path = directory / "out";
  std::atomic<int> failures{0};
  std::vector<std::jthread> writers;
  for (const char letter : {'a', 'b', 'c', 'd'})
    writers.emplace_back([&, letter] {
      for (int i = 0; i < 100; ++i)
        if (error_of([&] { replace(path, std::string(1000, letter)); }) != "no error") ++failures;
    });
  writers.clear();
  CHECK(failures == 0);
  const std::string text = read_text(path);
  CHECK(text == std::string(1000, text[0]));
  CHECK(directory.count() == 1);
}

TEST_CASE("file: a writer whose file was taken for a leftover before it was locked begins again") {
  TemporaryDirectory directory;
  // Takes away whatever is not locked, as fast as it can.
  std::jthread thief([&](const std::stop_token& stop) {
    while (!stop.stop_requested())
      for (const auto& entry : fs::directory_iterator(directory / "")) {
        const Descriptor file(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
        if (file.is_open() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
      }
  });
  std::int64_t kept = 0;
  for (int i = 0; i < 2000; ++i) {
    AtomicFile file(directory / "out");
    kept += directory.count() > 0;  // one that the thief has locked and not removed yet may stand beside it
  }
  CHECK(kept == 2000);
}

TEST_CASE("file: names of every length that the file system has") {
  TemporaryDirectory directory;
  for (std::size_t length = 200; length <= 255; ++length) {
    CAPTURE(length);
    const fs::path path = directory / std::string(length, 'n');
    be_killed_writing(path);
    CHECK(directory.count() == 1);
    replace(path, "new");
    CHECK(directory.count() == 1);
    CHECK(read_text(path) == "new");
    fs::remove(path);
  }
  std::string umlauts = "x";  // whose bytes come in pairs, from an odd place on
  for (int i = 0; i < 127; ++i) umlauts += "ü";
  const AtomicFile file(directory / umlauts);
  const std::string temporary = fs::directory_iterator(directory / "")->path().filename();
  CHECK(temporary.size() <= 255);
  const std::size_t shortened = temporary.find('~');
  REQUIRE(shortened != std::string::npos);
  CHECK(temporary.substr(0, shortened).ends_with("ü"));

  const std::string longer = directory / std::string(256, 'n');
  CHECK(error_of([&] { AtomicFile too_long(longer); }) == "[" + longer + "] cannot create: File name too long");
  CHECK(directory.count() == 1);
}

TEST_CASE("file: a symbolic link stays and its target changes, even where it led nowhere") {
  TemporaryDirectory directory;
  fs::create_directory(directory / "folder");
  fs::create_symlink("folder/target", directory / "link");
  fs::create_symlink(directory / "link", directory / "longer");
  for (const char* link : {"longer", "link", "longer"}) {  // at first the target is not there
    replace(directory / link, link);
    CHECK(fs::is_symlink(directory / "link"));
    CHECK(fs::is_symlink(directory / "longer"));
    CHECK(read_text(directory / "folder/target") == link);
  }
  {
    const AtomicFile file(directory / "longer");
    CHECK(directory.count() == 3);  // the temporary file is beside the target
  }
  fs::create_symlink("round", directory / "round");
  const std::string round = directory / "round";
  CHECK(error_of([&] { AtomicFile file(round); }) ==
        "[" + round + "] cannot create: Too many levels of symbolic links");
}

TEST_CASE("file: keeps mode, owner and group of a replaced file") {
  TemporaryDirectory directory;
  const fs::path path = directory / "out", fresh = directory / "fresh";
  put(path, "old");
  for (const mode_t mode : {0600, 0640, 0664, 0200, 0755, 04711}) {
    CAPTURE(mode);
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    const ino_t before = status_of(path).st_ino;
    replace(path, "new");
    CHECK((status_of(path).st_mode & 07777) == (mode & 0777));  // nobody gets more rights by what is in it now
    CHECK(status_of(path).st_ino != before);
  }
  const mode_t mask = ::umask(027);
  replace(fresh, "new");
  ::umask(mask);
  CHECK((status_of(fresh).st_mode & 07777) == 0640);

  if (::geteuid() != 0) {
    MESSAGE("skipped: only root gives files away");
    return;
  }
  REQUIRE(::chown(path.c_str(), AnotherUser::kNobody, 1234) == 0);
  be_killed_writing(path);  // what it leaves has been given away
  CHECK(directory.count() == 3);
  replace(path, "new");
  CHECK(directory.count() == 2);
  CHECK(status_of(path).st_uid == AnotherUser::kNobody);
  CHECK(status_of(path).st_gid == 1234);
  REQUIRE(::chown(path.c_str(), 0, 0) == 0);
  REQUIRE(::chmod(path.c_str(), 0676) == 0);
  fs::permissions(directory / "", fs::perms::all);
  const AnotherUser user;
  if (user.is_root()) return;
  replace(path, "new");
  CHECK(status_of(path).st_uid == AnotherUser::kNobody);
  CHECK((status_of(path).st_mode & 07777) == 0666);
}

TEST_CASE("file: refuses read-only files, to root as well") {
  TemporaryDirectory directory;
  const std::string path = directory / "out";
  put(path, "old");
  REQUIRE(::chmod(path.c_str(), 0444) == 0);
  CHECK(error_of([&] { AtomicFile file(path); }) ==
        "[" + path + "] is read-only (mode 0444), expected a file that may be written");
  CHECK(directory.count() == 1);
  CHECK(read_text(path) == "old");

  REQUIRE(::chmod(path.c_str(), 0644) == 0);
  const std::string folder = directory / "folder", inside = folder + "/out";
  fs::create_directory(folder);
  REQUIRE(::chmod(folder.c_str(), 0555) == 0);
  fs::permissions(directory / "", fs::perms::all);
  const AnotherUser user;
  if (user.is_root()) {
    MESSAGE("skipped: root may write everything");
    return;
  }
  if (::getuid() == 0)
    CHECK(error_of([&] { AtomicFile file(path); }) == "[" + path + "] cannot write: Permission denied");
  CHECK(error_of([&] { AtomicFile file(inside); }) ==
        "[" + inside + "] cannot create a file in its directory: Permission denied");
  CHECK(read_text(path) == "old");
}

TEST_CASE("file: a file beyond the limit of its size is an error and leaves nothing") {
  TemporaryDirectory directory;
  const std::string path = directory / "out";
  put(path, "old");
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 100000, .rlim_max = 100000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string message = error_of([&] { replace(path, std::string(300000, 'x')); });
    ::_exit(message == "[" + path + "] cannot write: File too large" ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(directory.count() == 1);
  CHECK(read_text(path) == "old");
}

TEST_CASE("file: devices are written straight through and stay devices") {
  AtomicFile file("/dev/null");
  file.write("nothing");
  file.commit();
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("file: a pipe without a reader") {
  TemporaryDirectory directory;
  const fs::path path = directory / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  Descriptor both_ends(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  AtomicFile writer(path);
  both_ends = Descriptor();
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  writer.write("unread");
  CHECK_THROWS_AS(writer.flush(), BrokenPipe);
  CHECK(error_of([&] { writer.flush(); }) == fmt::format("[{}] cannot write: its reader is gone", path.string()));
  std::signal(SIGPIPE, before);
}

TEST_CASE("file: errors of a writer") {
  TemporaryDirectory directory;
  const std::string missing = directory / "missing/out";
  CHECK(error_of([&] { AtomicFile file(missing); }) ==
        "[" + missing + "] cannot create a file in its directory: No such file or directory");
  const std::string folder = directory / "";
  CHECK(error_of([&] { AtomicFile file(folder); }) == "[" + folder + "] is a directory, expected a file");
  CHECK(error_of([] { AtomicFile file(""); }) == "[] names no file");
  const auto fill = [](std::size_t bytes) {
    AtomicFile file("/dev/full");
    file.write(std::string(bytes, ' '));
    file.commit();
  };
  CHECK(error_of([&] { fill(1); }) == "[/dev/full] cannot write: No space left on device");
  CHECK(error_of([&] { fill(300000); }) == "[/dev/full] cannot write: No space left on device");
}
