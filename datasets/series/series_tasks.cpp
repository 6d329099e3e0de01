#include "npzoo/datasets/series/series_tasks.h"

namespace npzoo {

std::unique_ptr<TaskSource> SeriesTasks::source(const SourceOptions& options) const {
  return std::make_unique<ForecastSource>(series(), rules_, options);
}

TrainingRange SeriesTasks::training_range() const {
  constexpr double kOne = 1;  // by the standardisation
  return {.inputs = {-1, 1},
          .min_context = WindowRules::kLeastContext,
          .max_context = rules_.context,
          .value_std = kOne,
          .widest_std = kOne,
          .narrowest_std = kOne};
}

Batch SeriesTasks::picture(std::int64_t tasks, std::uint64_t seed) const {
  ForecastSeries shown = *series();
  shown.parts[static_cast<std::size_t>(Split::validation) - 1] = shown.part(Split::evaluation);
  const SourceOptions options{.batch_size = tasks, .seed = seed, .split = Split::validation};
  return ForecastSource(std::make_shared<const ForecastSeries>(std::move(shown)), rules_, options).batch(0);
}

}  // namespace npzoo
