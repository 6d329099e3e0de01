#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace npzoo {

/// Returns a column of zeros and ones for each word of a column that tells kinds of rows apart, NaN where a row has no
/// word (Table::kNoWord). `of_rows` numbers the words. Rare words have no column, and neither have words that name
/// rows. Of two words one column says all.
std::vector<std::vector<double>> word_indicators(std::span<const std::uint32_t> of_rows);

}  // namespace npzoo
