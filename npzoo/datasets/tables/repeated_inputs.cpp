#include "npzoo/datasets/tables/repeated_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

std::vector<std::uint32_t> all_rows(std::int64_t count) {
  std::vector<std::uint32_t> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), std::uint32_t{0});
  return rows;
}

std::string times_of(const RepeatedInputs& found) {
  if (found.most != found.fewest) return "more than once";
  return found.most == 2 ? "twice" : fmt::format("{} times", found.most);
}

bool may_name_series(const ColumnSummary& summary) {
  return summary.missing == 0 &&
         (summary.kind == ColumnSummary::Kind::text || summary.kind == ColumnSummary::Kind::number);
}

bool is_whole_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

RepeatedInputs repeated_inputs(const RowKeys& keys, std::int64_t dim_x, std::span<const std::uint32_t> counted) {
  const auto width = static_cast<std::size_t>(dim_x);
  const auto group = [&](std::uint32_t row) { return keys.of_rows.empty() ? 0 : keys.of_rows[row]; };
  const auto place = [&](std::uint32_t row) { return keys.x.subspan(row * width, width); };
  std::vector<std::uint32_t> order(counted.begin(), counted.end());
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    if (group(a) != group(b)) return group(a) < group(b);
    const auto pa = place(a), pb = place(b);
    for (std::size_t d = 0; d < width; ++d)
      if (pa[d] != pb[d]) return pa[d] < pb[d];
    return a < b;
  });
  RepeatedInputs found;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    for (end = begin + 1; end < order.size() && group(order[end]) == group(order[begin]) &&
                          std::ranges::equal(place(order[end]), place(order[begin]));)
      ++end;
    const auto rows = static_cast<std::int64_t>(end - begin);
    if (rows == 1) continue;
    found.fewest = found.places == 0 ? rows : std::min(found.fewest, rows);
    found.most = std::max(found.most, rows);
    found.rows += rows;
    if (found.places++ == 0 || order[begin] < found.first) found.first = order[begin];
  }
  return found;
}

void check_one_series(Table& table, const ColumnChoice& choice, std::span<const double> x, bool dates) {
  constexpr std::int64_t kLeft = 20;  // one repeated row of so many may stay repeated
  if (!choice.group.empty()) return;
  const auto dim_x = std::ssize(choice.inputs);
  const std::vector<std::uint32_t> rows = all_rows(table.rows());
  const RepeatedInputs found = repeated_inputs({x}, dim_x, rows);
  if (found.places < 2 || 2 * found.rows < table.rows()) return;
  const auto used = [&](const std::string& name) {
    return std::ranges::count(choice.inputs, name) + std::ranges::count(choice.values, name) +
               std::ranges::count(choice.date, name) >
           0;
  };
  int left = 64;  // columns to look at
  for (const auto kind : {ColumnSummary::Kind::text, ColumnSummary::Kind::number})
    for (std::size_t c = 0; c < table.header().size(); ++c) {
      const std::string& name = table.header()[c];
      const ColumnSummary summary = table.summaries()[c];
      if (name.empty() || used(name) || summary.kind != kind || !may_name_series(summary)) continue;
      if (--left < 0) return;
      const Table::Labels labels = table.labels(c);
      const bool few = labels.names.size() > 1 && 2 * std::ssize(labels.names) <= table.rows();
      if (!few || (kind == ColumnSummary::Kind::number && !std::ranges::all_of(labels.names, is_whole_number)))
        continue;
      if (kLeft * repeated_inputs({x, labels.names, labels.of_rows}, dim_x, rows).rows > found.rows) continue;
      fail("[columns] {} has {} {} {}; does {} tell series apart? Then --group {}; else --inputs {}",
           table.format().name(), found.places, dates ? "dates" : "places", times_of(found), in_quotes(name), name,
           fmt::join(choice.inputs, ","));
    }
}

}  // namespace npzoo
