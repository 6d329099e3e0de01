#pragma once

#include <filesystem>
#include <string>

namespace npzoo {

// A user's own table that a training reads, also when it resumes.

/// Throws Error for standard input, a pipe or a device. `where` opens the message.
void check_read_again(const std::filesystem::path& path, const char* where);

/// A hash of the file's bytes. Throws Error if it cannot be read.
std::string table_checksum(const std::filesystem::path& path);
/// Throws Error if the file's checksum is another one.
void check_table_unchanged(const std::filesystem::path& path, const std::string& checksum);

}  // namespace npzoo
