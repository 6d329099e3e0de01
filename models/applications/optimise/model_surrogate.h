#pragma once

#include <memory>

#include "npzoo/datasets/task_config.h"
#include "npzoo/models/applications/optimise/search_space.h"
#include "npzoo/models/applications/optimise/surrogate.h"
#include "npzoo/models/model.h"
#include "npzoo/models/registry.h"

namespace npzoo {

/// Marginals as a belief. Throws Error for marginals of logarithms and of labels.
Belief belief_of(const Marginals& marginals);
/// Returns the marginals of a prediction as a belief.
Marginals each_alone(const Prediction& prediction);

struct ModelSurrogateOptions {
  TrainingRange range{};            // inputs that the unit cube is mapped to; deviation of scaled values
  bool standardise = true;          // values, by those of each task; else they are used as they are
  std::int64_t samples = kSamples;  // functions, of a model that draws them
  std::uint64_t seed = 0;
  DType dtype = DType::float32;  // of the model's parameters
};

/// A neural process: all tasks are one batch of the model. Contexts are extended by Model::update. If a prediction
/// depends on the other targets, each point is predicted by itself, unless a function is sampled.
class ModelSurrogate final : public Surrogate {
 public:
  /// The model and its row must live as long as this; it predicts one value.
  ModelSurrogate(const Model& model, const ModelInfo& info, std::int64_t tasks, ModelSurrogateOptions options);
  ~ModelSurrogate() override;

  std::int64_t tasks() const override { return tasks_; }
  std::int64_t dims() const override { return model_.dim_x(); }
  void observe(std::span<const double> x, std::span<const double> y) override;
  Belief believe(std::span<const double> x) const override;
  /// Computes slopes by the tape, or by differences of the fourth order if the model has no gradients of inputs.
  Judged judge(std::span<const double> x, const Judge& judge) const override;
  std::vector<double> sample(std::span<const double> x, Draws& draws) const override;
  bool samples_functions() const override;
  std::string name() const override { return info_.name; }

 private:
  Tensor tensor(std::vector<double> values, const Shape& shape) const;
  std::vector<double> inputs(std::span<const double> x) const;
  Context context(std::int64_t first, std::int64_t copies) const;
  Tensor places(std::span<const double> x) const;
  Marginals targets_alone(const Tensor& xt) const;
  Judged judge_by_differences(std::span<const double> x, const Judge& judge) const;
  Belief in_values(const Marginals& marginals) const;

  const Model& model_;
  const ModelInfo& info_;
  Device device_;
  std::int64_t tasks_;
  ModelSurrogateOptions options_;
  std::vector<Observations> seen_;     // of each task
  std::vector<double> shift_, scale_;  // of each task's values
  std::unique_ptr<ContextState> state_;
  bool sequential_ = false;  // whether it predicts targets one after the other
};

}  // namespace npzoo
