#include "npzoo/models/likelihoods/output_head.h"

#include "npzoo/models/predictions/distributed.h"
#include "npzoo/models/predictions/independent.h"
#include "npzoo/ops/concat/concat.h"

namespace npzoo {

std::unique_ptr<Prediction> output_head(const Tensor& raw, const StdForm& form, const Likelihood& likelihood) {
  if (likelihood.gaussian()) return std::make_unique<Independent>(gaussian_head(raw, form));
  const LikelihoodFamily& family = likelihood_family(*likelihood.distribution);
  const auto count = static_cast<std::size_t>(likelihood.parameters());
  const std::int64_t dim_y = raw.dim(-1) / static_cast<std::int64_t>(count);
  const std::vector<Tensor> parts = split(raw, -1, std::vector<std::int64_t>(count, dim_y));
  return std::make_unique<Distributed>(family, family.link(parts, form));
}

}  // namespace npzoo
