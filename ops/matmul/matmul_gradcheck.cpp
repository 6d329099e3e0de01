#include "npzoo/ops/gradcheck_cases.h"
#include "npzoo/ops/matmul/matmul.h"

namespace npzoo {

namespace {

Shape stored(Shape batch, std::int64_t rows, std::int64_t columns, Transpose transpose) {
  std::vector<std::int64_t> dims(batch.begin(), batch.end());
  dims.push_back(transpose == Transpose::no ? rows : columns);
  dims.push_back(transpose == Transpose::no ? columns : rows);
  return Shape(std::span<const std::int64_t>(dims));
}

}  // namespace

void matmul_gradcheck_cases(GradcheckCases& cases) {
  struct Size {
    Shape a_batch, b_batch;
    std::int64_t m, n, k;
  };
  const Size sizes[] = {{{}, {}, 5, 3, 4},         {{}, {}, 33, 1, 129}, {{3}, {3}, 4, 5, 6},
                        {{2, 3}, {2, 3}, 2, 3, 1}, {{3}, {}, 4, 5, 6},   {{}, {3}, 4, 5, 6},
                        {{2}, {2}, 3, 3, 0},       {{0}, {0}, 3, 3, 2},  {{2}, {2}, 0, 3, 2}};
  for (const auto& [a_batch, b_batch, m, n, k] : sizes)
    for (Transpose a : {Transpose::no, Transpose::yes})
      for (Transpose b : {Transpose::no, Transpose::yes})
        cases.add("matmul", {cases.normal(stored(a_batch, m, k, a)), cases.normal(stored(b_batch, k, n, b))},
                  [a, b](const auto& x) { return matmul(x[0], x[1], a, b); });
}

}  // namespace npzoo
