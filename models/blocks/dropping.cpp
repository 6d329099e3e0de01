#include "npzoo/models/blocks/dropping.h"

#include "npzoo/engine/error.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/dropout/dropout.h"

namespace npzoo {

Tensor Dropping::operator()(const Tensor& x) const {
  if (share == 0) return x;
  if (apart == 0) return dropout(x, share, *draws);
  const Tensor front = dropout(slice(x, 1, 0, apart), share, *draws);
  return concat({front, dropout(slice(x, 1, apart, x.dim(1)), share, *draws)}, 1);
}

double read_dropout(ConfigReader& reader) {
  return reader.number("dropout", "share of the activations that training drops", kBelowOne, 0);
}

}  // namespace npzoo
