#include "npzoo/models/blocks/lstm.h"

#include <cmath>

#include "npzoo/ops/concat/concat.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr std::int64_t kIn = 3, kHidden = 4, kLength = 5;

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

Lstm some_lstm() {
  Initializer init(Framework::torch, {});
  Lstm lstm(kIn, kHidden, init);
  for (Linear* part : {&lstm.input, &lstm.recurrent})
    for (Parameter* p : {&part->weight, &part->bias}) p->value = p->value.to(DType::float64);
  return lstm;
}

}  // namespace

TEST_CASE("lstm: the recurrence, number by number") {
  const Lstm lstm = some_lstm();
  const Tensor x = normal<double>({2, kLength, kIn}, 1).to(default_device());
  const LstmState found = lstm(lstm.begin(2), x);
  const std::vector<double> in = doubles(x), wx = doubles(lstm.input.weight.value),
                            wh = doubles(lstm.recurrent.weight.value), bx = doubles(lstm.input.bias.value),
                            bh = doubles(lstm.recurrent.bias.value);
  std::vector<double> hidden, cell;
  for (std::size_t b = 0; b < 2; ++b) {
    std::vector<double> h(kHidden), c(kHidden);
    for (std::size_t t = 0; t < kLength; ++t) {
      std::vector<double> gate(4 * kHidden);
      for (std::size_t g = 0; g < gate.size(); ++g) {
        gate[g] = bx[g] + bh[g];
        for (std::size_t i = 0; i < kIn; ++i) gate[g] += wx[g * kIn + i] * in[(b * kLength + t) * kIn + i];
        for (std::size_t i = 0; i < kHidden; ++i) gate[g] += wh[g * kHidden + i] * h[i];
      }
      for (std::size_t i = 0; i < kHidden; ++i) {
        c[i] = sigmoid_of(gate[kHidden + i]) * c[i] + sigmoid_of(gate[i]) * std::tanh(gate[2 * kHidden + i]);
        h[i] = sigmoid_of(gate[3 * kHidden + i]) * std::tanh(c[i]);
      }
      hidden.insert(hidden.end(), h.begin(), h.end());
      cell.insert(cell.end(), c.begin(), c.end());
    }
  }
  CHECK(largest_difference(found.hidden, hidden) <= kRounding);
  CHECK(largest_difference(found.cell, cell) <= kRounding);
}

TEST_CASE("lstm: continues from a state") {
  const Lstm lstm = some_lstm();
  const Tensor x = normal<double>({2, kLength, kIn}, 1).to(default_device());
  const LstmState whole = lstm(lstm.begin(2), x), first = lstm(lstm.begin(2), slice(x, 1, 0, 2));
  const LstmState rest = lstm({slice(first.hidden, 1, 1, 2), slice(first.cell, 1, 1, 2)}, slice(x, 1, 2, kLength));
  CHECK(difference(concat({first.hidden, rest.hidden}, 1), whole.hidden) <= kRounding);
  CHECK(difference(concat({first.cell, rest.cell}, 1), whole.cell) <= kRounding);
  CHECK(lstm(lstm.begin(2), slice(x, 1, 0, 0)).hidden.shape() == Shape{2, 0, kHidden});
}
