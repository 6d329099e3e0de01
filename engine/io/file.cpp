#include "npzoo/engine/io/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/temporaries.h"

namespace npzoo {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kFileBuffer = std::size_t{1} << 18;

[[noreturn]] void fail_system(const std::string& name, std::string_view action) {
  const int code = errno;
  fail("[{}] cannot {}: {}", name, action, std::generic_category().message(code));
}

Descriptor open_file(const fs::path& path, int flags, const std::string& name, std::string_view action) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (fd < 0) fail_system(name, action);
  return Descriptor(fd);
}

Descriptor duplicate(int standard_stream, const std::string& name) {
  const int fd = ::fcntl(standard_stream, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) fail_system(name, "open");
  return Descriptor(fd);
}

struct stat status_of(const Descriptor& file, const std::string& name) {
  struct stat status;
  if (::fstat(file.get(), &status) != 0) fail_system(name, "inspect");
  return status;
}

fs::path directory_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

/// Follows symbolic links in the last part of a path. The result need not exist.
fs::path behind_links(fs::path path) {
  constexpr int kMostLinks = 40;  // as many as the system follows
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, error); ++i) {
    const fs::path target = fs::read_symlink(path, error);
    path = directory_of(path) / target;  // the target alone if it is absolute
  }
  return path;
}

/// Returns the names of the temporary files of a destination, up to the process and the number.
std::string temporary_prefix(const fs::path& destination) {
  constexpr std::string_view kMark = ".npzoo-tmp-";
  constexpr std::size_t kHash = 17, kMostDigits = 30;  // of two numbers and the '-' between them
  const long limit = std::clamp<long>(::pathconf(directory_of(destination).c_str(), _PC_NAME_MAX), 64, NAME_MAX);
  const std::size_t room = static_cast<std::size_t>(limit) - kMark.size() - kMostDigits - 1;
  std::string name = destination.filename();
  if (name.size() > room) {
    std::size_t end = room - kHash;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;  // within a character of UTF-8
    name = fmt::format("{}~{:016x}", name.substr(0, end), XXH3_64bits(name.data(), name.size()));
  }
  return fmt::format(".{}{}", name, kMark);
}

bool is_temporary(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  const std::size_t dash = name.find('-');
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return dash != std::string_view::npos && is_number(name.substr(0, dash)) && is_number(name.substr(dash + 1));
}

// A writer holds a lock on its temporary file as long as it lives, so a file that can be locked is a leftover. Process
// ids would not do: containers reuse the same few at every start.
void remove_leftover(const fs::path& path, const struct stat* replaced) {
  const Descriptor leftover(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!leftover.is_open() || ::flock(leftover.get(), LOCK_EX | LOCK_NB) != 0) return;
  struct stat status;
  if (::fstat(leftover.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (status.st_uid != ::geteuid() && !(replaced && status.st_uid == replaced->st_uid)) return;
  // If another writer removed it before the lock, its name may belong to a new file.
  if (status.st_nlink == 1) ::unlink(path.c_str());
}

void remove_leftovers(const fs::path& directory, std::string_view prefix, const struct stat* replaced) {
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    if (is_temporary(entry->path().filename().string(), prefix)) remove_leftover(entry->path(), replaced);
}

void check_replaceable(const fs::path& path, const struct stat& status, const std::string& name) {
  const bool writable = (status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) != 0;  // root may write all the same
  check(writable, "[{}] is read-only (mode {:04o}), expected a file that may be written", name, status.st_mode & 07777);
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) fail_system(name, "write");
}

/// Mode, owner and group. A group that cannot be passed on has no more rights than everybody.
bool take_over(const struct stat& replaced, const Descriptor& file) {
  constexpr auto kNoChange = static_cast<uid_t>(-1);
  mode_t mode = replaced.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
  const auto change = [&](uid_t owner) { return ::fchown(file.get(), owner, replaced.st_gid) == 0; };
  if (!change(replaced.st_uid) && !change(kNoChange)) mode = (mode & ~S_IRWXG) | (mode & S_IRWXO) << 3;
  return ::fchmod(file.get(), mode) == 0;
}

/// Paths of temporary files, for remove_temporaries(). A path that finds no free slot is left to the next writer.
class TemporaryPaths {
 public:
  /// Returns the slot of the path, or null if all are taken.
  std::atomic<char*>* add(const fs::path& path) {
    char* text = ::strdup(path.c_str());
    owner_.store(::getpid());
    for (auto& slot : slots_)
      if (char* expected = nullptr; slot.compare_exchange_strong(expected, text)) return &slot;
    std::free(text);
    return nullptr;
  }
  /// A thread that takes a text out of its slot owns it alone: no thread reads what another one frees.
  static void drop(std::atomic<char*>* slot) {
    if (slot != nullptr) std::free(slot->exchange(nullptr));
  }
  /// Leaves the texts in memory: a signal handler must not free.
  void remove_all() noexcept {
    if (owner_.load() != ::getpid()) return;
    for (auto& slot : slots_)
      if (const char* text = slot.exchange(nullptr)) ::unlink(text);
  }

 private:
  static constexpr std::size_t kSlots = 64;
  static_assert(std::atomic<char*>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free);

  std::array<std::atomic<char*>, kSlots> slots_{};
  std::atomic<pid_t> owner_{0};
};

constinit TemporaryPaths temporary_paths;

struct Temporary {
  fs::path path;
  Descriptor file;
  std::atomic<char*>* listed;
};

/// `replaced` describes the file at the destination, if there is one.
Temporary create_temporary(const fs::path& destination, const struct stat* replaced, const std::string& name) {
  constexpr mode_t kPrivate = 0600, kAsUmaskSays = 0666;
  static std::atomic<std::int64_t> counter{0};
  const fs::path directory = directory_of(destination);
  const std::string prefix = temporary_prefix(destination);
  remove_leftovers(directory, prefix, replaced);
  while (true) {
    const fs::path path = directory / fmt::format("{}{}-{}", prefix, ::getpid(), counter++);
    const mode_t mode = replaced ? kPrivate : kAsUmaskSays;
    std::atomic<char*>* const listed = temporary_paths.add(path);  // before it exists: a signal may come at any moment
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!file.is_open()) {
      const int code = errno;
      temporary_paths.drop(listed);
      errno = code;
      if (code == EEXIST) continue;
      fail_system(name, "create a file in its directory");
    }
    // Before the lock another writer may take it for a leftover. That writer then has the lock, or has removed the
    // file. File systems without locks keep leftovers, which do no harm.
    const bool taken = ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (taken || status_of(file, name).st_nlink == 0) {
      temporary_paths.drop(listed);
      continue;
    }
    if (!replaced || take_over(*replaced, file)) return {path, std::move(file), listed};
    const int code = errno;
    ::unlink(path.c_str());
    temporary_paths.drop(listed);
    errno = code;
    fail_system(name, "keep the mode");
  }
}

std::optional<Descriptor> lock(Descriptor opened) {
  if (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return {};
  return opened;
}

void sync_directory(const fs::path& directory, const std::string& name) {
  const Descriptor opened = open_file(directory, O_RDONLY | O_DIRECTORY, name, "open the directory");
  // EINVAL: a file system that has no such operation.
  if (::fsync(opened.get()) != 0 && errno != EINVAL) fail_system(name, "sync the directory");
}

}  // namespace

void remove_temporaries() noexcept { temporary_paths.remove_all(); }

Descriptor::~Descriptor() {
  if (is_open()) ::close(fd_);
}

std::int64_t Descriptor::size(const std::string& name) const {
  const struct stat status = status_of(*this, name);
  return S_ISREG(status.st_mode) ? static_cast<std::int64_t>(status.st_size) : 0;
}

void write_all(const Descriptor& file, std::span<const std::byte> bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) throw BrokenPipe(fmt::format("[{}] cannot write: its reader is gone", name));
    if (written < 0) fail_system(name, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

std::optional<Descriptor> lock_directory(const fs::path& directory) {
  return lock(open_file(directory, O_RDONLY | O_DIRECTORY, directory.string(), "open the directory"));
}

Descriptor wait_for_directory(const fs::path& directory) {
  Descriptor opened = open_file(directory, O_RDONLY | O_DIRECTORY, directory.string(), "open the directory");
  while (::flock(opened.get(), LOCK_EX) != 0 && errno == EINTR) continue;
  return opened;
}

std::optional<Descriptor> lock_file(const fs::path& path) {
  return lock(open_file(path, O_RDWR | O_CREAT, path.string(), "open"));
}

bool path_exists(const fs::path& path) {
  std::error_code error;
  const bool exists = fs::exists(path, error);
  check(!error, "[{}] cannot inspect: {}", path.string(), error.message());
  return exists;
}

fs::path absolute_path(const fs::path& path) {
  std::error_code error;
  fs::path absolute = fs::absolute(path, error);
  check(!error, "[{}] cannot find the current folder: {}", path.string(), error.message());
  return absolute;
}

bool is_same_file(const fs::path& output, const fs::path& input) {
  struct stat a, b;
  const auto look = [](const fs::path& path, int standard_stream, struct stat& status) {
    return (path == "-" ? ::fstat(standard_stream, &status) : ::stat(path.c_str(), &status)) == 0;
  };
  const bool has_a = look(output, STDOUT_FILENO, a), has_b = look(input, STDIN_FILENO, b);
  if (has_a && has_b) return S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  const auto place = [](const fs::path& path) {
    std::error_code error;
    const fs::path whole = absolute_path(behind_links(path));
    const fs::path plain = fs::weakly_canonical(whole, error);
    return error ? whole.lexically_normal() : plain;
  };
  return !has_a && !has_b && place(output) == place(input);
}

ReadOnlyFile::ReadOnlyFile(const fs::path& path) : name_(path == "-" ? "<stdin>" : path.string()) {
  file_ = path == "-" ? duplicate(STDIN_FILENO, name_) : open_file(path, O_RDONLY, name_, "open");
  check(!S_ISDIR(status_of(file_, name_).st_mode), "[{}] is a directory, expected a file", name_);
}

std::int64_t ReadOnlyFile::size() const {
  const struct stat status = status_of(file_, name_);
  check(S_ISREG(status.st_mode), "[{}] is a pipe or a device, expected a regular file", name_);
  return status.st_size;
}

void ReadOnlyFile::wait_for_bytes() const {
  constexpr int kMilliseconds = 100;
  pollfd readable{.fd = file_.get(), .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    throw_if_stopped();
    ready = ::poll(&readable, 1, kMilliseconds);
    if (ready < 0 && errno != EINTR) fail_system(name_, "wait");
  } while (ready <= 0);
}

std::size_t ReadOnlyFile::read(std::span<std::byte> out) {
  if (stop_possible()) wait_for_bytes();
  for (;;) {
    const ssize_t count = ::read(file_.get(), out.data(), out.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) fail_system(name_, "read");
  }
}

void ReadOnlyFile::read_at(std::int64_t offset, std::span<std::byte> out) const {
  constexpr std::size_t kMostAtATime = std::size_t{8} << 20;  // milliseconds between two looks at stop requests
  while (!out.empty()) {
    throw_if_stopped();
    const ssize_t count = ::pread(file_.get(), out.data(), std::min(out.size(), kMostAtATime), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_system(name_, "read");
    check(count > 0, "[{}] ends at byte {}, expected {} more", name_, offset, out.size());
    offset += count;
    out = out.subspan(static_cast<std::size_t>(count));
  }
}

std::string read_text(const fs::path& path, std::size_t max_bytes) {
  ReadOnlyFile file(path);
  std::string text;
  std::vector<std::byte> chunk(kFileBuffer);
  while (const std::size_t count = file.read(chunk)) {
    check(count <= max_bytes - text.size(), "[{}] is larger than {} bytes", file.name(), max_bytes);
    text.append(reinterpret_cast<const char*>(chunk.data()), count);
  }
  return text;
}

AtomicFile::AtomicFile(const fs::path& destination)
    : destination_(behind_links(destination)), name_(destination == "-" ? "<stdout>" : destination.string()) {
  buffer_.reserve(kFileBuffer);
  if (destination == "-") {
    file_ = duplicate(STDOUT_FILENO, name_);
    return;
  }
  struct stat status;
  const bool exists = ::stat(destination.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) fail_system(name_, "create");
  check(!exists || !S_ISDIR(status.st_mode), "[{}] is a directory, expected a file", name_);
  if (exists && !S_ISREG(status.st_mode)) {
    file_ = open_file(destination, O_WRONLY, name_, "open");
    return;
  }
  check(destination_.has_filename(), "[{}] names no file", name_);
  if (exists) check_replaceable(destination_, status, name_);
  Temporary temporary = create_temporary(destination_, exists ? &status : nullptr, name_);
  temporary_ = std::move(temporary.path);
  listed_ = temporary.listed;
  file_ = std::move(temporary.file);
}

AtomicFile::~AtomicFile() {
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  temporary_paths.drop(listed_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kFileBuffer) flush();
  if (bytes.size() > kFileBuffer) return write_all(file_, bytes, name_);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void AtomicFile::flush() {
  write_all(file_, buffer_, name_);
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  if (!temporary_.empty()) {
    if (::fsync(file_.get()) != 0) fail_system(name_, "sync");
    if (::rename(temporary_.c_str(), destination_.c_str()) != 0) fail_system(name_, "rename");
    temporary_paths.drop(listed_);
    temporary_.clear();
    sync_directory(directory_of(destination_), name_);
  }
  file_ = Descriptor();
}

}  // namespace npzoo
