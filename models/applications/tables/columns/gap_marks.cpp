#include "npzoo/models/applications/tables/columns/gap_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace npzoo {

namespace {

/// A column that may help others, or the indicators of its words.
struct Helper {
  std::string name;
  bool is_value = false;  // has predictions of its own
  std::vector<std::size_t> columns{};

  /// Its cells in a row; false if they are missing.
  bool read(const CellTable& cells, std::size_t row, std::vector<double>& content) const {
    content.clear();
    for (const std::size_t c : columns) content.push_back(cells(row, c));
    return !std::isnan(content.front());
  }
};

std::vector<Helper> helpers_of(std::span<const std::string> names, std::size_t values) {
  std::vector<Helper> helpers;
  for (std::size_t v = 0; v < values; ++v) helpers.push_back({names[v], true, {v}});
  for (std::size_t c = values; c < names.size(); ++c) {
    const auto same = std::ranges::find(helpers.begin() + static_cast<std::ptrdiff_t>(values), helpers.end(), names[c],
                                        &Helper::name);
    Helper& helper = same == helpers.end() ? helpers.emplace_back(Helper{names[c]}) : *same;
    helper.columns.push_back(c);
  }
  return helpers;
}

/// Cells of a helper beside known values.
class SeenCells {
 public:
  explicit SeenCells(bool words) : words_(words) {}

  void add(const std::vector<double>& content) {
    ++rows_;
    low_ = std::min(low_, content.front());
    high_ = std::max(high_, content.front());
    if ((words_ || contents_.size() <= kFew) && !has(content)) contents_.push_back(content);
  }
  bool unlike(const std::vector<double>& content) const {
    if (words_ || contents_.size() <= kFew) return !has(content);
    const double width = high_ - low_;
    return content.front() < low_ - width || content.front() > high_ + width;
  }
  std::size_t rows() const { return rows_; }
  bool constant() const { return contents_.size() == 1; }

 private:
  static constexpr std::size_t kFew = 2;  // different numbers, through which any curve goes
  bool has(const std::vector<double>& content) const {
    return std::ranges::find(contents_, content) != contents_.end();
  }

  bool words_;
  std::size_t rows_ = 0;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> contents_{};
};

/// Rows in which a helper marks gaps of a value.
struct Marked {
  std::vector<std::size_t> rows{};
  bool constant = false;  // wherever the value is known
};

/// The rows of a table where a value is known, and where it is asked.
struct ValueRows {
  std::vector<std::size_t> known{}, asked{};

  ValueRows(const CellTable& cells, std::size_t value, const AskedCell& is_asked) {
    for (std::size_t row = 0; row < cells.rows; ++row)
      if (cells.known(row, value))
        known.push_back(row);
      else if (is_asked(row, value))
        asked.push_back(row);
  }
};

Marked marked_rows(const CellTable& cells, const Helper& helper, const ValueRows& value) {
  constexpr double kChance = 0.01;
  SeenCells seen(helper.columns.size() > 1);
  std::vector<double> content;
  for (const std::size_t row : value.known)
    if (helper.read(cells, row, content)) seen.add(content);
  Marked marked{.constant = seen.constant()};
  double asked = 0;
  for (const std::size_t row : value.asked) {
    if (!helper.read(cells, row, content)) continue;
    ++asked;
    if (seen.unlike(content)) marked.rows.push_back(row);
  }
  // If gaps were anywhere, all these rows would have one with this probability.
  const double chance =
      std::pow(asked / (asked + static_cast<double>(seen.rows())), static_cast<double>(marked.rows.size()));
  if (!(chance < kChance)) marked.rows.clear();
  return marked;
}

/// The rows in which a helper marks gaps, over all values.
class HelperGaps {
 public:
  void add(const Marked& marked, std::size_t value, std::size_t asked) {
    asked_ += asked;
    unused_ += marked.rows.size();
    if (marked.rows.size() > most_) {
      most_ = marked.rows.size();
      value_ = value;
      constant_ = marked.constant;
    }
    rows_.insert(rows_.end(), marked.rows.begin(), marked.rows.end());
  }
  bool any() const { return most_ > 0; }
  bool useless() const { return 2 * unused_ >= asked_; }

  void blank(const Helper& helper, CellTable& cells, std::vector<GapMarks::ValueCell>& values) {
    std::ranges::sort(rows_);
    rows_.erase(std::unique(rows_.begin(), rows_.end()), rows_.end());
    for (const std::size_t row : rows_)
      for (const std::size_t c : helper.columns) {
        if (helper.is_value) values.push_back({row, c, cells(row, c)});
        cells(row, c) = std::numeric_limits<double>::quiet_NaN();
      }
  }
  std::string text(const Helper& helper, bool left_out, std::span<const std::string> names) const {
    const std::string used = left_out ? "" : fmt::format(" in {} row{}", rows_.size(), rows_.size() == 1 ? "" : "s");
    return fmt::format("{} is not used{}{}: {}", helper.name, helper.is_value ? " for other columns" : "", used,
                       constant_
                           ? fmt::format("it is the same wherever {} is known", names[value_])
                           : fmt::format("where {} is missing it is unlike all its values elsewhere", names[value_]));
  }

 private:
  std::size_t asked_ = 0, unused_ = 0, most_ = 0, value_ = 0;
  bool constant_ = false;
  std::vector<std::size_t> rows_{};
};

bool varies(const CellTable& cells, std::size_t column) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (std::size_t row = 0; row < cells.rows; ++row) {
    if (!cells.known(row, column)) continue;
    low = std::min(low, cells(row, column));
    high = std::max(high, cells(row, column));
  }
  return low < high;
}

CellTable without(const CellTable& cells, std::span<const std::size_t> left_out) {
  CellTable kept(cells.rows, cells.columns - left_out.size());
  std::size_t to = 0;
  for (std::size_t c = 0; c < cells.columns; ++c) {
    if (std::ranges::binary_search(left_out, c)) continue;
    for (std::size_t row = 0; row < cells.rows; ++row) kept(row, to) = cells(row, c);
    ++to;
  }
  return kept;
}

}  // namespace

void GapMarks::erase_from(std::vector<std::string>& names) const {
  for (auto column = left_out.rbegin(); column != left_out.rend(); ++column)
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(*column));
}

CellTable GapMarks::with_values(CellTable cells) const {
  for (const ValueCell& cell : values) cells(cell.row, cell.column) = cell.value;
  return cells;
}

GapMarks forget_gap_marks(CellTable& cells, std::size_t values, std::span<const std::string> names,
                          const AskedCell& asked) {
  const std::vector<Helper> helpers = helpers_of(names, values);
  std::vector<HelperGaps> gaps(helpers.size());
  for (std::size_t v = 0; v < values; ++v) {
    const ValueRows rows(cells, v, asked);
    for (std::size_t h = 0; h < helpers.size() && !rows.asked.empty(); ++h)
      if (h != v) gaps[h].add(marked_rows(cells, helpers[h], rows), v, rows.asked.size());
  }
  GapMarks marks;
  for (std::size_t h = 0; h < helpers.size(); ++h) {
    if (!gaps[h].any()) continue;
    gaps[h].blank(helpers[h], cells, marks.values);
    std::vector<std::size_t> left_out;
    std::ranges::copy_if(helpers[h].columns, std::back_inserter(left_out), [&](std::size_t c) {
      return !helpers[h].is_value && (gaps[h].useless() || !varies(cells, c));
    });
    marks.texts.push_back(gaps[h].text(helpers[h], left_out.size() == helpers[h].columns.size(), names));
    marks.left_out.insert(marks.left_out.end(), left_out.begin(), left_out.end());
  }
  std::ranges::sort(marks.left_out);
  if (!marks.left_out.empty()) cells = without(cells, marks.left_out);
  return marks;
}

}  // namespace npzoo
