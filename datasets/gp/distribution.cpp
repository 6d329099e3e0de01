#include "datasets/gp/distribution.h"

namespace npzoo {

double Prior::draw(Random& random) const {
  switch (kind) {
    case Kind::constant: return a;
    case Kind::uniform: return random.uniform(a, b);
    case Kind::beta: break;
  }
  return random.beta(a, b);
}

Kernel KernelPrior::draw(Random& random) const {
  Kernel kernel{.kind = kind};
  kernel.lengthscale = lengthscale.draw(random);
  kernel.scale = scale.draw(random);
  if (kind == KernelKind::periodic) kernel.period = period.draw(random);
  return kernel;
}

}  // namespace npzoo
