#include "npzoo/models/applications/neighbour_tree.h"

#include <algorithm>

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE("neighbour tree: the nearest of all points, in order, at repeated places as well") {
  Random random(14);
  std::vector<double> x(3 * 400);
  for (double& value : x) value = random.uniform();
  for (std::size_t i = 0; i < 60; ++i) x[i] = 0.5;  // twenty points at one place
  const NeighbourTree tree(x, 3);
  for (const std::vector<double>& at : {std::vector<double>{0.5, 0.5, 0.5}, {0, 0, 0}, {0.2, 0.9, 3}}) {
    std::vector<std::pair<double, std::uint32_t>> all;
    for (std::uint32_t i = 0; i < 400; ++i) {
      double square = 0;
      for (std::size_t d = 0; d < 3; ++d) square += (x[3 * i + d] - at[d]) * (x[3 * i + d] - at[d]);
      all.emplace_back(square, i);
    }
    std::ranges::sort(all);
    const std::vector<NearPoint> found = tree.nearest(at.data(), 30);
    REQUIRE(found.size() == 30);
    for (std::size_t i = 0; i < 30; ++i) CHECK(found[i].index == all[i].second);
  }
  CHECK(tree.nearest(x.data(), 500).size() == 400);
}
