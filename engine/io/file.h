#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"

namespace npzoo {

/// Owns a POSIX file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  int get() const { return fd_; }
  /// Returns the bytes of a regular file, and 0 for a pipe or a device. Throws Error, opened by `[name]`.
  std::int64_t size(const std::string& name) const;
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Thrown by a writer to a pipe without a reader, if the process ignores SIGPIPE.
class BrokenPipe : public Error {
 public:
  using Error::Error;
};

/// Writes every byte, however many system calls that takes. `name` is what the Error calls the file.
void write_all(const Descriptor& file, std::span<const std::byte> bytes, const std::string& name);

/// Locks a directory as long as the result lives; returns none if another process holds the lock. The lock ends with
/// the process. Throws Error if there is no such directory. File systems without locks lock nothing.
std::optional<Descriptor> lock_directory(const std::filesystem::path& directory);
/// Waits for the lock of a directory.
Descriptor wait_for_directory(const std::filesystem::path& directory);
/// A file in place of a directory; an empty one is made if there is none.
std::optional<Descriptor> lock_file(const std::filesystem::path& path);

/// Returns whether there is something at the path, behind all links. Throws Error if the system does not say.
bool path_exists(const std::filesystem::path& path);

/// Returns the path from the root. Throws Error if the current folder does not exist any more.
std::filesystem::path absolute_path(const std::filesystem::path& path);

/// Whether writing `output` would change what reading `input` gives: both are one regular file, by whatever names and
/// links, or would be if they existed. `-` is standard output and standard input.
bool is_same_file(const std::filesystem::path& output, const std::filesystem::path& input);

/// A file opened for reading; the path `-` is standard input. Opening a directory, or a file that is missing or
/// may not be read, throws Error. `read` throws Interrupted after a stop request (StopScope), also while it waits for
/// a pipe.
class ReadOnlyFile {
 public:
  explicit ReadOnlyFile(const std::filesystem::path& path);

  /// The path, or `<stdin>`: how error messages name the file.
  const std::string& name() const { return name_; }
  /// Bytes; throws Error for a pipe or a device, which have no size.
  std::int64_t size() const;
  /// The next bytes in order, at most `out.size()`; returns how many, 0 at the end.
  std::size_t read(std::span<std::byte> out);
  /// Fills `out` from `offset`; throws Error if the file ends before. Leaves the position of `read` alone.
  void read_at(std::int64_t offset, std::span<std::byte> out) const;

 private:
  void wait_for_bytes() const;

  std::string name_;
  Descriptor file_;
};

/// The whole content, unchecked. Throws Error for more than `max_bytes`, so that an endless stream ends.
std::string read_text(const std::filesystem::path& path, std::size_t max_bytes = std::size_t{64} << 20);

/// Writes a file so that its path holds either the old content or all of the new, whatever happens in between.
///
/// Bytes go to a temporary file `.NAME.npzoo-tmp-PID-N` beside the destination (a NAME too long for that is shortened)
/// and `commit()` puts it in place, durably. Without a commit the destructor removes it. A killed process leaves its
/// temporary file behind; the next writer of the same destination removes it. Of several writers at once the last to
/// commit wins.
///
/// A symbolic link stays and leads to the new content, even where it led nowhere. A file that is replaced passes on its
/// mode and, as far as that is permitted, its owner and group; further names of it (hard links) keep the old content. A
/// file that is read-only is refused, to root as well. A destination that is not a regular file (a pipe, a device, `-`
/// for standard output) cannot be replaced and is written straight through.
class AtomicFile {
 public:
  /// Throws Error if the destination cannot be written.
  explicit AtomicFile(const std::filesystem::path& destination);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  const std::string& name() const { return name_; }
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Writes buffered bytes, so that a reader at the other end of a pipe sees them.
  void flush();
  /// Flush, fsync, rename, fsync of the directory. The last call: nothing can be written afterwards.
  void commit();

 private:
  std::filesystem::path destination_;     // no symbolic link
  std::filesystem::path temporary_;       // empty: written straight through
  std::atomic<char*>* listed_ = nullptr;  // its place in the list of remove_temporaries
  std::string name_;
  Descriptor file_;
  std::vector<std::byte> buffer_;
};

}  // namespace npzoo
