#include <malloc.h>

#include <cstdlib>

#include "npzoo/engine/memory.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/masked_attention/masked_attention.h"
#include "npzoo/ops/random_feature_attention/random_feature_attention.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/set_convolution/set_convolution.h"
#include "tests/testing.h"

// Indices of elements beyond 2³¹. The operations touch a few places of a tensor of 17 GB, which the system maps when
// they are written: the test needs hardly any memory.

namespace npzoo {

namespace {

using namespace testing;

constexpr std::int64_t kPoints = (std::int64_t{1} << 30) + 8, kChannels = 2;

/// Two sets, the second one starting beyond 2³¹ elements. Its first and its last three points are 1, 2, …
std::pair<Tensor, Tensor> large_and_small() {
  Tensor large = Tensor::empty({2, kPoints, kChannels}, DType::float32), small = Tensor::empty({1, 6, kChannels});
  for (std::int64_t i = 0; i < 6 * kChannels; ++i) {
    const std::int64_t point = i / kChannels < 3 ? i / kChannels : kPoints - 6 + i / kChannels;
    small.data<float>()[i] = static_cast<float>(i + 1);
    large.data<float>()[(kPoints + point) * kChannels + i % kChannels] = static_cast<float>(i + 1);
  }
  for (std::int64_t i = 0; i < 3 * kChannels; ++i) large.data<float>()[i] = 0;
  return {large, small};
}

/// While it lives, malloc leaves memory as it is. Meson's tests set MALLOC_PERTURB_, by which malloc fills every block:
/// all of a large one would then be mapped.
class Unfilled {
 public:
  Unfilled() { mallopt(M_PERTURB, 0); }
  Unfilled(const Unfilled&) = delete;
  Unfilled& operator=(const Unfilled&) = delete;
  ~Unfilled() {
    if (const char* filler = std::getenv("MALLOC_PERTURB_")) mallopt(M_PERTURB, std::atoi(filler));
  }
};

/// The second set of x.
std::vector<double> second(const Tensor& x) { return doubles(slice(x, 0, 1, 2)); }

}  // namespace

TEST_CASE("large tensors: operations find places beyond 2³¹ elements") {
  if (kGuardBuild) return;  // which fills all memory
  const OnCpu cpu;
  const Unfilled memory;
  Tensor large, small;
  try {
    std::tie(large, small) = large_and_small();
  } catch (const OutOfMemory&) {
    MESSAGE("skipped: less than 17 GB of memory");
    return;
  }
  const Tensor first = slice(small, 1, 0, 3), first_lengths = Tensor::from<std::int64_t>({2}, {1, 3});
  const auto indices = Tensor::from<std::int64_t>({2, 2}, {0, 1, 1, kPoints - 1});
  CHECK(second(gather(large, indices)) == std::vector<double>{3, 4, 11, 12});
  CHECK(second(masked_mean(large, first_lengths)) == doubles(mean(first, 1)));

  const Tensor q = Tensor::full({2, 3, kChannels}, 0.1), one_q = Tensor::full({1, 3, kChannels}, 0.1);
  CHECK(second(masked_attention(q, large, large, PrefixMask::lengths(first_lengths), {})) ==
        doubles(masked_attention(one_q, first, first, PrefixMask::all(), {})));
  const Tensor projection = Tensor::full({4, kChannels}, 0.1);
  CHECK(second(summarise_keys(large, large, projection, PrefixMask::lengths(first_lengths), {}).sums) ==
        doubles(summarise_keys(first, first, projection, PrefixMask::all(), {}).sums));
  const RegularGrid grid = RegularGrid::over({-1, 0.5, 5}, {-1.2, 0.6, 4});
  const Tensor scales = Tensor::full({1}, 0.7);
  CHECK(second(points_to_grid(large, large, scales, grid, first_lengths)) ==
        doubles(points_to_grid(first, first, scales, grid)));

  const Tensor written = Tensor::full({2, 1, kChannels}, 7);
  copy_slice(written, 1, kPoints - 1, large);
  CHECK(second(gather(large, indices)) == std::vector<double>{3, 4, 7, 7});
}

}  // namespace npzoo
