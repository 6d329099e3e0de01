#pragma once

#include <optional>
#include <vector>

#include "npzoo/models/prediction.h"
#include "npzoo/models/taylor/taylor_features.h"
#include "npzoo/models/taylor/taylor_stream.h"

namespace npzoo {

struct TaylorformerConfig {
  TaylorFeaturesConfig features;
  std::int64_t heads = 1, head_width = 1, width = 32, layers = 2;
  StdForm std;
  bool inputs_alone = true;              // a second stream of attention, which sees inputs alone
  double dropout = 0;                    // within the networks, in training
  std::int64_t permutation_repeats = 0;  // in how many drawn orders of the targets a task is trained on at a time
};

/// A context and targets that came before, encoded.
struct TaylorformerState;

/// Taylorformer (Nivron, Parthipan and Wischik, "Taylorformer: probabilistic modelling for random processes including
/// time series", 2023), github.com/oremnirv/Taylorformer @dfd0e1d: targets one after the other, each relative to the
/// Taylor expansion around the nearest point that came before. One stream of attention sees inputs, values and
/// derivatives, the other inputs alone, and attends to the values themselves in its last layer.
///
/// The density of all targets takes one pass (teacher-forced); paths are drawn by extending cached keys and values.
/// Derivatives are normalised over the whole batch in training (Model::prepared), by running statistics afterwards.
/// Corrected: a point is never its own neighbour, so points that are given twice tell nothing of their own value.
///
/// With `permutation_repeats` n ≥ 1 the loss is the mean over n orders of the targets, uniform and drawn for each task
/// and step, and derivatives are normalised over all of them. The given order is not one of them, as in the authors'
/// code: the paper maximises the expectation over orders (section 3.3). Corrected: theirs shuffles inputs and values
/// apart from each other, once for a batch, and compares with the values as they were.
///
/// Deviations are 1e-3 more than the network's, as in the authors' losses.
///
/// For the ablations of the paper (section 4.3, figure 5) either contribution can be left out: the expansions and the
/// features of neighbours, so that a point has its place and its value alone, and the stream of inputs alone.
class Taylorformer final : public Model {
 public:
  Taylorformer(const TaylorformerConfig& config, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  /// Mean negative log-likelihood of each channel of the targets, given the values of those before.
  Tensor loss(const Task& task, Draws& draws) const override;
  Task prepared(const Task& task, const Draws& draws) const override;
  void before_step(const Task& task, const Draws& draws) override;
  void visit(ModuleVisitor& visitor) override;

  std::optional<double> std_floor() const override { return config_.std.least(); }
  std::int64_t dim_x() const override { return config_.features.dim_x; }
  std::int64_t dim_y() const override { return config_.features.dim_y; }

  /// Predicts the targets of a task, each given those before. Derivatives are normalised by the task's own statistics
  /// or those of its batch. `inputs`, if given, becomes the features of context and targets.
  Moments in_training(const Task& task, Draws& draws, TaylorInputs* inputs = nullptr) const;
  /// The same in evaluation.
  Moments teacher_forced(const Task& task, Draws& draws, TaylorInputs* inputs = nullptr) const;

  TaylorFeatures features;
  std::optional<TaylorStream> x_stream;
  TaylorStream xy_stream;
  Linear join;             // (E, 2 E), or (E, E) of one stream
  Linear mean, deviation;  // (Dy, E)

 private:
  class Targets;

  /// A task with its targets in some order, and its points.
  struct Arranged {
    std::vector<Task> tasks;
    std::vector<TaylorPoints> points;
  };

  /// Context and targets with their values; draws what is added to neighbours.
  TaylorPoints points_of(const Task& task, Draws& draws) const;
  /// All that training on a task draws, apart from what is dropped.
  Arranged arranged(const Task& task, Draws& draws) const;
  Moments of_targets(const TaylorPoints& points, const Tensor& statistics, const Dropping& dropping,
                     TaylorInputs* inputs = nullptr) const;
  /// Computes moments from encoded targets (R, n, E) of both streams, the first undefined if there is one; anchor
  /// (R, n, Dy).
  Moments head(const Tensor& x, const Tensor& xy, const Tensor& anchor) const;

  TaylorformerConfig config_;
};

}  // namespace npzoo
