#include "engine/io/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

#include "engine/error.h"

namespace npzoo {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

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

std::string temporary_prefix(const fs::path& destination) {
  return fmt::format(".{}.tmp-", destination.filename().string());
}

// A writer holds a lock on its temporary file for as long as it lives, so one that can be locked belongs to nobody.
// Unlike a look at the process id this is right in containers, where the same few ids come back at every start.
void remove_leftovers(const fs::path& destination) {
  const std::string prefix = temporary_prefix(destination);
  std::error_code error;
  fs::directory_iterator entry(directory_of(destination), error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(prefix)) continue;
    const Descriptor leftover(::open(entry->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (leftover.is_open() && ::flock(leftover.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
  }
}

void sync_directory(const fs::path& directory, const std::string& name) {
  const Descriptor opened = open_file(directory, O_RDONLY | O_DIRECTORY, name, "open the directory");
  // EINVAL: a file system that has no such operation.
  if (::fsync(opened.get()) != 0 && errno != EINVAL) fail_system(name, "sync the directory");
}

}  // namespace

Descriptor::~Descriptor() {
  if (is_open()) ::close(fd_);
}

void write_all(const Descriptor& file, std::span<const std::byte> bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_system(name, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

std::optional<Descriptor> lock_directory(const fs::path& directory) {
  Descriptor opened = open_file(directory, O_RDONLY | O_DIRECTORY, directory.string(), "open the directory");
  if (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return {};
  return opened;
}

ReadOnlyFile::ReadOnlyFile(const fs::path& path, std::function<bool()> give_up)
    : name_(path == "-" ? "<stdin>" : path.string()), give_up_(std::move(give_up)) {
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
    if (give_up_()) throw Cancelled(fmt::format("[{}] is not read to its end: given up", name_));
    ready = ::poll(&readable, 1, kMilliseconds);
    if (ready < 0 && errno != EINTR) fail_system(name_, "wait");
  } while (ready <= 0);
}

std::size_t ReadOnlyFile::read(std::span<std::byte> out) {
  if (give_up_) wait_for_bytes();
  for (;;) {
    const ssize_t count = ::read(file_.get(), out.data(), out.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) fail_system(name_, "read");
  }
}

void ReadOnlyFile::read_at(std::int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t count = ::pread(file_.get(), out.data(), out.size(), offset);
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
  std::vector<std::byte> chunk(kBufferBytes);
  while (const std::size_t count = file.read(chunk)) {
    check(count <= max_bytes - text.size(), "[{}] is larger than {} bytes", file.name(), max_bytes);
    text.append(reinterpret_cast<const char*>(chunk.data()), count);
  }
  return text;
}

AtomicFile::AtomicFile(const fs::path& destination)
    : destination_(destination), name_(destination == "-" ? "<stdout>" : destination.string()) {
  buffer_.reserve(kBufferBytes);
  if (destination == "-") {
    file_ = duplicate(STDOUT_FILENO, name_);
    return;
  }
  std::error_code error;
  // Renaming onto a symbolic link would replace the link and leave the file it points to as it was.
  if (const auto target = fs::canonical(destination, error); !error) destination_ = target;
  const auto status = fs::status(destination_, error);
  check(!fs::is_directory(status), "[{}] is a directory, expected a file", name_);
  if (!fs::exists(status) || fs::is_regular_file(status)) {
    create_temporary();
  } else {
    file_ = open_file(destination_, O_WRONLY, name_, "open");
  }
}

void AtomicFile::create_temporary() {
  static std::atomic<std::int64_t> counter{0};
  check(destination_.has_filename(), "[{}] names no file", name_);
  remove_leftovers(destination_);
  do {
    const std::string suffix = fmt::format("{}-{}", ::getpid(), counter++);
    temporary_ = directory_of(destination_) / (temporary_prefix(destination_) + suffix);
    file_ = Descriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  } while (!file_.is_open() && errno == EEXIST);
  if (!file_.is_open()) fail_system(name_, "create");
  // Where the file system has no locks this fails, and then leftovers are never removed: they do no harm.
  ::flock(file_.get(), LOCK_EX | LOCK_NB);
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  if (bytes.size() > kBufferBytes) return write_all(file_, bytes, name_);
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
    temporary_.clear();
    sync_directory(directory_of(destination_), name_);
  }
  file_ = Descriptor();
}

}  // namespace npzoo
