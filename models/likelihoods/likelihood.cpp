#include "npzoo/models/likelihoods/likelihood.h"

#include <string>
#include <vector>

#include "npzoo/models/predictions/host.h"

namespace npzoo {

std::int64_t Likelihood::parameters() const {
  if (gaussian()) return 2;
  const auto fixed = static_cast<std::int64_t>(distribution->parameters());
  return fixed > 0 ? fixed : classes;
}

Likelihood read_likelihood(ConfigReader& reader) {
  std::vector<std::string_view> names{"gaussian"};
  for (const Distribution* d : distributions()) names.push_back(d->name());
  Likelihood likelihood{find_distribution(
      reader.choice("likelihood", "distribution of values that the outputs describe", names, "gaussian"))};
  if (!likelihood.gaussian() && likelihood.distribution->parameters() == 0)
    likelihood.classes = reader.integer("classes", "number of classes; values are their numbers from 0", 2, 1024);
  return likelihood;
}

namespace {

/// The first `lengths` points of each row of y (B, N, Dy).
void check_values(const Likelihood& likelihood, const Tensor& y, const Tensor& lengths, const char* part) {
  const Tensor here = on_host(y);
  const std::int64_t points = y.dim(1), width = y.dim(2);
  const auto count = static_cast<std::size_t>(likelihood.parameters());
  for (std::int64_t b = 0; b < y.dim(0); ++b) {
    const std::int64_t real = lengths.defined() ? lengths.values<std::int64_t>()[static_cast<std::size_t>(b)] : points;
    for (std::int64_t i = 0; i < real * width; ++i) {
      const double value = here.values<double>()[static_cast<std::size_t>(b * points * width + i)];
      check(likelihood.distribution->supports(count, value),
            "[likelihood] value {} of {} point {}, channel {}, of task {} found, expected {}, as likelihood = \"{}\" "
            "needs",
            value, part, i / width + 1, i % width + 1, b + 1, likelihood.distribution->support(count),
            likelihood.distribution->name());
    }
  }
}

}  // namespace

void check_support(const Likelihood& likelihood, const Task& task) {
  if (likelihood.gaussian()) return;
  check_values(likelihood, task.yc, task.lengths, "context");
  check_values(likelihood, task.yt, task.target_lengths, "target");
}

}  // namespace npzoo
