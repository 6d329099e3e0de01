#include "npzoo/models/applications/tables/hidden_thirds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "npzoo/datasets/permutation.h"

namespace npzoo {

namespace {

constexpr std::size_t kParts = 3, kMostSeries = 8;
constexpr std::int64_t kFewest = 20;  // observed values of a series

/// The rows of a table that have a value.
struct KnownRows {
  std::vector<double> x;
  std::vector<std::vector<double>> values;
  std::vector<std::uint32_t> groups;

  explicit KnownRows(const FillData& data) : values(data.values.size()) {
    const auto dim_x = static_cast<std::size_t>(data.dim_x);
    for (std::size_t i = 0; i < data.x.size() / dim_x; ++i) {
      if (std::ranges::all_of(data.values, [i](std::span<const double> y) { return std::isnan(y[i]); })) continue;
      x.insert(x.end(), data.x.begin() + static_cast<std::ptrdiff_t>(i * dim_x),
               data.x.begin() + static_cast<std::ptrdiff_t>((i + 1) * dim_x));
      for (std::size_t v = 0; v < values.size(); ++v) values[v].push_back(data.values[v][i]);
      if (!data.groups.empty()) groups.push_back(data.groups[i]);
    }
  }

  std::size_t size() const { return values.front().size(); }

  bool worth_comparing() const {
    std::map<std::pair<std::size_t, std::uint32_t>, std::int64_t> counts;
    for (std::size_t v = 0; v < values.size(); ++v)
      for (std::size_t i = 0; i < size(); ++i)
        if (!std::isnan(values[v][i])) ++counts[{v, groups.empty() ? 0 : groups[i]}];
    return !counts.empty() && counts.size() <= kMostSeries &&
           std::ranges::all_of(counts, [](const auto& one) { return one.second >= kFewest; });
  }

  /// The part that each row belongs to, by its rank among the rows.
  std::vector<std::size_t> parts() const {
    const std::size_t dim_x = x.size() / size();
    const auto numbers = [&](std::size_t row, std::size_t c) {
      if (c < dim_x) return x[row * dim_x + c];
      const double y = values[c - dim_x][row];
      return std::isnan(y) ? std::numeric_limits<double>::infinity() : y;
    };
    std::vector<std::size_t> order(size()), part(size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      if (!groups.empty() && groups[a] != groups[b]) return groups[a] < groups[b];
      for (std::size_t c = 0; c < dim_x + values.size(); ++c)
        if (numbers(a, c) != numbers(b, c)) return numbers(a, c) < numbers(b, c);
      return false;
    });
    constexpr std::uint64_t kSeed = 0x3d;
    const Permutation permutation(static_cast<std::int64_t>(size()), kSeed, 0);
    for (std::size_t rank = 0; rank < order.size(); ++rank)
      part[order[rank]] = static_cast<std::size_t>(permutation(static_cast<std::int64_t>(rank))) % kParts;
    return part;
  }
};

}  // namespace

std::optional<double> compare_on_hidden_thirds(const FillData& data, const FillMethod& a, const FillMethod& b) {
  const KnownRows rows(data);
  if (!rows.worth_comparing()) return {};
  FillData shown = data;
  shown.x = rows.x;
  shown.groups = rows.groups;
  shown.targets.reset();
  shown.target_groups = {};
  shown.truth = as_columns(rows.values);
  shown.covariate_std = {};
  shown.helpers.clear();
  shown.helper_names.clear();
  const std::vector<std::size_t> part = rows.parts();
  std::vector<double> of_a(rows.values.size()), of_b(rows.values.size());  // sums over hidden values
  for (std::size_t p = 0; p < kParts; ++p) {
    std::vector<std::vector<double>> values = rows.values;
    for (std::vector<double>& column : values)
      for (std::size_t i = 0; i < column.size(); ++i)
        if (part[i] == p) column[i] = std::numeric_limits<double>::quiet_NaN();
    shown.values = as_columns(values);
    const auto add = [&](const FillMethod& method, std::vector<double>& sums) {
      const FillResult result = method(shown);
      for (std::size_t v = 0; v < sums.size(); ++v)
        if (result.scores[v].rows > 0) sums[v] += static_cast<double>(result.scores[v].rows) * result.scores[v].crps;
    };
    add(a, of_a);
    add(b, of_b);
  }
  double logs = 0;
  for (std::size_t v = 0; v < of_a.size(); ++v) {
    if (!(std::isfinite(of_a[v]) && of_b[v] > 0 && std::isfinite(of_b[v]))) return {};
    logs += std::log(std::max(of_a[v] / of_b[v], std::numeric_limits<double>::min()));
  }
  return std::exp(logs / static_cast<double>(of_a.size()));
}

}  // namespace npzoo
