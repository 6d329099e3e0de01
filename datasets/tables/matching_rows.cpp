#include "npzoo/datasets/tables/matching_rows.h"

#include <bit>
#include <string_view>
#include <unordered_map>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

/// The bits of the inputs, and the name of the group.
void make_key(const RowKeys& keys, std::int64_t row, std::int64_t dim_x, std::string& key) {
  key.clear();
  for (std::int64_t i = row * dim_x; i < (row + 1) * dim_x; ++i) {
    const double x = keys.x[static_cast<std::size_t>(i)] + 0.0;  // −0 is 0
    const auto bits = std::bit_cast<std::uint64_t>(x);
    key.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  if (!keys.of_rows.empty()) key += keys.groups[keys.of_rows[static_cast<std::size_t>(row)]];
}

}  // namespace

std::vector<std::int64_t> matching_rows(const RowKeys& asked, const RowKeys& known, std::int64_t dim_x,
                                        const std::string& name) {
  std::unordered_map<std::string, std::int64_t> rows;
  std::string key;
  for (std::int64_t row = 0; row < known.rows(dim_x); ++row) {
    make_key(known, row, dim_x, key);
    const auto [first, is_new] = rows.try_emplace(key, row);
    check(is_new, "[{}] rows {} and {} have the same inputs, expected each place once", name, first->second + 1,
          row + 1);
  }
  std::vector<std::int64_t> found;
  for (std::int64_t row = 0; row < asked.rows(dim_x); ++row) {
    make_key(asked, row, dim_x, key);
    const auto at = rows.find(key);
    found.push_back(at == rows.end() ? -1 : at->second);
  }
  return found;
}

}  // namespace npzoo
