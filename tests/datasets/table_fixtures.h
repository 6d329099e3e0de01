#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <fstream>

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

/// Without the folder of the temporary file.
inline std::string short_error(const auto& f) {
  std::string message = error_of(f);
  const std::size_t slash = message.rfind('/', message.find(']'));
  if (slash != std::string::npos) message.erase(1, slash);
  return message;
}

inline std::string parse_error(std::string_view text) {
  return short_error([&] { parse(text); });
}

/// Runs `f` while `descriptor` stands for `path`.
inline void redirected(int descriptor, const std::filesystem::path& path, int flags, const auto& f) {
  const Descriptor saved(::dup(descriptor));
  const Descriptor file(::open(path.c_str(), flags, 0666));
  ::dup2(file.get(), descriptor);
  f();
  ::dup2(saved.get(), descriptor);
}

}  // namespace npzoo::testing
