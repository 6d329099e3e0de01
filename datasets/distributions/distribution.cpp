#include "npzoo/datasets/distributions/distribution.h"

#include <algorithm>
#include <cmath>

namespace npzoo {

std::span<const Distribution* const> distributions() {
  static const Distribution* const all[] = {&student_t_distribution(),
                                            &log_normal_distribution(),
                                            &beta_distribution(),
                                            &poisson_distribution(),
                                            &negative_binomial_distribution(),
                                            &bernoulli_distribution(),
                                            &categorical_distribution(),
                                            &zero_inflated_poisson_distribution(),
                                            &zero_inflated_negative_binomial_distribution(),
                                            &zero_inflated_log_normal_distribution()};
  return all;
}

const Distribution* find_distribution(std::string_view name) {
  const auto all = distributions();
  const auto found = std::ranges::find_if(all, [&](const Distribution* d) { return d->name() == name; });
  return found == all.end() ? nullptr : *found;
}

double central_mass(const Distribution& d, Distribution::Parameters p, double y, double inside) {
  const double below = d.below(p, y);
  return std::abs(2 * (below + inside * (d.cdf(p, y) - below)) - 1);
}

}  // namespace npzoo
