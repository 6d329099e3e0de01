#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/max_pool/max_pool.h"

namespace npzoo {

void max_pool_gradcheck_cases(GradcheckCases& cases) {
  for (std::int64_t length : {0, 1, 2, 7, 33})
    for (const PoolConfig& config : {PoolConfig{3, 2, 1}, PoolConfig{2, 2, 0}, PoolConfig{4, 1, 2}})
      cases.add("max_pool", {cases.normal({2, length, 3})},
                [config](const std::vector<Tensor>& in) { return max_pool(in[0], config); });
  cases.add("max_pool, wide rows", {cases.normal({1, 5, 129})}, [](const std::vector<Tensor>& in) {
    return max_pool(in[0], {3, 2, 1});
  });
}

}  // namespace npzoo
