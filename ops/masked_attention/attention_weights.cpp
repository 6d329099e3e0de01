#include "npzoo/ops/masked_attention/attention_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

/// Numbers of a tensor that are read on the host, in double.
Tensor double_on_host(const Tensor& x) { return x.detach().to(Device::cpu).to(DType::float64); }

/// One of an attention's biases, on the host.
class HostBias {
 public:
  explicit HostBias(const DistanceBias& bias)
      : form_(bias.form),
        on_sphere_(bias.distance == DistanceKind::great_circle),
        from_(double_on_host(bias.query_places)),
        to_(double_on_host(bias.key_places)),
        a_(double_on_host(bias.a)),
        b_(bias.b.defined() ? double_on_host(bias.b) : Tensor()),
        c_(bias.c.defined() ? double_on_host(bias.c) : Tensor()) {}

  /// Query and key are numbers of a row of all batch elements' places.
  double operator()(std::int64_t head, std::int64_t heads, std::int64_t query, std::int64_t key) const {
    const double d = distance(query, key);
    const std::int64_t terms = a_.numel() / heads;
    double sum = 0;
    for (std::int64_t i = head * terms; i < (head + 1) * terms; ++i) {
      const double a = a_.data<double>()[i], b = form_ == BiasForm::scalar ? 0 : b_.data<double>()[i],
                   from = form_ == BiasForm::tisa ? d - c_.data<double>()[i] : d;
      sum += form_ == BiasForm::scalar        ? a * d
             : form_ == BiasForm::exponential ? a * std::exp(-b * d)
                                              : a * std::exp(-b * from * from);
    }
    return sum;
  }

 private:
  double distance(std::int64_t query, std::int64_t key) const {
    const std::int64_t dims = from_.dim(2);
    double differences = 0, sums = 0;
    for (std::int64_t c = 0; c < dims; ++c) {
      const double x = from_.data<double>()[query * dims + c], y = to_.data<double>()[key * dims + c];
      differences += (x - y) * (x - y);
      sums += (x + y) * (x + y);
    }
    constexpr double kDegrees = 180 / 3.14159265358979323846;
    return on_sphere_ ? 2 * kDegrees * std::atan2(std::sqrt(differences), std::sqrt(sums)) : std::sqrt(differences);
  }

  BiasForm form_;
  bool on_sphere_;
  Tensor from_, to_, a_, b_, c_;
};

/// Turns the scores of the keys that a row sees into weights, chunk by chunk of all `keys` for a scan.
void softmax_in_place(std::span<double> row, const AttentionProblem& problem) {
  const auto seen = static_cast<std::int64_t>(row.size()), keys = problem.keys;
  const bool scan = problem.scan_chunk > 0;
  const std::int64_t chunk = scan ? problem.scan_chunk : keys;
  double largest = scan ? kLeastTop : -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t first = 0; first < (scan ? keys : seen); first += chunk) {
    const double before = largest;
    for (std::int64_t j = first; j < std::min(first + chunk, seen); ++j) largest = std::max(largest, row[j]);
    if (first > 0) sum *= std::exp(before - largest);
    for (std::int64_t j = first; j < std::min(first + chunk, seen); ++j) sum += std::exp(row[j] - largest);
    if (scan) sum += kScanEpsilon;
  }
  for (double& value : row) value = std::exp(value - largest) / sum;
}

}  // namespace

Tensor attention_weights(const Tensor& q, const Tensor& k, const PrefixMask& mask, const AttentionOptions& options,
                         std::span<const DistanceBias> biases) {
  const AttentionProblem problem("attention_weights", q, k, k, mask, options, biases);
  const std::vector<HostBias> added(problem.biases.begin(), problem.biases.end());
  const std::int64_t heads = problem.heads, width = problem.width, row_size = heads * width;
  const Tensor queries = double_on_host(q), keys = double_on_host(k);
  Tensor weights = Tensor::zeros({problem.batch, heads, problem.queries, problem.keys}, DType::float64, Device::cpu);
  double* row = weights.data<double>();
  for (std::int64_t b = 0; b < problem.batch; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = 0; i < problem.queries; ++i, row += problem.keys) {
        const std::int64_t seen = mask.visible(b, i, problem.keys);
        const double* query = queries.data<double>() + (b * problem.queries + i) * row_size + h * width;
        const double* key = keys.data<double>() + b * problem.keys * row_size + h * width;
        for (std::int64_t j = 0; j < seen; ++j) {
          row[j] = score_of(problem, query, key + j * row_size);
          for (const HostBias& bias : added) row[j] += bias(h, heads, b * problem.queries + i, b * problem.keys + j);
        }
        softmax_in_place({row, static_cast<std::size_t>(seen)}, problem);
      }
  return weights;
}

KeepAttention::KeepAttention() { ++keepers; }
KeepAttention::~KeepAttention() { --keepers; }
bool KeepAttention::on() { return keepers > 0; }

}  // namespace npzoo
