#include "npzoo/datasets/tables/unread_dates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "npzoo/datasets/tables/column_facts.h"
#include "npzoo/datasets/tables/column_hints.h"
#include "npzoo/datasets/tables/flag_text.h"
#include "npzoo/datasets/tables/month_names.h"
#include "npzoo/datasets/tables/number_text.h"
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

namespace {

/// The remedy for an index such as 1990/91, 60 BC, SS 2005 or Week 1: its first year, or numbers of the rows. Empty for
/// whole dates.
std::string index_advice(const std::string& cell) {
  constexpr std::size_t kYear = 4;
  if (cell.size() > kYear && are_digits(cell.substr(0, kYear)) && (cell[kYear] == '/' || cell[kYear] == '-')) {
    const std::string next = std::to_string(value_of_digits(cell.substr(0, kYear)) + 1),
                      second = cell.substr(kYear + 1);
    if (second == next || second == next.substr(2))
      return fmt::format(": write {} for {}", cell.substr(0, kYear), cell);
  }
  if (cell.ends_with(" BC") || cell.ends_with(" BCE") || cell.ends_with(" v. Chr."))
    return ": " + advice_on_signs(cell);
  const bool date = std::ranges::count_if(cell, is_digit) > std::ptrdiff_t{kYear};
  return date ? "" : ": if rows are in order, number them in a column of their own";
}

}  // namespace

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
      fail(
          "[{}:{}] column {} holds {}, a notation of dates that is not read, expected 2024-03-29 or 2024-03-29T13:00{}",
          table.format().name(), table.line(first[column][0].row), table.format().title(column),
          in_quotes(first[column][0].text), index_advice(first[column][0].text));
  }
}

namespace {

using Kind = ColumnSummary::Kind;

std::string first_word(std::string_view text) {
  std::string word;
  for (std::size_t i = 0; i < text.size() && is_letter(text[i]); ++i) word += small_letter(text[i]);
  return word;
}

/// Whether a column's name says that its texts are the names of rows.
bool names_rows(std::string_view name) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"id",       "name",    "no",     "nr",      "code",        "key",        "sample",  "probe",
       "specimen", "patient", "person", "subject", "participant", "respondent", "proband", "case",
       "customer", "animal",  "plant",  "plot",    "site",        "station"});
  return std::ranges::find(kNames, first_word(name)) != kNames.end() || name.ends_with("_id") || name.ends_with("ID");
}

/// Whether a text counts times: it begins with a digit, or with a word such as week.
bool counts_time(std::string_view cell) {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"fy",       "y",      "year",  "jahr",     "season",   "saison", "q",       "quarter", "quartal",  "h",
       "month",    "monat",  "m",     "period",   "week",     "wk",     "woche",   "kw",      "w",        "day",
       "tag",      "t",      "d",     "time",     "hour",     "step",   "epoch",   "age",     "round",    "runde",
       "matchday", "game",   "spiel", "spieltag", "lap",      "run",    "session", "visit",   "wave",     "spring",
       "summer",   "autumn", "fall",  "winter",   "frühling", "sommer", "herbst",  "term",    "semester", "ss",
       "ws",       "sose",   "wise",  "hy",       "half",     "hj"});
  return is_digit(cell.front()) || month_of(first_word(cell)) > 0 ||
         std::ranges::find(kWords, first_word(cell)) != kWords.end();
}

/// A column of texts with numbers, such as Week 1 or P1, a different one in each row.
struct RowTexts {
  std::string column, first;  // the first cell
  std::int64_t line = 0;
  bool may_be_times = false;       // and not the names of persons or samples
  bool beside_categories = false;  // another column has words that repeat
};

std::optional<RowTexts> find_row_texts(Table& table, const ColumnChoice& choice) {
  constexpr std::size_t kFewestRows = 3;
  std::optional<RowTexts> found;
  bool categories = false;
  for (const std::string& name :
       open_columns(facts_of(table), choice, [](const ColumnFacts& c) { return c.kind == Kind::text; })) {
    const Table::Labels words = table.words(table.format().column(name));
    const std::size_t rows = words.of_rows.size();
    categories = categories || (words.names.size() > 1 && 2 * words.names.size() <= rows);
    const auto is_row_text = [](const std::string& word) {
      return (std::ranges::any_of(word, is_digit) || month_of(word) > 0) && !is_numbered_name(word);
    };
    if (found || rows < kFewestRows || words.names.size() < rows || !std::ranges::all_of(words.names, is_row_text))
      continue;
    const bool times =
        part_named(name) != DatePart::none || (!names_rows(name) && std::ranges::all_of(words.names, counts_time));
    found = RowTexts{name, words.names[0], table.line(0), times, false};
  }
  if (found) found->beside_categories = categories;
  return found;
}

}  // namespace

bool has_named_rows(Table& table, const ColumnChoice& choice) {
  const auto texts = find_row_texts(table, choice);
  return texts && !texts->may_be_times && texts->beside_categories;
}

void check_row_texts(Table& table, const ColumnChoice& choice, const std::string& input) {
  std::string instead;
  if (!input.empty()) {
    const std::vector<double> places = table.numbers(std::array{table.format().column(input)}, {})[0].values;
    if (std::ranges::is_sorted(places) || std::ranges::is_sorted(places, std::greater<>())) return;
    instead =
        fmt::format("; if {} is the input, use --inputs {}; to predict from all columns of a row, use --inputs none",
                    in_quotes(input), flag_list({&input, 1}));
  }
  const auto texts = find_row_texts(table, choice);
  if (!texts || !texts->may_be_times) return;
  fail("[{}:{}] column {} holds {}, which cannot be read as a date or a number, expected such as 2024-03-29 or 17{}{}",
       table.format().name(), texts->line, table.format().title(table.format().column(texts->column)),
       in_quotes(texts->first), index_advice(texts->first), instead);
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
