#include "models/training/evaluation.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "datasets/gp/oracle.h"
#include "engine/parallel.h"
#include "engine/tape.h"
#include "ops/random_feature_attention/random_feature_attention.h"

namespace npzoo {

namespace {

/// Central intervals: per cent of the probability, and half their width in standard deviations.
constexpr std::array<std::pair<int, double>, 4> kIntervals{
    {{50, 0.674489750196082}, {80, 1.281551565544600}, {90, 1.644853626951473}, {95, 1.959963984540054}}};

/// CRPS of a standard normal at z, in units of the standard deviation (Gneiting and Raftery, JASA 2007, equation 21).
double standard_crps(double z) {
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  const double cdf = std::erfc(-z / std::numbers::sqrt2) / 2;
  return z * (2 * cdf - 1) + 2 * density - std::numbers::inv_sqrtpi;
}

class Scores {
 public:
  void add(const Prediction& prediction, const Tensor& y) {
    const auto on_host = [](const Tensor& x) { return x.to(Device::cpu).to(DType::float64); };
    const Tensor mean = on_host(prediction.mean), std = on_host(prediction.std), target = on_host(y);
    const auto ll = log_likelihood({mean, std}, target);
    const auto means = mean.values<double>(), deviations = std.values<double>(), targets = target.values<double>();
    double sum = 0;
    for (double value : ll.values<double>()) sum += value;
    add_batch(sum / static_cast<double>(ll.numel()));
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const double s = deviations[i], z = (targets[i] - means[i]) / s;
      crps_ += s * standard_crps(z);
      for (std::size_t k = 0; k < kIntervals.size(); ++k) inside_[k] += std::abs(z) <= kIntervals[k].second;
    }
    values_ += target.numel();
    tasks_ += target.dim(0);
  }

  Evaluation result() const {
    Evaluation e;
    const auto n = static_cast<double>(batches_), values = static_cast<double>(values_);
    e.log_likelihood = mean_;
    e.standard_error = batches_ > 1 ? std::sqrt(squares_ / (n - 1) / n) : std::numeric_limits<double>::quiet_NaN();
    for (std::size_t k = 0; k < kIntervals.size(); ++k)
      e.coverage[kIntervals[k].first] = static_cast<double>(inside_[k]) / values;
    e.crps = crps_ / values;
    e.tasks = tasks_;
    return e;
  }

 private:
  void add_batch(double value) {  // Welford
    ++batches_;
    const double delta = value - mean_;
    mean_ += delta / static_cast<double>(batches_);
    squares_ += delta * (value - mean_);
  }

  std::int64_t batches_ = 0, values_ = 0, tasks_ = 0;
  double mean_ = 0, squares_ = 0, crps_ = 0;
  std::array<std::int64_t, kIntervals.size()> inside_{};
};

struct ScoredBatch {
  Prediction prediction;
  Tensor y;
  double exact_gp = 0;
};

}  // namespace

Evaluation evaluate(const Model& model, const GpSampler& sampler, const EvaluationOptions& options) {
  check(options.batches >= 1, "[evaluate] {} batches asked for, expected 1 or more", options.batches);
  constexpr std::int64_t kTogether = 16;
  const std::int64_t exact_batches = std::min(options.exact_batches, options.batches);
  const std::int64_t clamped_before = clamped_denominators();
  Scores scores;
  double exact_sum = 0;
  for (std::int64_t first = 0; first < options.batches; first += kTogether) {
    std::vector<ScoredBatch> scored(std::min(kTogether, options.batches - first));
    const auto score = [&](std::int64_t i, std::int64_t) {
      const NoGrad off;
      const GpBatch batch = sampler.batch(static_cast<std::uint64_t>(first + i));
      scored[i] = {model.predict(batch.task), batch.task.yt,
                   first + i < exact_batches ? exact_marginal_log_likelihood(batch) : 0};
    };
    if (sampler.device() == Device::cpu)
      thread_pool().for_range(std::ssize(scored), 1, score);
    else  // a CUDA device has one stream of work
      for (std::int64_t i = 0; i < std::ssize(scored); ++i) score(i, i + 1);
    for (std::int64_t i = 0; i < std::ssize(scored); ++i) {
      scores.add(scored[i].prediction, scored[i].y);
      exact_sum += scored[i].exact_gp;
      if (options.progress) options.progress(first + i + 1);
    }
  }
  Evaluation result = scores.result();
  result.std_floor = model.std_floor();
  result.clamped_denominators = clamped_denominators() - clamped_before;
  result.exact_batches = exact_batches;
  result.exact_gp =
      exact_batches > 0 ? exact_sum / static_cast<double>(exact_batches) : std::numeric_limits<double>::quiet_NaN();
  return result;
}

}  // namespace npzoo
