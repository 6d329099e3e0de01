#include "npzoo/datasets/tables/repeated_inputs.h"

#include <algorithm>
#include <vector>

namespace npzoo {

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

std::optional<InputRuns> runs_of_input(const RowKeys& keys) {
  constexpr std::size_t kFewestRows = 5;
  const std::span<const double> x = keys.x;
  if (!keys.of_rows.empty() || x.size() < 2 * kFewestRows || x[0] == x[1]) return {};
  const double sign = x[1] > x[0] ? 1 : -1;
  InputRuns found{.count = 1};
  std::size_t begin = 0;
  for (std::size_t row = 1; row < x.size(); ++row) {
    if (sign * x[row] > sign * x[row - 1]) continue;
    const double middle = (x[begin] + x[row - 1]) / 2;
    if (row - begin < kFewestRows || sign * x[row] > sign * middle) return {};
    if (found.count++ == 1) found.second = static_cast<std::int64_t>(row);
    begin = row;
  }
  return found.count > 1 && x.size() - begin >= kFewestRows ? std::optional(found) : std::nullopt;
}

}  // namespace npzoo
