#pragma once

#include <cstdint>
#include <limits>

namespace npzoo::testing {

/// Sums of k products of standard normal numbers grow like √k and are rounded k times: about 0.2 k epsilon in all. Ten
/// times that, and a few units in the last place; one product too many or too few is far more.
template <class T>
double product_tolerance(std::int64_t k) {
  return std::numeric_limits<T>::epsilon() * static_cast<double>(16 + 2 * k);
}

}  // namespace npzoo::testing
