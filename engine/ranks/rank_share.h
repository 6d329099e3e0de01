#pragma once

#include <cstdint>

namespace npzoo {

/// The items [first, last) of some numbered work that one rank does.
struct RankShare {
  std::int64_t first, last;

  static RankShare of_rank(std::int64_t items, std::int64_t rank, std::int64_t size) {
    return {items * rank / size, items * (rank + 1) / size};
  }
  std::int64_t count() const { return last - first; }
};

}  // namespace npzoo
