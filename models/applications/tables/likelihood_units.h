#pragma once

#include <span>
#include <string>

#include "npzoo/datasets/tables/standardise.h"
#include "npzoo/models/likelihoods/likelihood.h"

namespace npzoo {

/// Leaves values as they are if the likelihood needs that: counts, events and shares have no other unit.
inline Standardisation units_of_likelihood(Standardisation units, const Likelihood& likelihood) {
  if (likelihood.gaussian() || likelihood.distribution == &student_t_distribution()) return units;
  for (ValueMap& map : units.values) map = {};
  return units;
}

/// Throws Error for the first observed value (n, Dy) that is impossible under the likelihood.
inline void check_observed(std::span<const double> y, std::span<const std::string> names,
                           const Likelihood& likelihood) {
  if (likelihood.gaussian()) return;
  const auto count = static_cast<std::size_t>(likelihood.parameters());
  for (std::size_t i = 0; i < y.size(); ++i)
    check(
        likelihood.distribution->supports(count, y[i]),
        "[predict] value {} of column '{}' at observed point {} found, expected {}, as the model's likelihood {} needs",
        y[i], names[i % names.size()], i / names.size() + 1, likelihood.distribution->support(count),
        likelihood.distribution->name());
}

}  // namespace npzoo
