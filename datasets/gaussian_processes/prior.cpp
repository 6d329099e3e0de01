#include "npzoo/datasets/gaussian_processes/prior.h"

#include <cmath>

namespace npzoo {

double Prior::draw(Random& random) const {
  switch (kind) {
    case Kind::constant: return a;
    case Kind::uniform: return random.uniform(a, b);
    case Kind::log_uniform: return std::exp(random.uniform(std::log(a), std::log(b)));
    case Kind::beta: break;
  }
  return random.beta(a, b);
}

double Prior::mean_square() const {
  switch (kind) {
    case Kind::constant: return a * a;
    case Kind::uniform: return (a * a + a * b + b * b) / 3;
    case Kind::log_uniform: return (b * b - a * a) / (2 * std::log(b / a));
    case Kind::beta: break;
  }
  return a * (a + 1) / ((a + b) * (a + b + 1));
}

Kernel KernelPrior::draw(Random& random) const {
  Kernel kernel{.kind = kind};
  kernel.lengthscale = lengthscale.draw(random);
  kernel.scale = scale.draw(random);
  if (has_period(kind)) kernel.period = period.draw(random);
  if (kind == KernelKind::rbf_mixture) kernel.second_lengthscale = second_lengthscale.draw(random);
  return kernel;
}

}  // namespace npzoo
