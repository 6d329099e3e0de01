#include <cmath>

#include "npzoo/datasets/kinds/gp/config.h"
#include "npzoo/datasets/kinds/latent_gp/source.h"
#include "npzoo/datasets/normal_distribution.h"
#include "npzoo/datasets/task_config.h"
#include "npzoo/datasets/toml_reader.h"

namespace npzoo {

std::shared_ptr<const TaskConfig> read_gp_config(TomlReader& data);

namespace {

/// `kind = "latent_gp"`: counts, events, bounded and other values, observed of functions of a Gaussian process. Tests
/// change what those of the kind gp change.
class LatentGpConfig final : public TaskConfig {
 public:
  LatentGpConfig(std::shared_ptr<const TaskConfig> functions, Observation observation)
      : functions_(std::move(functions)), observation_(std::move(observation)) {}

  std::int64_t dim_x() const override { return functions_->dim_x(); }
  std::int64_t dim_y() const override { return functions_->dim_y(); }
  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override {
    SourceOptions drawn = options;
    drawn.dtype = DType::float64;
    drawn.device = Device::cpu;
    return std::make_unique<ObservedSource>(functions_->source(drawn), observation_, options);
  }
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& test) const override {
    return std::make_shared<const LatentGpConfig>(functions_->with_test_overrides(test), observation_);
  }
  TaskExtents typical_extents() const override { return functions_->typical_extents(); }
  bool batch_size_matters() const override { return functions_->batch_size_matters(); }
  TrainingRange training_range() const override;

 private:
  std::shared_ptr<const TaskConfig> functions_;
  Observation observation_;
};

/// The law of total variance over a normal function value, at the middles of equally likely parts.
TrainingRange LatentGpConfig::training_range() const {
  constexpr int kParts = 200;
  TrainingRange range = functions_->training_range();
  double mean = 0, square = 0;
  for (int i = 0; i < kParts; ++i) {
    const double f = range.value_std * normal_quantile((i + 0.5) / kParts);
    const ValueMoments m = observation_.distribution->moments(observation_.parameters(f));
    mean += m.mean / kParts;
    square += (m.mean * m.mean + m.std * m.std) / kParts;
  }
  range.value_std = range.widest_std = range.narrowest_std = std::sqrt(square - mean * mean);
  range.target_noise = range.context_noise = 0;
  return range;
}

}  // namespace

std::shared_ptr<const TaskConfig> read_latent_gp_config(TomlReader& data) {
  std::shared_ptr<const TaskConfig> functions = read_gp_config(data);
  return std::make_shared<const LatentGpConfig>(std::move(functions), read_observation(data));
}

}  // namespace npzoo
