#include "npzoo/datasets/sobol.h"

#include <array>
#include <boost/random/sobol.hpp>

#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"

namespace npzoo {

namespace {

constexpr std::uint64_t kSobolStream = 0x50;

}  // namespace

std::vector<double> sobol_points(std::int64_t dims, std::int64_t first, std::int64_t count, std::uint64_t seed) {
  check(dims >= 1 && dims <= kMostSobolDims, "[sobol] {} coordinates, expected 1 to {}", dims, kMostSobolDims);
  check(first >= 0 && count >= 0 && first + count <= 0xffffffffLL, "[sobol] point {} found, expected one below 2^32",
        first + count);
  std::vector<double> points(static_cast<std::size_t>(count * dims));
  std::array<std::uint32_t, kMostSobolDims> shift{};
  Random random(seed, kSobolStream);
  for (std::int64_t d = 0; d < dims; ++d) shift[static_cast<std::size_t>(d)] = random.next_block()[0];
  // Boost leaves out the sequence's first point, the origin: its point i is our point i + 1.
  boost::random::sobol_engine<std::uint32_t, 32> sequence(static_cast<std::size_t>(dims));
  if (first > 0) sequence.seed(static_cast<std::uint32_t>(first - 1));
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t d = i % static_cast<std::size_t>(dims);
    const bool origin = first == 0 && i == d;
    points[i] = (((origin ? 0 : sequence()) ^ shift[d]) + 0.5) * 0x1p-32;
  }
  return points;
}

}  // namespace npzoo
