#include "npzoo/models/applications/optimise/bayesian_optimiser.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "npzoo/engine/error.h"
#include "npzoo/models/applications/application_call.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/checkpoint.h"
#include "npzoo/models/training/named_weights.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMostInputsOfWeights = 1;  // for two a fitted Gaussian process finds better points
constexpr std::int64_t kMostInputsOfTables = 3;   // that there are weights for

void check_numbers(const SearchSpace& space) {
  for (std::int64_t d = 0; d < space.dims(); ++d)
    check(!space.input(d).categorical(),
          "[optimise] axis {} has choices, which weights do not know, expected a Gaussian process",
          space.input(d).name);
}

OwnModelSurrogate load_surrogate(const std::string& weights, std::int64_t dims) {
  const Checkpoint checkpoint = load_checkpoint(find_weights(weights));
  const TrainingRun& run = checkpoint.run;
  std::shared_ptr<const Model> model = restore_model(checkpoint);
  check(model->dim_x() == dims, "[optimise] {} axes that vary found, {} trained under {} takes {} inputs", dims,
        run.spec.name, run.protocol.name, model->dim_x());
  return {std::move(model), model_info(run.spec.name), run.protocol.data->training_range()};
}

}  // namespace

ReasonedSurrogate default_surrogate(const SearchSpace& space, BatchRule batch) {
  const std::int64_t dims = space.dims();
  if (batch == BatchRule::thompson)
    return {FittedGp(), "a Gaussian process makes the predictions: the weights for tables do not sample functions"};
  if (dims > kMostInputsOfTables)
    return {FittedGp(), fmt::format("a Gaussian process makes the predictions: no weights take {} inputs", dims)};
  if (dims > kMostInputsOfWeights || space.has_categories()) return {FittedGp()};
  return {WeightsSurrogate{default_weights(dims)}};
}

/// A middle one of the observed values. Surrogates get values minus this one, so that values far from 0 lose no digits
/// and have the proposals of values near 0.
double middle_value(const Observations& seen) {
  std::vector<double> y = seen.y;
  const auto middle = y.begin() + std::ssize(y) / 2;
  std::ranges::nth_element(y, middle);
  return *middle;
}

Observations centred_values(Observations seen, double origin) {
  for (double& y : seen.y) y -= origin;
  return told_values(seen);
}

/// What the origin of values adds to their acquisition: a bound has their units, others are differences.
double acquisition_of_origin(AcquisitionKind kind, double origin) {
  return kind == AcquisitionKind::confidence_bound ? -origin : 0;
}

/// Moves beliefs about centred values to those of the objective.
void move_beliefs(Beliefs& beliefs, double origin, bool maximise) {
  const auto move = [](std::vector<double>& all, double by) {
    for (double& value : all) value += by;
  };
  const double of_objective = maximise ? -origin : origin;
  const auto move_values = [&](BeliefValues& values) {
    move(values.mean, of_objective);
    move(values.acquisition, acquisition_of_origin(beliefs.acquisition, origin));
  };
  if (beliefs.map) move_values(beliefs.map->values);
  for (BeliefLine& line : beliefs.lines) move_values(line.values);
}

/// The first `count` points of `seen` are the evaluations that have values.
RecommendedPoint best_expected(const SearchSpace& space, const Observations& seen, std::int64_t count,
                               const Surrogate& surrogate) {
  const auto dims = static_cast<std::size_t>(seen.dims);
  const std::span<const double> x = std::span(seen.x).first(static_cast<std::size_t>(count) * dims);
  const BeliefMoments expected = moments_of(surrogate.believe(x));
  const auto best = static_cast<std::size_t>(std::ranges::min_element(expected.mean) - expected.mean.begin());
  return {space.values(x.subspan(best * dims, dims)), expected.mean[best], expected.std[best]};
}

/// The surrogate, and the model that it asks, which is loaded once.
struct BayesianOptimiser::Answering {
  ReasonedSurrogate chosen;
  std::optional<OwnModelSurrogate> model{};
  std::vector<std::int64_t> categories;    // of the space
  double origin = 0;                       // of the surrogate's values
  std::unique_ptr<Surrogate> surrogate{};  // has learnt all observations; none after new observations

  Answering(const SearchSpace& space, const BayesianOptions& options)
      : chosen{options.surrogate}, categories(space.categories()) {
    if (std::holds_alternative<DefaultSurrogate>(chosen.choice)) chosen = default_surrogate(space, options.batch);
    if (!std::holds_alternative<FittedGp>(chosen.choice)) check_numbers(space);
    if (const auto* weights = std::get_if<WeightsSurrogate>(&chosen.choice))
      model = load_surrogate(weights->weights, space.dims());
    if (const auto* own = std::get_if<OwnModelSurrogate>(&chosen.choice)) model = *own;
  }

  std::unique_ptr<Surrogate> make(std::int64_t dims, std::uint64_t seed) const {
    if (!model) return std::make_unique<GpSurrogate>(1, dims, std::get<FittedGp>(chosen.choice).kernel, categories);
    ModelSurrogateOptions options{.range = model->range, .seed = seed, .dtype = model->dtype};
    return std::make_unique<ModelSurrogate>(*model->model, model->info, 1, std::move(options));
  }
};

BayesianOptimiser::BayesianOptimiser(SearchSpace space, BayesianOptions options)
    : space_(std::move(space)), options_(std::move(options)), observed_{.dims = space_.dims()} {
  if (const auto* gp = std::get_if<FittedGp>(&options_.surrogate))
    check(can_be_fitted(gp->kernel), "[optimise] a kernel {} found, expected rbf, matern32 or matern52",
          to_string(gp->kernel));
  if (const auto* own = std::get_if<OwnModelSurrogate>(&options_.surrogate))
    check(own->model && own->model->dim_x() == space_.dims(), "[optimise] {} axes that vary found, {} takes {} inputs",
          space_.dims(), own->info.name, own->model ? own->model->dim_x() : 0);
}

BayesianOptimiser::~BayesianOptimiser() = default;
BayesianOptimiser::BayesianOptimiser(BayesianOptimiser&&) noexcept = default;
BayesianOptimiser& BayesianOptimiser::operator=(BayesianOptimiser&&) noexcept = default;

void BayesianOptimiser::tell(std::span<const double> points, std::span<const double> values) {
  return with_errors([&] {
    const std::size_t axes = space_.axes().size();
    check(points.size() == values.size() * axes,
          "[optimise] {} coordinates and {} values found, expected {} coordinates for each value", points.size(),
          values.size(), axes);
    check(evaluations() + std::ssize(values) <= kMostEvaluations,
          "[optimise] {} evaluations found, expected at most {}", evaluations() + std::ssize(values), kMostEvaluations);
    const auto point = [&](std::size_t i) { return points.subspan(i * axes, axes); };
    for (std::size_t i = 0; i < values.size(); ++i)
      check_evaluation(space_, point(i), values[i], fmt::format("optimise: evaluation {}", i + 1));
    for (std::size_t i = 0; i < values.size(); ++i)
      add_evaluation(space_, point(i), values[i], options_.maximise, observed_);
    if (answering_) answering_->surrogate.reset();
  });
}

void BayesianOptimiser::wait_for(std::span<const double> points) {
  return with_errors([&] {
    const std::size_t axes = space_.axes().size();
    check(points.size() % axes == 0, "[optimise] {} coordinates found, expected {} for each point", points.size(),
          axes);
    const auto all = evaluations() + observed_.waiting() + static_cast<std::int64_t>(points.size() / axes);
    check(all <= kMostEvaluations, "[optimise] {} evaluations and pending points found, expected at most {}", all,
          kMostEvaluations);
    for (std::size_t i = 0; i < points.size(); i += axes)
      space_.check_values(points.subspan(i, axes), fmt::format("optimise: pending point {}", i / axes + 1));
    for (std::size_t i = 0; i < points.size(); i += axes) add_pending(space_.unit(points.subspan(i, axes)), observed_);
  });
}

void BayesianOptimiser::forget_pending() { observed_.pending.clear(); }

std::vector<double> BayesianOptimiser::pending() const {
  const auto dims = static_cast<std::size_t>(space_.dims());
  std::vector<double> points;
  for (std::size_t i = 0; i < observed_.pending.size(); i += dims) {
    const std::vector<double> values = space_.values(std::span(observed_.pending).subspan(i, dims));
    points.insert(points.end(), values.begin(), values.end());
  }
  return points;
}

BayesianOptimiser::Answering& BayesianOptimiser::answering() {
  if (!answering_) answering_ = std::make_unique<Answering>(space_, options_);
  if (!answering_->surrogate) {
    answering_->origin = middle_value(observed_);
    const Observations seen = centred_values(observed_, answering_->origin);
    std::unique_ptr<Surrogate> surrogate = answering_->make(space_.dims(), options_.seed);
    surrogate->observe(seen.x, seen.y);
    surrogate->learn();
    answering_->surrogate = std::move(surrogate);
  }
  return *answering_;
}

Proposals BayesianOptimiser::ask(std::int64_t count) {
  return call_application(options_.stop, nullptr, [&] {
    check(count >= 1, "[optimise] {} points to propose found, expected 1 or more", count);
    const ProposalOptions options{.count = count,
                                  .acquisition = options_.acquisition,
                                  .batch = options_.batch,
                                  .seed = options_.seed,
                                  .progress = options_.progress};
    const bool design = observed_.size() == 0 || observed_.evaluations() + observed_.waiting() < design_size(space_);
    Proposals result = design ? ask_design(options) : ask_surrogate(options);
    if (const auto points = result.points.empty() ? finished(space_, observed_) : std::nullopt)
      fail("[optimise] all {} points are known{}", *points, observed_.pending.empty() ? "" : " or pending");
    for (const ProposedPoint& p : result.points)
      observed_.pending.insert(observed_.pending.end(), p.unit.begin(), p.unit.end());
    return result;
  });
}

Proposals BayesianOptimiser::ask_design(const ProposalOptions& options) const {
  Proposals result{.points = {}, .by = "sobol"};
  for (Proposal& p : propose_by_design(space_, observed_, options))
    result.points.push_back({.values = space_.values(p.x), .unit = std::move(p.x)});
  if (options.progress) options.progress(std::ssize(result.points), options.count);
  return result;
}

Proposals BayesianOptimiser::ask_surrogate(const ProposalOptions& options) {
  Answering& by = answering();
  const double origin = by.origin, sign = options_.maximise ? -1 : 1;
  Proposals result{.points = {}, .by = by.surrogate->name(), .note = by.chosen.reason};
  // The surrogate may learn fantasies, which are not observations.
  const std::unique_ptr<Surrogate> surrogate = std::move(by.surrogate);
  const Observations seen = centred_values(observed_, origin);
  result.recommended = best_expected(space_, seen, observed_.size(), *surrogate);
  result.recommended->mean = sign * (result.recommended->mean + origin);
  for (Proposal& p : propose(*surrogate, space_, seen, options)) {
    ProposedPoint point{
        .values = space_.values(p.x), .unit = std::move(p.x), .mean = sign * (p.mean + origin), .std = p.std};
    if (options_.batch != BatchRule::thompson)
      point.acquisition = p.acquisition + acquisition_of_origin(options_.acquisition.kind, origin);
    result.points.push_back(std::move(point));
  }
  return result;
}

Beliefs BayesianOptimiser::beliefs() {
  return call_application(options_.stop, nullptr, [&] {
    check(observed_.size() > 0, "[optimise] nothing was observed so far, expected one value or more");
    const Answering& by = answering();
    Beliefs beliefs = describe_beliefs(space_, centred_values(observed_, by.origin), *by.surrogate,
                                       options_.acquisition, options_.maximise);
    move_beliefs(beliefs, by.origin, options_.maximise);
    beliefs.values = told_values(observed_).y;
    if (options_.maximise)
      for (double& value : beliefs.values) value = -value;
    beliefs.note = by.chosen.reason;
    return beliefs;
  });
}

}  // namespace npzoo
