#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace npzoo {

/// Columns by which rows of two tables are the same: inputs and the group.
struct RowKeys {
  std::span<const double> x;                 // (rows, Dx)
  std::span<const std::string> groups{};     // names
  std::span<const std::uint32_t> of_rows{};  // a group for each row; empty: there are none

  std::int64_t rows(std::int64_t dim_x) const { return std::ssize(x) / dim_x; }
};

/// For each row of `asked` the row of `known` with the same key, −1 if there is none. Throws Error, beginning with
/// `[name]`, where two rows of `known` have one key.
std::vector<std::int64_t> matching_rows(const RowKeys& asked, const RowKeys& known, std::int64_t dim_x,
                                        const std::string& name);

}  // namespace npzoo
