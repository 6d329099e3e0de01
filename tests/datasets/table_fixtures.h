#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "npzoo/datasets/tables/table.h"
#include "npzoo/datasets/tables/table_reader.h"
#include "tests/testing.h"

// Helpers for tests of tables.

namespace npzoo::testing {

using Values = std::vector<double>;
using Names = std::vector<std::string>;

struct Numbers {
  Names header;
  Values values;
  std::int64_t rows = 0;
};

inline Numbers read_table(const std::filesystem::path& path) {
  TableReader reader(path);
  reader.format().check_named();
  CellParser parser(reader.format());
  Numbers table{reader.header(), {}, 0};
  for (; reader.next(); ++table.rows)
    for (std::size_t c = 0; c < table.header.size(); ++c)
      table.values.push_back(parser.required(reader.cells()[c], c, reader.line()));
  return table;
}

inline Numbers parse(std::string_view text) {
  TemporaryDirectory directory;
  std::ofstream(directory / "t.csv", std::ios::binary) << text;
  return read_table(directory / "t.csv");
}

/// Returns the message that `f` throws, without the folders of the temporary files.
inline std::string refusal(const auto& f) {
  std::string message = error_of(f);
  const std::string folder = std::filesystem::temp_directory_path() / "npzoo-";
  for (std::size_t at = message.find(folder); at != std::string::npos; at = message.find(folder))
    message.erase(at, message.find('/', at + folder.size()) + 1 - at);
  return message;
}

inline std::string parse_error(std::string_view text) {
  return refusal([&] { parse(text); });
}

/// Runs `f` while `descriptor` stands for `path`.
inline void redirected(int descriptor, const std::filesystem::path& path, int flags, const auto& f) {
  const Descriptor saved(::dup(descriptor));
  const Descriptor file(::open(path.c_str(), flags, 0666));
  ::dup2(file.get(), descriptor);
  f();
  ::dup2(saved.get(), descriptor);
}

/// A table in a file of its own.
class ReadTable {
 public:
  ReadTable(const char* name, std::string_view text) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    table_.emplace(Table::read(directory_ / name));
  }
  Table& operator*() { return *table_; }

 private:
  TemporaryDirectory directory_;
  std::optional<Table> table_;
};

}  // namespace npzoo::testing
