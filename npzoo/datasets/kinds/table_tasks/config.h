#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace npzoo {

/// `held_out = [0.1, 0.1]`. A single number, as older protocols have it, is one part that serves as both.
struct HeldOut {
  double validation = 0;
  std::optional<double> test{};  // none: tests use the part for validation
};

/// `[data] kind = "table"`: tasks out of a table of measurements.
struct TableTasks {
  std::string path;      // absolute
  std::string checksum;  // of its bytes: other ones are another table
  std::string group;     // the column whose values are the groups; empty: there are none
  std::vector<std::string> inputs, values;
  std::int64_t points = 512;  // rows that a task is made of, at most
  /// Shares of the groups, or of blocks of rows, that training never sees: for validation, and for tests.
  HeldOut held_out{.validation = 0.1, .test = 0.1};
};

/// What tells a file's bytes from all others. Throws Error where it cannot be read.
/// Throws Error for standard input, a pipe or a device: a training that goes on reads its table again. `where` opens
/// the message.
void check_read_again(const std::filesystem::path& path, const char* where);

std::string table_checksum(const std::filesystem::path& path);
/// Throws Error where it is not that of the bytes there.
void check_table_unchanged(const std::filesystem::path& path, const std::string& checksum);

/// Describes the tasks of a table, of which header and columns are read. Throws Error for columns that it does not
/// have.
TableTasks describe_table(const std::filesystem::path& path, const std::string& group, std::vector<std::string> inputs,
                          std::vector<std::string> values);

/// The text of a protocol of these tasks, with the presets of `base`, a complete text. `name` becomes its name.
/// Training and validation are those of `base` or, where `short_recipe` is asked for, such as suit a table.
std::string table_protocol(const TableTasks& tasks, std::string_view base, const std::string& name, bool short_recipe);

}  // namespace npzoo
