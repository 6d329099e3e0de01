#include "npzoo/models/applications/gaussian_process/gp_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/checked_product.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr auto kFactorNames = std::to_array<std::pair<GpFactor, std::string_view>>({
    {GpFactor::matern12, "matern-1/2"},
    {GpFactor::matern32, "matern-3/2"},
    {GpFactor::matern52, "matern-5/2"},
    {GpFactor::rbf, "rbf"},
    {GpFactor::periodic, "periodic"},
    {GpFactor::linear, "linear"},
});

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char sign) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at != std::string_view::npos;) {
    const std::size_t end = text.find(sign, at);
    parts.push_back(trimmed(text.substr(at, end == std::string_view::npos ? end : end - at)));
    at = end == std::string_view::npos ? end : end + 1;
  }
  return parts;
}

GpFactor factor_named(std::string_view name, std::string_view kernel) {
  for (const auto& [factor, known] : kFactorNames)
    if (known == name) return factor;
  fail(
      "[gp] kernel '{}' found, expected sums and products of matern-1/2, matern-3/2, matern-5/2, rbf, periodic and "
      "linear, such as 'matern-3/2 * periodic + linear'",
      kernel);
}

bool has_lengthscales(GpFactor factor) { return factor != GpFactor::periodic && factor != GpFactor::linear; }

}  // namespace

CorrelationSlope correlation_slope(GpFactor factor, double square) {
  const double r = std::sqrt(square);
  switch (factor) {
    case GpFactor::matern12: {
      const double e = std::exp(-r);
      return {e, r > 0 ? -0.5 * e / r : 0};
    }
    case GpFactor::matern32: {
      const double e = std::exp(-std::sqrt(3.0) * r);
      return {(1 + std::sqrt(3.0) * r) * e, -1.5 * e};
    }
    case GpFactor::matern52: {
      const double s = std::sqrt(5.0) * r, e = std::exp(-s);
      return {(1 + s + s * s / 3) * e, -5.0 / 6 * (1 + s) * e};
    }
    default: {
      const double e = std::exp(-0.5 * square);
      return {e, -0.5 * e};
    }
  }
}

GpKernel GpKernel::parse(std::string_view text) {
  GpKernel kernel;
  for (const std::string_view term : split(text, '+')) {
    kernel.terms.emplace_back();
    for (const std::string_view name : split(term, '*')) kernel.terms.back().push_back(factor_named(name, text));
  }
  return kernel;
}

std::string GpKernel::text() const {
  std::string text;
  for (const std::vector<GpFactor>& term : terms) {
    if (!text.empty()) text += " + ";
    for (std::size_t i = 0; i < term.size(); ++i)
      text += fmt::format("{}{}", i == 0 ? "" : " * ",
                          std::ranges::find(kFactorNames, term[i], [](const auto& row) { return row.first; })->second);
  }
  return text;
}

GpCovariance::GpCovariance(GpKernel kernel, std::vector<std::size_t> group_of, std::vector<std::size_t> slope_of)
    : kernel_(std::move(kernel)), group_of_(std::move(group_of)), slope_of_(std::move(slope_of)) {
  check(!group_of_.empty() && group_of_.size() <= kMostGpInputs, "[gp] {} inputs found, expected 1 to {}",
        group_of_.size(), kMostGpInputs);
  for (const std::size_t group : group_of_)
    if (group != kMeanOnly) groups_ = std::max(groups_, group + 1);
  check(group_of_[0] != kMeanOnly, "[gp] the first input is in the mean alone, expected one of the kernel");
  using Kind = GpParameter::Kind;
  for (std::size_t t = 0; t < kernel_.terms.size(); ++t) {
    Term& term = terms_.emplace_back(Term{parameters_.size(), {}});
    parameters_.push_back({Kind::scale, t});
    for (const GpFactor factor : kernel_.terms[t]) {
      term.factors.push_back({factor, parameters_.size()});
      for (std::size_t g = 0; has_lengthscales(factor) && g < groups_; ++g)
        parameters_.push_back({Kind::lengthscale, t, g});
      if (factor == GpFactor::periodic) {
        parameters_.push_back({Kind::period, t, group_of_[0]});
        parameters_.push_back({Kind::roughness, t});
      }
    }
  }
  first_slope_ = parameters_.size();
  const std::size_t slopes = slope_of_.empty() ? 0 : std::ranges::max(slope_of_) + 1;
  for (std::size_t s = 0; s < slopes; ++s) parameters_.push_back({Kind::slope, 0, s});
  parameters_.push_back({Kind::noise, 0});
}

void GpCovariance::set(std::span<const double> logs) {
  check(logs.size() == parameters_.size(), "[gp] {} hyper-parameters found, {} needs {}", logs.size(), kernel_.text(),
        parameters_.size());
  values_.assign(logs.begin(), logs.end());
  for (double& value : values_) value = std::exp(value);
  inverse_ = values_;
  for (double& value : inverse_) value = 1 / (value * value);
}

std::vector<std::size_t> GpCovariance::slope_parameters() const {
  std::vector<std::size_t> numbers;
  for (const std::size_t s : slope_of_) numbers.push_back(first_slope_ + s);
  return numbers;
}

std::vector<double> GpCovariance::slope_deviations() const {
  std::vector<double> deviations;
  for (const std::size_t k : slope_parameters()) deviations.push_back(values_[k]);
  return deviations;
}

/// Sums the squared differences of each group.
void GpCovariance::squares(const double* a, const double* b, double* square) const {
  std::fill_n(square, groups_, 0.0);
  for (std::size_t d = 0; d < group_of_.size(); ++d) {
    if (group_of_[d] == kMeanOnly) continue;
    const double off = a[d] - b[d];
    square[group_of_[d]] += off * off;
  }
}

double GpCovariance::value_of(const Factor& factor, const double* square, const double* a, const double* b) const {
  if (factor.kind == GpFactor::linear) {
    double sum = 0;
    for (std::size_t d = 0; d < dims(); ++d) sum += group_of_[d] == kMeanOnly ? 0 : a[d] * b[d];
    return sum;
  }
  if (factor.kind == GpFactor::periodic) {
    const double sine = std::sin(std::numbers::pi * (a[0] - b[0]) / values_[factor.first]);
    return std::exp(-2 * sine * sine * inverse_[factor.first + 1]);
  }
  double scaled = 0;
  for (std::size_t g = 0; g < groups_; ++g) scaled += square[g] * inverse_[factor.first + g];
  return correlation_slope(factor.kind, scaled).value;
}

double GpCovariance::value_and_slopes(const Factor& factor, const double* square, const double* a, const double* b,
                                      double* d_log) const {
  if (factor.kind == GpFactor::linear) return value_of(factor, square, a, b);
  if (factor.kind == GpFactor::periodic) {
    const double angle = std::numbers::pi * (a[0] - b[0]) / values_[factor.first], sine = std::sin(angle);
    const double shrunk = inverse_[factor.first + 1], value = std::exp(-2 * sine * sine * shrunk);
    d_log[factor.first] = value * 4 * shrunk * sine * std::cos(angle) * angle;
    d_log[factor.first + 1] = value * 4 * shrunk * sine * sine;
    return value;
  }
  double scaled = 0;
  for (std::size_t g = 0; g < groups_; ++g) scaled += square[g] * inverse_[factor.first + g];
  const CorrelationSlope slope = correlation_slope(factor.kind, scaled);
  for (std::size_t g = 0; g < groups_; ++g)
    d_log[factor.first + g] = -2 * slope.d_square * square[g] * inverse_[factor.first + g];
  return slope.value;
}

double GpCovariance::operator()(const double* a, const double* b) const {
  std::array<double, kMostGpInputs> square;
  squares(a, b, square.data());
  double sum = 0;
  for (const Term& term : terms_) {
    double product = values_[term.scale] * values_[term.scale];
    for (const Factor& factor : term.factors) product *= value_of(factor, square.data(), a, b);
    sum += product;
  }
  return sum;
}

double GpCovariance::with_slopes(const double* a, const double* b, double* d_log) const {
  std::array<double, kMostGpInputs> square;
  squares(a, b, square.data());
  double sum = 0;
  for (const Term& term : terms_) {
    double product = values_[term.scale] * values_[term.scale];
    std::size_t end = term.scale + 1;  // behind the parameters of the factors so far
    for (const Factor& factor : term.factors) {
      const double value = value_and_slopes(factor, square.data(), a, b, d_log);
      const std::size_t own = has_lengthscales(factor.kind) ? groups_ : factor.kind == GpFactor::periodic ? 2 : 0;
      for (std::size_t k = term.scale + 1; k < end; ++k) d_log[k] *= value;
      for (std::size_t k = end; k < end + own; ++k) d_log[k] *= product;
      end += own;
      product *= value;
    }
    d_log[term.scale] = 2 * product;
    sum += product;
  }
  return sum;
}

std::vector<double> GpCovariance::between(std::span<const double> a, std::span<const double> b) const {
  const std::size_t n = a.size() / dims(), m = b.size() / dims();
  std::vector<double> k(checked_product(n, m));
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0 && i % 64 == 0) throw_if_stopped();
    for (std::size_t j = 0; j < m; ++j) k[i * m + j] = (*this)(&a[i * dims()], &b[j * dims()]);
  }
  return k;
}

std::vector<double> GpCovariance::shortest() const {
  std::vector<double> least(groups_, std::numeric_limits<double>::infinity());
  for (std::size_t k = 0; k < parameters_.size(); ++k)
    if (parameters_[k].kind == GpParameter::Kind::lengthscale)
      least[parameters_[k].group] = std::min(least[parameters_[k].group], values_[k]);
  for (double& l : least)
    if (std::isinf(l)) l = 1;
  return least;
}

}  // namespace npzoo
