#include "npzoo/datasets/tables/own_file.h"

#include <vector>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/byte_hash.h"
#include "npzoo/engine/io/file.h"

namespace npzoo {

void check_read_again(const std::filesystem::path& path, const char* where) {
  std::error_code error;
  const bool is_other =
      path == "-" || (std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error) &&
                      !std::filesystem::is_regular_file(path, error));
  check(!is_other, "[{}] {} found, expected a file: a resumed training reads it again", where, path.string());
}

std::string table_checksum(const std::filesystem::path& path) {
  ReadOnlyFile file(path);
  ByteHash hash;
  std::vector<std::byte> bytes(std::size_t{1} << 16);
  while (const std::size_t count = file.read(bytes)) hash.add(bytes.data(), count);
  return hash.digest();
}

void check_table_unchanged(const std::filesystem::path& path, const std::string& checksum) {
  const std::string found = table_checksum(path);
  check(found == checksum, "[table] {} has changed: checksum {} found, expected {}", path.string(), found, checksum);
}

}  // namespace npzoo
