#include "npzoo/ops/masked_attention/attention_weights.h"

#include <algorithm>
#include <cmath>

#include "npzoo/ops/masked_attention/problem.h"

namespace npzoo {

namespace {

thread_local int keepers = 0;

double score_of(const AttentionProblem& problem, const double* q, const double* k) {
  double sum = 0;
  if (problem.score == AttentionScore::dot_product)
    for (std::int64_t c = 0; c < problem.width; ++c) sum += q[c] * k[c];
  if (problem.score == AttentionScore::laplace)
    for (std::int64_t c = 0; c < problem.width; ++c) sum -= std::abs(q[c] - k[c]);
  return problem.scale * sum;
}

void softmax_in_place(std::span<double> row) {
  if (row.empty()) return;
  const double largest = std::ranges::max(row);
  double sum = 0;
  for (double& value : row) sum += value = std::exp(value - largest);
  for (double& value : row) value /= sum;
}

}  // namespace

Tensor attention_weights(const Tensor& q, const Tensor& k, const PrefixMask& mask, const AttentionOptions& options) {
  const AttentionProblem problem("attention_weights", q, k, k, mask, options);
  const std::int64_t heads = problem.heads, width = problem.width, row_size = heads * width;
  const Tensor queries = q.detach().to(Device::cpu).to(DType::float64),
               keys = k.detach().to(Device::cpu).to(DType::float64);
  Tensor weights = Tensor::zeros({problem.batch, heads, problem.queries, problem.keys}, DType::float64, Device::cpu);
  double* row = weights.data<double>();
  for (std::int64_t b = 0; b < problem.batch; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = 0; i < problem.queries; ++i, row += problem.keys) {
        const std::int64_t seen = mask.visible(b, i, problem.keys);
        const double* query = queries.data<double>() + (b * problem.queries + i) * row_size + h * width;
        const double* key = keys.data<double>() + b * problem.keys * row_size + h * width;
        for (std::int64_t j = 0; j < seen; ++j) row[j] = score_of(problem, query, key + j * row_size);
        softmax_in_place({row, static_cast<std::size_t>(seen)});
      }
  return weights;
}

KeepAttention::KeepAttention() { ++keepers; }
KeepAttention::~KeepAttention() { --keepers; }
bool KeepAttention::on() { return keepers > 0; }

}  // namespace npzoo
