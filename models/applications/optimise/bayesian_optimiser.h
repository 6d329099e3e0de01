#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "npzoo/models/applications/optimise/beliefs.h"
#include "npzoo/models/applications/optimise/gp_surrogate.h"
#include "npzoo/models/applications/optimise/model_surrogate.h"
#include "npzoo/models/applications/optimise/propose.h"
#include "npzoo/models/applications/optimise/search_space.h"

// Bayesian optimisation of an objective that is expensive to evaluate:
//
//     BayesianOptimiser optimiser(SearchSpace({{.name = "rate", .low = 1e-5, .high = 0.1, .logarithmic = true}}));
//     for (int i = 0; i < 20; ++i) {
//       const std::vector<double> point = optimiser.ask().points.front().values;
//       const double value = objective(point);
//       optimiser.tell(point, std::span(&value, 1));
//     }

namespace npzoo {

/// The surrogate of default_surrogate.
struct DefaultSurrogate {};
/// Trained weights of one value and as many inputs as axes vary.
struct WeightsSurrogate {
  std::string weights;  // path or name, such as "npzoo/any-1d"
};
/// A model in memory, of one value and as many inputs as axes vary.
struct OwnModelSurrogate {
  std::shared_ptr<const Model> model;
  ModelInfo info;  // name, density and input_gradients count
  TrainingRange range{};
  DType dtype = DType::float32;  // of its parameters
};
/// A Gaussian process whose hyper-parameters are fitted to the evaluations.
struct FittedGp {
  KernelKind kernel = KernelKind::matern52;  // see can_be_fitted
};
using SurrogateChoice = std::variant<DefaultSurrogate, WeightsSurrogate, OwnModelSurrogate, FittedGp>;

/// A surrogate, and the reason if it does not use weights; empty if no reason is needed.
struct ReasonedSurrogate {
  SurrogateChoice choice;
  std::string reason{};
};
/// Weights for one input, and a fitted Gaussian process otherwise: for two inputs it finds better points than the
/// weights, for three they were not tried and for more there are none, Thompson's rule needs sampled functions, which
/// the weights do not provide, and weights know no choices.
ReasonedSurrogate default_surrogate(const SearchSpace& space, BatchRule batch);

struct BayesianOptions {
  bool maximise = false;
  Acquisition acquisition{};
  BatchRule batch = BatchRule::fantasies;  // of several points
  SurrogateChoice surrogate{};
  std::uint64_t seed = 0;  // of the design and of everything drawn
  /// Called by `ask` with the number of points proposed so far and of all.
  std::function<void(std::int64_t done, std::int64_t all)> progress{};
  std::stop_token stop{};  // `ask` and `beliefs` throw Interrupted after a request
};

/// A point to evaluate next.
struct ProposedPoint {
  std::vector<double> values;           // of each axis of the space
  std::vector<double> unit;             // (D), the same in the unit cube
  std::optional<double> mean{}, std{};  // expected value of the objective; none in the initial design
  std::optional<double> acquisition{};  // none in the initial design and under Thompson's rule
};

/// An evaluated point and the expected value of the objective there.
struct RecommendedPoint {
  std::vector<double> values;  // of each axis of the space
  double mean = 0, std = 0;
};

struct Proposals {
  std::vector<ProposedPoint> points;  // fewer than requested if no others are left
  /// The evaluated point of the best expected value: with noise a better answer than the best value, which was lucky.
  /// None in the initial design.
  std::optional<RecommendedPoint> recommended{};
  std::string by;      // "sobol" for the initial design, "gp", or the model's name
  std::string note{};  // why the default surrogate is a Gaussian process, if that needs a reason
};

/// Proposes where to evaluate an objective, given the evaluations so far. A proposed point is pending until its value
/// is told: it is not proposed again, and later proposals assume its expected value. Proposals are a function of the
/// options, of the evaluations in their order and of the pending points in theirs. Calls of one object must not
/// overlap.
class BayesianOptimiser {
 public:
  /// Reads no weights yet. Throws Error for a kernel that cannot be fitted.
  explicit BayesianOptimiser(SearchSpace space, BayesianOptions options = {});
  ~BayesianOptimiser();
  BayesianOptimiser(BayesianOptimiser&&) noexcept;
  BayesianOptimiser& operator=(BayesianOptimiser&&) noexcept;

  const SearchSpace& space() const { return space_; }
  const BayesianOptions& options() const { return options_; }
  /// Evaluations told so far, including those that failed.
  std::int64_t evaluations() const { return observed_.evaluations(); }
  /// The points that are being evaluated (n, axes), in the axes' units.
  std::vector<double> pending() const;

  /// Adds evaluations: points (n, axes) in the axes' units, values (n). A value that is NaN stands for an evaluation
  /// that failed. Points that were pending are so no longer. Throws Error, and adds none, for a point outside of the
  /// space, a value beyond 1e150 and more than kMostEvaluations in all.
  void tell(std::span<const double> points, std::span<const double> values);

  /// Adds points (n, axes) that others proposed and that are being evaluated; those that are known already change
  /// nothing. Throws Error, and adds none, as `tell` does.
  void wait_for(std::span<const double> points);
  /// Forgets all pending points, which may then be proposed again.
  void forget_pending();

  /// Returns the next `count` points, which are then pending: first those of a space-filling design (design_size), then
  /// those with the largest acquisition. A pending point is not returned again; an evaluated one only if values are
  /// noisy (see `propose`). Throws Error if every point of the space is known or pending and values are not noisy, if
  /// weights do not fit the space, and as `propose` does.
  Proposals ask(std::int64_t count = 1);

  /// The surrogate's beliefs, for pictures. Throws Error without an evaluation that has a value.
  Beliefs beliefs();

 private:
  struct Answering;
  Answering& answering();
  Proposals ask_design(const ProposalOptions& options) const;
  Proposals ask_surrogate(const ProposalOptions& options);

  SearchSpace space_;
  BayesianOptions options_;
  Observations observed_;
  std::unique_ptr<Answering> answering_;  // none before it is needed
};

}  // namespace npzoo
