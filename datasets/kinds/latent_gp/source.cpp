#include "npzoo/datasets/kinds/latent_gp/source.h"

#include <utility>

#include "npzoo/engine/random.h"

namespace npzoo {

namespace {

constexpr std::uint64_t kSeedOfObservations = 0x6c61'7465'6e74;  // keeps these draws apart from those of the functions

/// Replaces the first `lengths` values of each row by observations.
void observe_values(const Observation& observation, const Tensor& lengths, Random& random, Tensor& y) {
  const std::int64_t width = y.dim(1) * y.dim(2);
  for (std::int64_t b = 0; b < y.dim(0); ++b) {
    const std::int64_t real =
        lengths.defined() ? lengths.values<std::int64_t>()[static_cast<std::size_t>(b)] * y.dim(2) : width;
    for (double& value :
         y.values<double>().subspan(static_cast<std::size_t>(b * width), static_cast<std::size_t>(real)))
      value = observation.draw(value, random.uniform());
  }
}

}  // namespace

ObservedSource::ObservedSource(std::unique_ptr<TaskSource> functions, Observation observation,
                               const SourceOptions& options)
    : functions_(std::move(functions)), observation_(std::move(observation)), options_(options) {}

Batch ObservedSource::batch(std::uint64_t index) const {
  Task task = functions_->task(index);
  Random random(options_.seed ^ kSeedOfObservations, static_cast<std::uint64_t>(options_.split) << 56 | index);
  observe_values(observation_, task.lengths, random, task.yc);
  observe_values(observation_, task.target_lengths, random, task.yt);
  for (Tensor* each : {&task.xc, &task.yc, &task.xt, &task.yt}) *each = each->to(options_.dtype);
  return {task.to(options_.device)};
}

}  // namespace npzoo
