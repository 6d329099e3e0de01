#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "npzoo/engine/io/file.h"
#include "tests/testing.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Called at each fsync of this program while it is set.
thread_local std::function<int(const struct stat&)> at_fsync;

}  // namespace

/// Takes the place of the C library's.
extern "C" int fsync(int file) {
  if (at_fsync) {
    struct stat status;
    if (::fstat(file, &status) != 0) return -1;
    if (const int refused = at_fsync(status)) {
      errno = refused;
      return -1;
    }
  }
  return static_cast<int>(::syscall(SYS_fsync, file));
}

namespace {

/// While it lives, `f` is called at each fsync. It returns 0, or the error that the call shall report.
class AtFsync {
 public:
  explicit AtFsync(std::function<int(const struct stat&)> f) { at_fsync = std::move(f); }
  AtFsync(const AtFsync&) = delete;
  AtFsync& operator=(const AtFsync&) = delete;
  ~AtFsync() { at_fsync = nullptr; }
};

ino_t inode_of(const fs::path& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

TEST_CASE("atomic file: the content is on disk before it gets its name, and the name before commit returns") {
  const TemporaryDirectory directory;
  const fs::path path = directory / "a";
  struct Seen {
    ino_t inode;
    off_t bytes;
    std::string content;  // of the path at that time
  };
  std::vector<Seen> seen;
  for (const std::string content : {"old", "newer"}) {
    seen.clear();
    AtomicFile file(path);
    file.write(content);
    const AtFsync note([&](const struct stat& status) {
      seen.push_back({status.st_ino, status.st_size, fs::exists(path) ? read_text(path) : "none"});
      return 0;
    });
    file.commit();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].inode == inode_of(path));
    CHECK(seen[0].bytes == std::ssize(content));
    CHECK(seen[0].content == (content == "old" ? "none" : "old"));
    CHECK(seen[1].inode == inode_of(directory / "."));
    CHECK(seen[1].content == content);
  }
}

TEST_CASE("atomic file: content that does not reach the disk replaces nothing") {
  const TemporaryDirectory directory;
  const fs::path path = directory / "a";
  AtomicFile first(path);
  first.write("old");
  first.commit();
  {
    AtomicFile file(path);
    file.write("new");
    const AtFsync refuse([](const struct stat& status) { return S_ISREG(status.st_mode) ? EIO : 0; });
    CHECK(error_of([&] { file.commit(); }) == fmt::format("[{}] cannot sync: Input/output error", path.string()));
  }
  CHECK(read_text(path) == "old");
  CHECK(directory.count() == 1);
}
