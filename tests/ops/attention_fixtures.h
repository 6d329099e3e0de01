#pragma once

#include "tests/testing.h"

// What the tests of attention share.

namespace npzoo::testing {

struct AttentionSize {
  std::int64_t batch, queries, keys;
  int heads;
  std::int64_t width, value_width;
};

/// q, k and v.
template <class T>
std::vector<Tensor> draw(const AttentionSize& s) {
  return {normal<T>({s.batch, s.queries, s.heads * s.width}, 1), normal<T>({s.batch, s.keys, s.heads * s.width}, 2),
          normal<T>({s.batch, s.keys, s.heads * s.value_width}, 3)};
}

}  // namespace npzoo::testing
