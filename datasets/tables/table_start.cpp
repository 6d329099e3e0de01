#include "npzoo/datasets/tables/table_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_set>

#include "npzoo/datasets/tables/cell_parser.h"
#include "npzoo/datasets/tables/clock_text.h"
#include "npzoo/datasets/tables/number_text.h"
#include "npzoo/datasets/tables/text_parts.h"
#include "npzoo/datasets/tables/unit_lines.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

constexpr std::string_view kPossibleSeparators = ",;\t";

struct Magic {
  std::string_view bytes;
  const char* what;
};

constexpr auto kBinary = std::to_array<Magic>({
    {"PAR1", "a Parquet file"},
    {"ARROW1", "an Arrow file"},
    {"FEA1", "a Feather file"},
    {"PK\x03\x04", "a zip archive or a spreadsheet"},
    {"\xD0\xCF\x11\xE0", "a spreadsheet"},
    {"BZh", "compressed by bzip2"},
    {"\x28\xB5\x2F\xFD", "compressed by zstd"},
    {"\x89HDF", "an HDF5 file"},
    {"CDF\x01", "a NetCDF file"},
    {"CDF\x02", "a NetCDF file"},
    {"GRIB", "a GRIB file"},
    {"SQLite format 3", "a database of SQLite"},
    {"\xFF\xFE", "UTF-16"},
    {"\xFE\xFF", "UTF-16"},
});

constexpr auto kText = std::to_array<Magic>({
    {"%PDF-", "a PDF file"},
    {"{\\rtf", "a text of a word processor"},
    {"version https://git-lfs", "a pointer of Git LFS, for which \"git lfs pull\" fetches the file"},
});

/// Names of columns may begin as some files of other kinds do.
bool is_binary(std::string_view text) {
  constexpr std::size_t kLooked = 32;
  return std::ranges::any_of(text.substr(0, kLooked), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || (byte < 0x20 && c != '\t' && c != '\n' && c != '\r');
  });
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return text.substr(std::min(begin, text.size()));
}

/// JSON begins with an object, or with a list of objects, lists, texts or numbers. Names of columns may stand in
/// brackets: [time],[value].
std::optional<std::string> kind_of_json(std::string_view text) {
  const char first = text.front();
  if (first != '{' && first != '[') return {};
  const std::string_view next = without_blanks(text.substr(1));
  if (next.empty()) return {};
  const bool object = first == '{' && (next.front() == '"' || next.front() == '}');
  const bool list = first == '[' && (std::string_view("{[\"-]").find(next.front()) != std::string_view::npos ||
                                     (next.front() >= '0' && next.front() <= '9'));
  if (!object && !list) return {};
  const bool map = text.find("\"FeatureCollection\"") != std::string_view::npos;
  return map ? "GeoJSON" : "JSON";
}

std::optional<std::string> kind_of_markup(std::string_view text) {
  if (text.front() != '<' || text.size() < 2) return {};
  std::string begin(text.substr(0, 512));
  std::ranges::transform(begin, begin.begin(), small_letter);
  for (const char* tag : {"<!doctype html", "<html", "<head", "<body", "<table"})
    if (begin.find(tag) != std::string::npos) return "an HTML page";
  return begin.starts_with("<?xml") || begin.find("xmlns") != std::string::npos ? std::optional<std::string>("XML")
                                                                                : std::nullopt;
}

/// The cells of a line, without quotes around them; a quoted cell keeps its separators.
std::vector<std::string_view> cells_of(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  bool quoted = false;
  std::size_t begin = 0;
  const auto add = [&](std::size_t end) {
    std::string_view cell = trim(line.substr(begin, end - begin));
    if (cell.size() > 1 && cell.front() == '"' && cell.back() == '"') cell = cell.substr(1, cell.size() - 2);
    cells.push_back(cell);
    begin = end + 1;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    quoted = quoted != (line[i] == '"');
    if (!quoted && line[i] == separator) add(i);
  }
  add(line.size());
  return cells;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  bool quoted = false;
  std::size_t begin = line.size();  // of the word at hand
  for (std::size_t i = 0; i <= line.size(); ++i) {
    const bool end = i == line.size();
    if (!end) quoted = quoted != (line[i] == '"');
    const bool blank = end || (!quoted && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r'));
    if (!blank && begin == line.size()) begin = i;
    if (blank && begin < line.size()) {
      words.push_back(line.substr(begin, i - begin));
      begin = line.size();
    }
  }
  return words;
}

std::vector<std::string_view> split_line(std::string_view line, char separator) {
  return separator == ' ' ? words_of(line) : cells_of(line, separator);
}

bool is_date_cell(std::string_view cell) {
  return parse_date_time(cell) || parse_date_notation(cell, DateOrder::dmy, true) ||
         parse_date_notation(cell, DateOrder::mdy, true) || !iso_clock(cell).empty();
}

bool is_data_cell(std::string_view cell) {
  return decimal_evidence(cell) != DecimalEvidence::no_number || is_date_cell(cell);
}

std::size_t count_data(std::span<const std::string_view> cells) {
  return static_cast<std::size_t>(std::ranges::count_if(cells, is_data_cell));
}

enum class CellKind : std::uint8_t { blank, word, whole, decimal, date };

CellKind kind_of_text(std::string_view cell) {
  if (is_missing(cell)) return CellKind::blank;
  const DecimalEvidence shown = decimal_evidence(cell);
  if (shown != DecimalEvidence::no_number) return shown == DecimalEvidence::whole ? CellKind::whole : CellKind::decimal;
  return is_date_cell(cell) ? CellKind::date : CellKind::word;
}

/// The kind of the cells of a column in most of some rows.
CellKind usual_kind(std::span<const std::vector<std::string_view>> rows, std::size_t column) {
  std::array<std::size_t, 5> counts{};
  for (const auto& cells : rows) ++counts[static_cast<std::size_t>(kind_of_text(cells[column]))];
  counts[0] = 0;
  return static_cast<CellKind>(std::ranges::max_element(counts) - counts.begin());
}

/// Numbers that ascend or descend may be names: wavelengths, depths.
bool are_a_scale(std::span<const double> numbers) {
  constexpr std::size_t kFewest = 4;
  return numbers.size() >= kFewest && (std::ranges::is_sorted(numbers, std::less_equal<>()) ||
                                       std::ranges::is_sorted(numbers, std::greater_equal<>()));
}

/// Lines without their ends; the last one only if the text ends with it.
std::vector<std::string_view> lines_of(std::string_view head) {
  constexpr std::size_t kMost = 400;
  std::vector<std::string_view> lines;
  const char end = head.find('\n') == std::string_view::npos ? '\r' : '\n';
  for (std::size_t at = 0; at < head.size() && lines.size() < kMost;) {
    const std::size_t stop = head.find(end, at);
    if (stop == std::string_view::npos) break;
    std::string_view line = head.substr(at, stop - at);
    while (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    at = stop + 1;
  }
  return lines;
}

/// The lines from the first on that have as many cells as the last one.
struct Run {
  std::size_t first = 0, count = 0;
};

Run last_run(std::span<const std::string_view> lines, char separator) {
  std::size_t last = lines.size();
  while (last > 0 && trim(lines[last - 1]).empty()) --last;
  if (last == 0) return {};
  const std::size_t cells = split_line(lines[last - 1], separator).size();
  if (cells < 2) return {};
  std::size_t first = last;
  while (first > 0 && split_line(lines[first - 1], separator).size() == cells) --first;
  return {first, last - first};
}

}  // namespace

std::optional<std::string> kind_of_other_file(std::string_view head) {
  for (const Magic& magic : kBinary)
    if (head.starts_with(magic.bytes) && is_binary(head)) return magic.what;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  const std::string_view text = without_blanks(head);
  if (text.empty()) return {};
  for (const Magic& magic : kText)
    if (text.starts_with(magic.bytes)) return magic.what;
  if (const auto json = kind_of_json(text)) return json;
  return kind_of_markup(text);
}

bool is_toa5(std::string_view line) { return line.starts_with("\"TOA5\",") || line.starts_with("TOA5,"); }

bool has_rdb_formats(std::string_view line) {
  return line.find('\t') != std::string_view::npos &&
         std::ranges::all_of(cells_of(line, '\t'), [](std::string_view cell) {
           return cell.size() > 1 && std::string_view("sdnSDN").find(cell.back()) != std::string_view::npos &&
                  are_digits(cell.substr(0, cell.size() - 1));
         });
}

std::string separators_in(std::string_view header) {
  std::array<bool, kPossibleSeparators.size()> found{};
  bool quoted = false, beside_tab = false;
  for (const char c : header) {
    quoted = quoted != (c == '"');
    if (!quoted && c != '\t' && kPossibleSeparators.find(c) != std::string_view::npos)
      found[kPossibleSeparators.find(c)] = true;
  }
  quoted = false;
  const bool others = found[0] || found[1];
  for (std::size_t i = 0; i < header.size(); ++i) {
    quoted = quoted != (header[i] == '"');
    if (quoted || header[i] != '\t') continue;
    const std::size_t before = header.substr(0, i).find_last_not_of(" \t"), after = header.find_first_not_of(" \t", i);
    const auto is_other = [&](std::size_t at) {
      return at == std::string_view::npos || header[at] == ',' || header[at] == ';';
    };
    beside_tab = beside_tab || !others || !(is_other(before) || is_other(after));
  }
  found[2] = beside_tab;
  std::string all;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i]) all += kPossibleSeparators[i];
  return all;
}

std::optional<char> separator_by_rows(std::string_view header, std::span<const std::string_view> rows,
                                      std::string_view separators) {
  std::optional<char> best;
  double most = 0;
  bool equal = false;
  for (const char separator : separators) {
    const std::size_t columns = cells_of(header, separator).size();
    std::size_t data = 0;
    const bool fits = std::ranges::all_of(rows, [&](std::string_view row) {
      const std::vector<std::string_view> cells = cells_of(row, separator);
      data += count_data(cells);
      return cells.size() == columns;
    });
    if (!fits || rows.empty()) continue;
    const double share = static_cast<double>(data) / static_cast<double>(columns * rows.size());
    equal = best && share == most;
    if (best && share <= most) continue;
    best = separator;
    most = share;
  }
  return equal ? std::nullopt : best;
}

bool ends_within_quotes(std::string_view line) {
  bool quoted = false, at_start = true;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      quoted = c != '"';
      continue;
    }
    if (c == '"' && (at_start || (i > 0 && line[i - 1] == '"'))) quoted = true;
    at_start = kPossibleSeparators.find(c) != std::string_view::npos || (at_start && c == ' ');
  }
  return quoted;
}

std::size_t count_words(std::string_view text) { return words_of(text).size(); }

std::optional<std::size_t> date_and_time_words(std::string_view row) {
  const std::vector<std::string_view> words = words_of(row);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool date =
        words[i].find(':') == std::string_view::npos && iso_clock(words[i]).empty() && is_date_cell(words[i]);
    if (date && words[i + 1].find(':') != std::string_view::npos && !iso_clock(words[i + 1]).empty()) return i;
  }
  return {};
}

std::optional<DataAsName> data_among_names(std::string_view header, std::span<const std::string_view> rows,
                                           char separator) {
  const std::vector<std::string_view> names = split_line(header, separator);
  std::vector<std::vector<std::string_view>> below;
  for (const std::string_view row : rows)
    if (auto cells = split_line(row, separator); cells.size() == names.size()) below.push_back(std::move(cells));
  if (below.empty()) return {};
  std::optional<DataAsName> decimal;
  std::vector<double> numbers;
  bool named = false;  // a word that no row repeats stands above numbers or dates
  for (std::size_t c = 0; c < names.size(); ++c) {
    const CellKind kind = kind_of_text(names[c]), usual = usual_kind(below, c);
    if (kind == CellKind::date && usual == CellKind::date) return DataAsName{std::string(names[c]), "dates"};
    if (kind == CellKind::decimal && usual == CellKind::decimal) decimal = {std::string(names[c]), "numbers"};
    if (kind == CellKind::decimal) numbers.push_back(parse_number(names[c], '.', false).value_or(0));
    const auto repeats = [&](const auto& cells) { return std::ranges::find(cells, names[c]) != cells.end(); };
    named = named || (kind == CellKind::word && usual > CellKind::word && std::ranges::none_of(below, repeats));
  }
  return named || are_a_scale(numbers) ? std::nullopt : decimal;
}

std::optional<CommentNames> names_in_comments(std::span<const std::string> comments,
                                              std::span<const std::string_view> rows) {
  if (rows.empty()) return {};
  const std::string found = separators_in(rows[0]);
  const char separator = found.empty() ? ' ' : found[0];
  const std::vector<std::string_view> cells = split_line(rows[0], separator);
  const auto is_data = [](std::string_view cell) { return is_data_cell(cell) || is_missing(cell); };
  const bool data = (count_data(cells) > 0 && std::ranges::all_of(cells, is_data)) ||
                    data_among_names(rows[0], rows.subspan(1), separator);
  if (!data) return {};
  std::optional<CommentNames> best;
  std::size_t fewest = 0;
  for (std::size_t i = comments.size(); i-- > 0;) {
    for (const char between : {',', ';', '\t', ' '}) {
      const std::vector<std::string_view> names = split_line(comments[i], between);
      const std::unordered_set<std::string_view> different(names.begin(), names.end());
      if (names.size() != cells.size() || different.size() != names.size() || different.contains("")) continue;
      // NOAA writes a line of units below the names.
      const auto units = static_cast<std::size_t>(std::ranges::count_if(names, is_unit));
      if (count_data(names) > 0 || (best && units >= fewest)) continue;
      std::string header;
      for (const std::string_view name : names) {
        std::string plain(name);
        std::erase(plain, '"');
        header += fmt::format("{}\"{}\"", header.empty() ? "" : std::string(1, separator), plain);
      }
      best = CommentNames{i, header, separator};
      fewest = units;
    }
  }
  return best;
}

std::optional<char> rare_separator(std::string_view header, std::span<const std::string_view> rows) {
  for (const char c : {'|', '~'}) {
    const auto count = std::ranges::count(header, c);
    const bool all =
        std::ranges::all_of(rows, [&](std::string_view row) { return std::ranges::count(row, c) == count; });
    if (count > 0 && all && !rows.empty()) return c;
  }
  return {};
}

ColumnAtEdge unnamed_column(std::string_view header, std::span<const std::string_view> rows, char separator) {
  const std::size_t names = split_line(header, separator).size();
  bool blank = rows.size() > 1, in_front = blank;
  std::unordered_set<std::string_view> different;
  for (const std::string_view row : rows) {
    const std::vector<std::string_view> cells = split_line(row, separator);
    if (cells.size() != names + 1) return ColumnAtEdge::none;
    blank = blank && cells.back().empty();
    // Behind a comma that is a decimal sign there is one cell more, too.
    const bool surely = separator != ',' || trim(row).starts_with('"');
    in_front = in_front && surely && !is_date_cell(cells[0]) && different.insert(cells[0]).second;
  }
  return blank ? ColumnAtEdge::behind : in_front ? ColumnAtEdge::in_front : ColumnAtEdge::none;
}

std::optional<std::int64_t> lines_before_table(std::string_view head) {
  constexpr std::size_t kFewest = 3;
  const std::vector<std::string_view> lines = lines_of(head);
  Run best;
  for (const char one : {',', ';', '\t', ' '}) {
    const Run run = last_run(lines, one);
    if (run.count < kFewest || run.first == 0 || (one == ' ' && best.count > 0)) continue;
    const std::size_t data = count_data(split_line(lines[run.first + 1], one));
    if (count_data(split_line(lines[run.first], one)) > 0 || data == 0 || run.count < best.count) continue;
    best = run;
  }
  return best.count > 0 ? std::optional(static_cast<std::int64_t>(best.first)) : std::nullopt;
}

}  // namespace npzoo
