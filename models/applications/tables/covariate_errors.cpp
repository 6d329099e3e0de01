#include "npzoo/models/applications/tables/covariate_errors.h"

#include <algorithm>
#include <cmath>

#include "npzoo/models/applications/tables/place_samples.h"

namespace npzoo {

namespace {

/// The places at which a covariate was predicted.
struct UncertainPlaces {
  std::vector<std::size_t> places{};
  std::vector<double> x{};  // their inputs
  std::vector<std::uint32_t> groups{};

  UncertainPlaces(const FillData& data, const TableQuestion& question, std::size_t covariate) {
    const auto dim_x = static_cast<std::size_t>(data.dim_x), count = static_cast<std::size_t>(data.covariates);
    for (std::size_t i = 0; i < question.targets.size() / dim_x; ++i) {
      if (data.covariate_std[i * count + covariate] == 0) continue;
      places.push_back(i);
      const auto own = question.targets.subspan(i * dim_x, dim_x);
      x.insert(x.end(), own.begin(), own.end());
      if (!question.target_groups.empty()) groups.push_back(question.target_groups[i]);
    }
  }
};

}  // namespace

std::vector<std::vector<double>> covariate_variances(SeriesMethod& method, const TrainingRange& range,
                                                     const FillData& data, const TableQuestion& question) {
  if (data.covariate_std.empty()) return {};
  const auto dim_x = static_cast<std::size_t>(data.dim_x), count = static_cast<std::size_t>(data.covariates);
  std::vector<std::vector<double>> variances(question.y.size(), std::vector<double>(question.targets.size() / dim_x));
  for (std::size_t c = 0; c < count; ++c) {
    const UncertainPlaces uncertain(data, question, c);
    if (uncertain.places.empty()) continue;
    const auto means = [&](double sign) {
      std::vector<double> x = uncertain.x;
      for (std::size_t k = 0; k < uncertain.places.size(); ++k)
        x[k * dim_x + dim_x - count + c] += sign * data.covariate_std[uncertain.places[k] * count + c];
      TableQuestion moved = question;
      moved.targets = x;
      moved.target_groups = uncertain.groups;
      moved.truth.clear();
      moved.transforms.clear();
      return predict_table(method, range, data.dim_x, moved).columns;
    };
    const std::vector<PredictedColumn> above = means(1), below = means(-1);
    for (std::size_t v = 0; v < variances.size(); ++v)
      for (std::size_t k = 0; k < uncertain.places.size(); ++k)
        variances[v][uncertain.places[k]] += std::pow((above[v].mean[k] - below[v].mean[k]) / 2, 2);
  }
  return variances;
}

void add_errors_to_samples(const std::vector<std::vector<double>>& variances, std::span<const double> x,
                           std::uint64_t seed, FillResult& result) {
  if (result.samples == 0 || variances.empty()) return;
  const auto samples = static_cast<std::size_t>(result.samples);
  const std::size_t places = variances.front().size(), dim_x = x.size() / std::max<std::size_t>(places, 1);
  const PlaceSamples streams(seed + 1, {}, {});
  for (std::size_t i = 0; i < places; ++i) {
    if (std::ranges::all_of(variances, [i](const std::vector<double>& v) { return v[i] == 0; })) continue;
    Random random = streams.stream(x.subspan(i * dim_x, dim_x));
    for (std::size_t v = 0; v < variances.size(); ++v)
      for (std::size_t s = 0; s < samples; ++s) {
        double& sample = result.columns[v].samples[i * samples + s];
        const ValueTransform& transform = result.transforms[v];
        const double error = std::sqrt(variances[v][i]) * random.normal();
        sample = transform.active() ? transform.inverse(transform.forward(sample) + error) : sample + error;
      }
  }
}

}  // namespace npzoo
