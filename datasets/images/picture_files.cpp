#include "datasets/images/picture_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>
#include <string_view>

#include "datasets/images/picture.h"
#include "datasets/images/whole_bytes.h"
#include "engine/error.h"

namespace npzoo {

namespace {

namespace fs = std::filesystem;

bool is_picture_name(const std::string& name) {
  std::string ending = fs::path(name).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

void walk_folder(const fs::path& folder, const std::function<bool(const std::string&)>& wanted,
                 const std::function<void(PictureFile)>& use) {
  std::vector<std::string> names;
  try {
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (is_picture_name(entry.path().string()) && entry.is_regular_file())
        names.push_back(entry.path().lexically_relative(folder).generic_string());
  } catch (const fs::filesystem_error& error) {
    fail("[images] {}: cannot be read: {}", error.path1().string(), error.code().message());
  }
  std::ranges::sort(names);
  for (const std::string& name : names) {
    if (!wanted(name)) continue;
    ByteStream file(folder / name);
    use({file.name(), read_rest(file, kMostPictureBytes)});
  }
}

constexpr std::size_t kTarBlock = 512;

/// A file of an archive, or a folder or whatever else stands there.
struct TarEntry {
  std::string name;
  std::int64_t bytes = 0;
  bool is_file = false;
};

/// Headers of the POSIX ustar format, one after the other.
class TarReader {
 public:
  explicit TarReader(const fs::path& path) : file_(path) {}

  const std::string& name() const { return file_.name(); }
  /// None at the end.
  std::optional<TarEntry> next() {
    const auto block = read_bytes(file_, kTarBlock, "a header or the end of the archive");
    if (std::ranges::all_of(block, [](std::uint8_t byte) { return byte == 0; })) return {};
    check_sum(block);
    const std::string_view text(reinterpret_cast<const char*>(block.data()), block.size());
    const auto field = [text](std::size_t at, std::size_t count) {
      return std::string(text.substr(at, std::min(text.substr(at, count).find('\0'), count)));
    };
    const bool has_prefix = text.substr(257, 5) == "ustar" && text[345] != '\0';
    return TarEntry{has_prefix ? field(345, 155) + '/' + field(0, 100) : field(0, 100), octal(field(124, 12)),
                    text[156] == '0' || text[156] == '\0'};
  }
  std::vector<std::uint8_t> read(const TarEntry& entry) {
    check(entry.bytes <= kMostPictureBytes, "[images] {}: {} has {} bytes, expected at most {}", name(), entry.name,
          entry.bytes, kMostPictureBytes);
    std::vector<std::uint8_t> bytes = read_bytes(file_, entry.bytes, entry.name);
    skip_bytes(padded(entry.bytes) - entry.bytes);
    return bytes;
  }
  void skip(const TarEntry& entry) { skip_bytes(padded(entry.bytes)); }

 private:
  static std::int64_t padded(std::int64_t bytes) {
    constexpr auto kBlock = static_cast<std::int64_t>(kTarBlock);
    return (bytes + kBlock - 1) / kBlock * kBlock;
  }
  void skip_bytes(std::int64_t count) {
    std::array<std::byte, 1 << 16> skipped;
    while (count > 0) {
      const auto some = static_cast<std::size_t>(std::min(count, std::ssize(skipped)));
      const std::size_t got = file_.read(std::span(skipped).first(some));
      check(got > 0, "[images] {}: is cut off, expected {} bytes more", name(), count);
      count -= static_cast<std::int64_t>(got);
    }
  }
  std::int64_t octal(const std::string& digits) const {
    std::int64_t value = 0;
    for (const char digit : digits) {
      if (digit == ' ') continue;
      check(digit >= '0' && digit <= '7', "[images] {}: a size that is no octal number, expected a tar archive",
            name());
      value = 8 * value + (digit - '0');
    }
    return value;
  }
  /// The sum of a header's bytes, with spaces in place of itself.
  void check_sum(std::span<const std::uint8_t> block) const {
    constexpr std::size_t kAt = 148, kDigits = 8;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < block.size(); ++i) sum += i >= kAt && i < kAt + kDigits ? ' ' : block[i];
    const std::string stated(reinterpret_cast<const char*>(block.data()) + kAt, kDigits);
    check(octal(stated.substr(0, stated.find('\0'))) == sum, "[images] {}: a header is damaged, expected a tar archive",
          name());
  }

  ByteStream file_;
};

}  // namespace

void for_each_picture_file(const fs::path& path, const std::function<bool(const std::string&)>& wanted,
                           const std::function<void(PictureFile)>& use) {
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) return walk_folder(path, wanted, use);
  TarReader tar(path);
  while (const std::optional<TarEntry> entry = tar.next()) {
    if (entry->is_file && is_picture_name(entry->name) && wanted(entry->name))
      use({tar.name() + ": " + entry->name, tar.read(*entry)});
    else
      tar.skip(*entry);
  }
}

}  // namespace npzoo
