#pragma once

#include <span>
#include <string>
#include <vector>

namespace npzoo::tools {

/// A column of a table in a terminal.
struct Column {
  const char* title;
  std::vector<std::string> cells{};
};

/// Prints titles and cells, each column as wide as its widest cell.
void print_columns(std::span<const Column> columns);

}  // namespace npzoo::tools
