#pragma once

#include <cstdint>

#include "datasets/gp/posterior.h"
#include "datasets/gp/sampler.h"

namespace npzoo {

/// The exact posterior of one row of a batch, given its true hyper-parameters.
GpPosterior exact_posterior(const GpBatch& batch, std::int64_t row);

/// Log-likelihood of the target values under the exact posteriors, in nats per target point, mean over the batch: what
/// no model can beat in expectation. Marginal for models that predict each target by itself, joint for those that
/// predict all together.
double exact_marginal_log_likelihood(const GpBatch& batch);
double exact_joint_log_likelihood(const GpBatch& batch);

}  // namespace npzoo
