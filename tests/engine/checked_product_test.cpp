#include "npzoo/engine/checked_product.h"

#include <limits>

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE("checked product: the product, or an error if no size has its value") {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  CHECK(checked_product(3, 4) == 12);
  CHECK(checked_product(0, kMost) == 0);
  CHECK(checked_product(kMost, 0) == 0);
  CHECK(checked_product(kMost, 1) == kMost);
  CHECK(checked_product(kMost / 2, 2) == kMost - 1);
  CHECK_THROWS_AS(checked_product(kMost / 2 + 1, 2), OutOfMemory);
  CHECK_THROWS_AS(checked_product(kMost, kMost), OutOfMemory);
  CHECK(error_of([] { checked_product(kMost, 2); }) ==
        fmt::format("[memory] {} times 2 numbers are more than memory can hold", kMost));
}
