#pragma once

#include <vector>

#include "npzoo/datasets/distributions/distribution.h"
#include "npzoo/datasets/toml_reader.h"

namespace npzoo {

/// How a value is observed of a function: a draw from a distribution, one parameter of which is the function's value
/// plus an offset. That is the location, the mean of the logarithm, the log mean or the logit of the mean. Class k of
/// `classes` has the logit 2 m f − m², with m from −2 to 2: the more f, the higher the likely classes.
struct Observation {
  const Distribution* distribution = nullptr;
  double offset = 0;
  std::vector<double> before{}, behind{};  // the other parameters, before and behind that one
  std::int64_t classes = 0;                // of a categorical distribution

  /// Returns the parameters of the distribution where the function is f.
  std::vector<double> parameters(double f) const;
  /// Returns the quantile of `level`, from 0 to 1. Values of a beta distribution keep a distance of 1e-6 from 0 and 1,
  /// because float32 would round them to 0 and 1.
  double draw(double f, double level) const;
};

/// Reads `observed`, `offset` and the keys of the family.
Observation read_observation(TomlReader& data);

}  // namespace npzoo
