#include "npzoo/engine/shape.h"

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE("shape: extents, and how many elements they make") {
  const Shape shape{2, 3, 4};
  CHECK(shape.rank() == 3);
  CHECK(shape[0] == 2);
  CHECK(shape[-1] == 4);
  CHECK(shape.index(-3) == 0);
  CHECK(shape.numel() == 24);
  CHECK(shape.rows() == 6);
  CHECK(shape.last() == 4);
  CHECK(Shape{}.numel() == 1);
  CHECK(Shape{}.rows() == 1);
  CHECK(Shape{}.last() == 1);
  CHECK(Shape{7}.rows() == 1);
  CHECK(Shape{5, 0}.numel() == 0);
  CHECK(Shape{5, 0}.rows() == 5);
  CHECK(std::vector<std::int64_t>(shape.begin(), shape.end()) == std::vector<std::int64_t>{2, 3, 4});
}

TEST_CASE("shape: more elements than a number can count") {
  const std::int64_t large = std::int64_t{1} << 32;
  CHECK(Shape{large, large / 4}.numel() == std::int64_t{1} << 62);
  CHECK(Shape{0, large, large}.numel() == 0);
  CHECK(error_of([&] {
          static_cast<void>(Shape{large, large}.numel());
        }) == "[shape] (4294967296, 4294967296) has more elements than memory can hold");
  CHECK(error_of([&] {
          static_cast<void>(Shape{large, large, 1}.rows());
        }) == "[shape] (4294967296, 4294967296, 1) has more elements than memory can hold");
  CHECK(error_of([&] {
          static_cast<void>(Tensor::from<float>(Shape{large, large}, {}));
        }) == "[shape] (4294967296, 4294967296) has more elements than memory can hold");
}

TEST_CASE("shape: axes are changed and taken out") {
  const Shape shape{2, 3, 4};
  CHECK(shape.with(-2, 0) == Shape{2, 0, 4});
  CHECK(shape.without(0) == Shape{3, 4});
  CHECK(shape.without(-1) == Shape{2, 3});
  CHECK(Shape{5}.without(0) == Shape{});
  CHECK(shape != Shape{2, 3, 4, 1});
  CHECK(Shape{2, 3, 4, 1, 1, 1}.without(5).without(4).without(3) == shape);
}

TEST_CASE("shape: text") {
  CHECK(to_string(Shape{}) == "()");
  CHECK(to_string(Shape{5}) == "(5)");
  CHECK(fmt::format("{}", Shape{2, 0, 4}) == "(2, 0, 4)");
}

TEST_CASE("shape: broadcasting") {
  CHECK(broadcast({2, 3}, {2, 3}) == Shape{2, 3});
  CHECK(broadcast({2, 3}, {3}) == Shape{2, 3});
  CHECK(broadcast({1}, {2, 3}) == Shape{2, 3});
  CHECK(broadcast({}, {4}) == Shape{4});
  CHECK(broadcast({}, {}) == Shape{});
  CHECK(broadcast({2, 1, 5}, {3, 1}) == Shape{2, 3, 5});
  CHECK(broadcast({0, 3}, {1, 3}) == Shape{0, 3});
  CHECK(broadcast({1}, {0}) == Shape{0});
}

TEST_CASE("shape: errors") {
  const Shape shape{2, 3};
  CHECK(error_of([&] { shape[2]; }) == "[shape] axis 2 does not exist in (2, 3)");
  CHECK(error_of([&] { shape.without(-3); }) == "[shape] axis -3 does not exist in (2, 3)");
  CHECK(error_of([] { Shape{}[-1]; }) == "[shape] axis -1 does not exist in ()");
  CHECK(error_of([] { Shape{2, -1}; }) == "[shape] extent -1 is negative");
  CHECK(error_of([&] { shape.with(0, -4); }) == "[shape] extent -4 is negative");
  CHECK(error_of([] { Shape{1, 1, 1, 1, 1, 1, 1}; }) == "[shape] 7 axes given, at most 6 are supported");
  CHECK(error_of([] {
          broadcast({2, 3}, {4, 1, 2});
        }) == "[broadcast] (2, 3) and (4, 1, 2) do not agree: axis -1 has extents 3 and 2");
  CHECK(error_of([] { broadcast({0}, {3}); }) == "[broadcast] (0) and (3) do not agree: axis -1 has extents 0 and 3");
}
