#include "npzoo/models/blocks/lstm.h"

#include <cmath>
#include <vector>

#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"

namespace npzoo {

namespace {

Linear lstm_gates(std::int64_t in, std::int64_t hidden, Initializer& init) {
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  const Tensor weight = init.uniform({4 * hidden, in}, bound);
  return Linear(weight, init.uniform({4 * hidden}, bound));
}

}  // namespace

Lstm::Lstm(std::int64_t in, std::int64_t hidden, Initializer& init)
    : input(lstm_gates(in, hidden, init)), recurrent(lstm_gates(hidden, hidden, init)) {}

LstmState Lstm::begin(std::int64_t batch) const {
  const Tensor& like = recurrent.weight.value;
  const Tensor zeros = Tensor::zeros({batch, 1, like.dim(1)}, like.dtype(), like.device());
  return {zeros, zeros};
}

LstmState Lstm::operator()(const LstmState& before, const Tensor& x) const {
  const std::int64_t points = x.dim(1), width = before.hidden.dim(2);
  const Tensor from_input = input(x);  // (B, N, 4 H)
  const std::vector<std::int64_t> gates(4, width);
  LstmState now = before;
  std::vector<Tensor> hidden{slice(before.hidden, 1, 0, 0)}, cell{slice(before.cell, 1, 0, 0)};
  for (std::int64_t i = 0; i < points; ++i) {
    const std::vector<Tensor> raw = split(add(slice(from_input, 1, i, i + 1), recurrent(now.hidden)), 2, gates);
    now.cell = add(mul(sigmoid(raw[1]), now.cell), mul(sigmoid(raw[0]), tanh(raw[2])));
    now.hidden = mul(sigmoid(raw[3]), tanh(now.cell));
    hidden.push_back(now.hidden);
    cell.push_back(now.cell);
  }
  return {concat(hidden, 1), concat(cell, 1)};
}

void Lstm::visit(ModuleVisitor& visitor) {
  visitor("input", input);
  visitor("recurrent", recurrent);
}

}  // namespace npzoo
