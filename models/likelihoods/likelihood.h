#pragma once

#include <cstdint>

#include "npzoo/datasets/distributions/distribution.h"
#include "npzoo/datasets/model_config.h"
#include "npzoo/datasets/task.h"

namespace npzoo {

/// The likelihood of the targets of a model: the family of distributions whose parameters its outputs are. Chosen by
/// the keys `likelihood` and, for classes, `classes` of the model's configuration.
struct Likelihood {
  const Distribution* distribution = nullptr;  // null: Gaussian
  std::int64_t classes = 0;                    // of a categorical likelihood

  bool gaussian() const { return distribution == nullptr; }
  /// Returns the number of parameters of a channel, of a Gaussian as well.
  std::int64_t parameters() const;
  /// Returns the number of raw outputs of a network for the channels of a target.
  std::int64_t outputs(std::int64_t dim_y) const { return parameters() * dim_y; }
};

/// Reads `likelihood`, "gaussian" if it is missing, and of a categorical one `classes`.
Likelihood read_likelihood(ConfigReader& reader);

/// Throws Error for the first value of a task's context or targets, padding left out, that is impossible under the
/// likelihood. Does nothing for a Gaussian one. Waits for a device.
void check_support(const Likelihood& likelihood, const Task& task);

}  // namespace npzoo
