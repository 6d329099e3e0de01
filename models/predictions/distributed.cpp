#include "npzoo/models/predictions/distributed.h"

#include <algorithm>

#include "npzoo/engine/tape.h"
#include "npzoo/models/predictions/host.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

Marginals Distributed::marginals() const {
  const NoGrad off;
  const Tensor& like = parameters_.front();
  const Shape one{1, like.dim(0), like.dim(1), like.dim(2)};
  std::vector<Tensor> all;
  for (const Tensor& p : parameters_) all.push_back(reshape(p.detach(), one));
  Marginals m;
  m.mean = m.std = all.front();  // for their shape
  m.distribution = &family_.distribution();
  m.parameters = concat(all, 0);
  const Moments found = moments(m);
  const auto there = [&](const Tensor& x) { return reshape(x.to(like.dtype()).to(like.device()), one); };
  m.mean = there(found.mean);
  m.std = there(found.std);
  return m;
}

Tensor Distributed::log_likelihood(const Tensor& y) const {
  const Shape& shape = parameters_.front().shape();
  check(y.shape() == shape, "[log_likelihood] y {} found, expected {}", y.shape(), shape);
  return sum(family_.log_density(parameters_, y), -1);
}

Tensor Distributed::joint_log_likelihood(const Tensor& y) const {
  return sum_of_points(npzoo::log_likelihood(marginals(), y));
}

/// By inversion.
Tensor Distributed::sample(std::int64_t n, Draws& draws) const {
  std::vector<Tensor> here;
  for (const Tensor& p : parameters_) here.push_back(on_host(p));
  const Tensor& like = here.front();
  Tensor y = draws.uniform(n, like.dim(0), {like.dim(1), like.dim(2)}, DType::float64, Device::cpu);
  const std::span<double> values = y.values<double>();
  const auto all = static_cast<std::size_t>(like.numel());
  std::vector<double> own(here.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t k = 0; k < own.size(); ++k) own[k] = here[k].values<double>()[i % all];
    values[i] = family_.distribution().quantile(own, std::max(values[i], 0x1p-54));
  }
  return y;
}

}  // namespace npzoo
