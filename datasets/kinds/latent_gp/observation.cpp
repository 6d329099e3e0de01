#include "npzoo/datasets/kinds/latent_gp/observation.h"

#include <algorithm>
#include <cmath>

namespace npzoo {

std::vector<double> Observation::parameters(double f) const {
  // Beyond these, counts and odds leave the range of float32.
  constexpr double kMost = 20;
  const double value = distribution == &student_t_distribution() ? f + offset : std::clamp(f + offset, -kMost, kMost);
  std::vector<double> all = before;
  if (classes == 0) {
    all.push_back(value);
  } else {
    for (std::int64_t k = 0; k < classes; ++k) {
      const double middle = -2 + 4 * static_cast<double>(k) / static_cast<double>(classes - 1);
      all.push_back(2 * middle * value - middle * middle);
    }
  }
  all.insert(all.end(), behind.begin(), behind.end());
  return all;
}

double Observation::draw(double f, double level) const {
  constexpr double kLeast = 0x1p-54, kEdge = 1e-6;
  const double y = distribution->quantile(parameters(f), std::max(level, kLeast));
  return distribution == &beta_distribution() ? std::clamp(y, kEdge, 1 - kEdge) : y;
}

Observation read_observation(TomlReader& data) {
  constexpr NumberRule kInside{[](double x) { return 1e-6 <= x && x <= 1 - 1e-6; }, "a number between 0 and 1"};
  constexpr NumberRule kOffset{[](double x) { return std::abs(x) <= 20; }, "a number from -20 to 20"};
  constexpr NumberRule kScale{[](double x) { return 1e-6 <= x && x <= 3; }, "a number from 1e-6 to 3"};
  constexpr NumberRule kDegrees{[](double x) { return 1 <= x && x <= 1e6; }, "a number from 1 to 1e6"};
  constexpr NumberRule kShape{[](double x) { return 1e-3 <= x && x <= 1e6; }, "a number from 0.001 to 1e6"};
  std::vector<std::string_view> names;
  for (const Distribution* d : distributions()) names.push_back(d->name());
  const std::string name = data.choice("observed", "distribution of the values given the function", names);
  Observation o;
  o.distribution = find_distribution(name);
  o.offset = data.number("offset", "added to the function", kOffset);
  if (name.starts_with("zero-inflated")) {
    const double zeros = data.number("zeros", "probability of an additional zero", kInside);
    o.before = {std::log(zeros / (1 - zeros))};
  }
  if (name == "student-t" || name.ends_with("log-normal"))
    o.behind.push_back(data.number("scale", "scale of the values around the function", kScale));
  if (name == "student-t") o.behind.push_back(data.number("degrees", "degrees of freedom", kDegrees));
  if (name == "beta") o.behind.push_back(std::log(data.number("precision", "sum of both shape parameters", kShape)));
  if (name.ends_with("negative-binomial"))
    o.behind.push_back(std::log(data.number("size", "the variance is mean + mean² / size", kShape)));
  if (name == "categorical") o.classes = data.integer("classes", "number of classes", 2, 1024);
  return o;
}

}  // namespace npzoo
