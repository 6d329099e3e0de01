#include "npzoo/models/context_attention.h"

#include <algorithm>

#include "npzoo/engine/tape.h"
#include "npzoo/models/blocks/attention_listener.h"
#include "npzoo/ops/matmul/matmul.h"

namespace npzoo {

namespace {

/// Returns the weights of the first query of each task: (B, H, N). Queries of a task's samples or paths come behind it.
Tensor of_first_query(const Tensor& weights, std::int64_t batch) {
  const std::int64_t heads = weights.dim(1), queries = weights.dim(2), keys = weights.dim(3);
  Tensor first = Tensor::empty({batch, heads, keys}, DType::float64, Device::cpu);
  for (std::int64_t row = 0; row < batch * heads; ++row)
    std::copy_n(weights.data<double>() + row * queries * keys, keys, first.data<double>() + row * keys);
  return first;
}

class LayerWeights final : public AttentionListener {
 public:
  explicit LayerWeights(std::int64_t batch) : batch_(batch) {}

  void hear(const HeardAttention& heard) override {
    const std::size_t layer = *heard.origin.layer;
    if (layer < layers.size()) return;  // asked again by another path or sample, which sees the same
    check(layer == layers.size(), "[attention] layer {} found, expected {}", layer, layers.size());
    const Tensor weights = of_first_query(heard.weights, batch_);
    layers.push_back(heard.origin.reading.defined() ? matmul(weights, heard.origin.reading) : weights);
  }

  std::vector<Tensor> layers;

 private:
  std::int64_t batch_;
};

}  // namespace

std::vector<Tensor> context_attention(const Model& model, const Context& context, const Tensor& xt, Draws draws) {
  check(xt.rank() == 3 && xt.dim(1) == 1, "[attention] targets {} found, expected one for each task", xt.shape());
  const NoGrad off;
  const KeepAttention keep;
  const auto state = model.condition(context, draws, 1);
  LayerWeights heard(xt.dim(0));
  model.query(*state, xt)->marginals();
  return std::move(heard.layers);
}

}  // namespace npzoo
