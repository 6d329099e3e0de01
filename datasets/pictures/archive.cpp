#include "npzoo/datasets/pictures/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <array>
#include <memory>
#include <optional>

#include "npzoo/datasets/pictures/picture.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

/// The files of an archive, one after the other.
class ArchiveReader {
 public:
  explicit ArchiveReader(const std::filesystem::path& path) : path_(path.string()), archive_(::archive_read_new()) {
    check(archive_ != nullptr, "[images] {}: no memory for an archive", path_);
    ::archive_read_support_format_tar(archive_.get());
    ::archive_read_support_format_zip_seekable(archive_.get());
    ::archive_read_support_filter_gzip(archive_.get());
    ::archive_read_support_filter_xz(archive_.get());
    constexpr std::size_t kBlock = 1 << 16;
    if (::archive_read_open_filename(archive_.get(), path_.c_str(), kBlock) != ARCHIVE_OK) fail_reading();
  }

  /// The path of the next one, or none at the end.
  std::optional<std::string> next() {
    for (;;) {
      const int status = ::archive_read_next_header(archive_.get(), &entry_);
      if (status == ARCHIVE_EOF) {
        check_end();
        return {};
      }
      if (status < ARCHIVE_WARN) fail_reading();
      const char* name = ::archive_entry_pathname_utf8(entry_);
      if (name == nullptr) name = ::archive_entry_pathname(entry_);
      if (name != nullptr && ::archive_entry_filetype(entry_) == AE_IFREG) return name;
    }
  }
  PictureFile read(const std::string& member) {
    const std::string name = path_ + ": " + member;
    if (::archive_entry_size_is_set(entry_) && ::archive_entry_size(entry_) > kMostPictureBytes)
      return too_large_picture(name);
    std::vector<std::uint8_t> bytes;
    std::array<std::uint8_t, 1 << 16> some;
    while (const la_ssize_t count = ::archive_read_data(archive_.get(), some.data(), some.size())) {
      if (count < 0) fail_reading();
      bytes.insert(bytes.end(), some.begin(), some.begin() + count);
      if (std::ssize(bytes) > kMostPictureBytes) return too_large_picture(name);
    }
    return {name, std::move(bytes)};
  }

 private:
  struct Free {
    void operator()(::archive* a) const { ::archive_read_free(a); }
  };

  [[noreturn]] void fail_reading() const {
    const char* text = ::archive_error_string(archive_.get());
    std::string why = text == nullptr ? "a damaged archive" : text;
    while (why.ends_with('\n')) why.pop_back();
    fail("[images] {}: {} found, expected a tar or zip archive", path_, why);
  }
  /// Throws Error if a tar archive is cut off between two files: the end of a complete one has been read.
  void check_end() const {
    const bool is_tar = (::archive_format(archive_.get()) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
    check(!is_tar || ::archive_filter_bytes(archive_.get(), 0) > ::archive_read_header_position(archive_.get()),
          "[images] {}: is cut off between two files, expected the end of an archive", path_);
  }

  std::string path_;
  std::unique_ptr<::archive, Free> archive_;
  ::archive_entry* entry_ = nullptr;
};

}  // namespace

void for_each_archived(const std::filesystem::path& path, const std::function<bool(const std::string&)>& wanted,
                       const std::function<void(PictureFile)>& use) {
  ArchiveReader archive(path);
  while (const std::optional<std::string> name = archive.next())
    if (wanted(*name)) use(archive.read(*name));
}

}  // namespace npzoo
