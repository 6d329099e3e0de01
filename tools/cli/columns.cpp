#include "tools/cli/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace npzoo::tools {

void print_columns(std::span<const Column> columns) {
  const auto line = [&columns](const auto& cell_of) {
    std::string text;
    for (const Column& column : columns) {
      std::size_t width = std::string_view(column.title).size();
      for (const std::string& cell : column.cells) width = std::max(width, cell.size());
      text += fmt::format("{:<{}}  ", cell_of(column), width);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    fmt::print("{}\n", text);
  };
  line([](const Column& column) { return std::string(column.title); });
  for (std::size_t row = 0; row < columns[0].cells.size(); ++row)
    line([row](const Column& column) { return column.cells[row]; });
}

}  // namespace npzoo::tools
