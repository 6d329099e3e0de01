#include "npzoo/datasets/tables/unread_dates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "npzoo/datasets/tables/column_facts.h"
#include "npzoo/datasets/tables/column_hints.h"
#include "npzoo/datasets/tables/flag_text.h"
#include "npzoo/datasets/tables/text_parts.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

std::string complaint(Table& table, std::size_t column) {
  try {
    static_cast<void>(table.numbers(std::array{column}, table.input_forms(std::array{column})));
  } catch (const Error& error) {
    const std::string text = error.what(), begin = fmt::format("[{}:", table.format().name());
    const std::size_t end = text.find("] ", begin.size());
    if (text.starts_with(begin) && end != std::string::npos)
      return fmt::format("line {}: {}", text.substr(begin.size(), end - begin.size()), text.substr(end + 2));
  }
  return "";
}

void check_no_other_dates(Table& table, const ColumnChoice& choice) {
  const std::vector<std::vector<ShownCell>> first = first_cells(table);
  for (const std::string& name : open_columns_of(table, choice, ColumnSummary::Kind::text)) {
    const std::size_t column = table.format().column(name);
    if (!first[column].empty() && looks_like_date(first[column][0].text))
      fail("[columns] {} has dates in column {} that cannot be read: {}; or name the inputs with --inputs",
           table.format().name(), in_quotes(name), complaint(table, column) + footer_hint(table, column));
  }
}

void check_unread_dates(Table& table, const ColumnChoice& choice) {
  const std::vector<std::vector<ShownCell>> first = first_cells(table);
  for (const std::string& name : open_columns_of(table, choice, ColumnSummary::Kind::text)) {
    const std::size_t column = table.format().column(name);
    const bool digits = !first[column].empty() && std::ranges::any_of(first[column][0].text, is_digit);
    if (digits && part_named(name) != DatePart::none && table.summaries()[column].odd_row < 0)
      fail("[{}:{}] column {} holds {}, a notation of dates that is not read, expected 2024-03-29 or 2024-03-29T13:00",
           table.format().name(), table.line(first[column][0].row), table.format().title(column),
           in_quotes(first[column][0].text));
  }
}

void check_no_codes(const Table& table, std::span<const std::string> inputs) {
  for (const std::string& name : inputs)
    if (const std::size_t column = table.format().column(name); table.has_doubtful_dates(column))
      fail(
          "[columns] {}: the numbers in column {} jump as dates do, such as {}, expected whole dates such as "
          "2024-01-31; if they are plain numbers, use --inputs {}",
          table.format().name(), in_quotes(name), in_quotes(first_cells(table)[column][0].text), flag_list({&name, 1}));
}

}  // namespace npzoo
