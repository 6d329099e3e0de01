#include "models/blocks/dropping.h"

#include "engine/error.h"
#include "ops/concat/concat.h"
#include "ops/dropout/dropout.h"

namespace npzoo {

Tensor Dropping::operator()(const Tensor& x) const {
  if (share == 0) return x;
  if (apart == 0) return dropout(x, share, *draws);
  const Tensor front = dropout(slice(x, 1, 0, apart), share, *draws);
  return concat({front, dropout(slice(x, 1, apart, x.dim(1)), share, *draws)}, 1);
}

double read_dropout(ConfigReader& reader, const std::string& model) {
  const auto share = reader.get<double>("dropout", 0.0);
  check(0 <= share && share < 1, "[{}] dropout {} found, expected 0 or more and less than 1", model, share);
  return share;
}

}  // namespace npzoo
