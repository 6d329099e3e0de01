#include "npzoo/datasets/kinds/synthetic/process.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "npzoo/datasets/gaussian_processes/cholesky.h"
#include "npzoo/datasets/kinds/synthetic/draw.h"

namespace npzoo {

double Term::base_at(double squared_distance) const {
  if (base == Base::constant) return 1;
  if (base == Base::rbf) {
    double sum = 0;
    for (const auto& [l, weight] : scales) sum += weight * std::exp(-0.5 * squared_distance / (l * l));
    return sum;
  }
  const double r = std::sqrt(squared_distance) / scales[0].lengthscale;
  if (base == Base::matern12) return std::exp(-r);
  if (base == Base::matern32) return (1 + std::sqrt(3.0) * r) * std::exp(-std::sqrt(3.0) * r);
  return (1 + std::sqrt(5.0) * r + 5 * r * r / 3) * std::exp(-std::sqrt(5.0) * r);
}

double Term::cycle_at(double difference) const {
  if (harmonics.empty()) return 1;
  const double angle = 2 * std::numbers::pi * difference / period, cosine = std::cos(angle);
  double sum = harmonics[0], before = 1, here = cosine;  // Chebyshev's recurrence
  for (std::size_t k = 1; k < harmonics.size(); ++k) {
    sum += harmonics[k] * here;
    before = std::exchange(here, 2 * cosine * here - before);
  }
  return sum;
}

double Term::modulation_at(double t) const {
  if (modulation == Modulation::linear) return t - origin;
  return modulation == Modulation::none || t >= origin ? 1 : 0;
}

double Term::along(const double* x, std::int64_t dims) const {
  return direction.empty() ? x[0] : std::inner_product(x, x + dims, direction.begin(), 0.0);
}

double Term::squared_distance(const double* a, const double* b, std::int64_t dims) const {
  double sum = 0;
  for (std::int64_t k = 0; k < dims; ++k) {
    const double d = stretch.empty() ? a[k] - b[k] : (a[k] - b[k]) / stretch[k];
    sum += d * d;
  }
  return sum;
}

std::vector<double> periodic_harmonics(double lengthscale) {
  const double z = 1 / (lengthscale * lengthscale);
  const int start = 20 + static_cast<int>(z + 6 * std::sqrt(z));  // beyond it the functions are below 1e-16 of the sum
  std::vector<double> h(static_cast<std::size_t>(start) + 2);
  h[static_cast<std::size_t>(start)] = 1e-300;
  for (auto k = static_cast<std::size_t>(start); k > 0; --k) {  // Miller's algorithm
    h[k - 1] = h[k + 1] + 2 * static_cast<double>(k) / z * h[k];
    if (h[k - 1] < 1e200) continue;
    for (double& value : h) value *= 1e-200;
  }
  for (std::size_t k = 1; k < h.size(); ++k) h[k] *= 2;
  double sum = std::accumulate(h.begin(), h.end(), 0.0);
  for (double left = 1e-8 * sum; h.back() < left; h.pop_back()) left -= h.back();
  sum = std::accumulate(h.begin(), h.end(), 0.0);
  for (double& value : h) value /= sum;
  return h;
}

std::vector<Term::Scale> rational_quadratic_scales(double lengthscale, double alpha) {
  // τ ~ gamma(α) of mean 1: the density of s = log τ is proportional to exp(α (s − exp s)).
  constexpr double kHighest = 4;
  const double step = std::min(0.7, 1 / std::sqrt(alpha));
  const double longest = 200, lowest = std::max(-7 / alpha - 2, std::min(-2.0, 2 * std::log(lengthscale / longest)));
  std::vector<Term::Scale> scales;
  double sum = 0;
  for (double s = kHighest; s > lowest; s -= step) {
    const double weight = std::exp(alpha * (s - std::exp(s)));
    if (weight < 1e-9) continue;
    scales.push_back({lengthscale * std::exp(-0.5 * s), weight});
    sum += weight;
  }
  // Longer scales are constants.
  const double rest = scales.back().weight / (std::exp(alpha * step) - 1);
  scales.back().weight += rest;
  for (Term::Scale& scale : scales) scale.weight /= sum + rest;
  return scales;
}

Process::Process(std::int64_t dims, std::vector<Term> terms, double noise)
    : dims_(dims), terms_(std::move(terms)), noise_(noise) {}

std::vector<double> Process::mapped(Inputs x) const {
  std::vector<double> u(x.values.begin(), x.values.end());
  if (warp_.strength != 0)
    for (double& v : u) v += warp_.strength * std::sin(warp_.frequency * v + warp_.phase) / warp_.frequency;
  if (axes_.empty()) return u;
  std::vector<double> row(static_cast<std::size_t>(dims_));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    double* point = u.data() + i * dims_;
    for (std::int64_t k = 0; k < dims_; ++k)
      row[k] = std::inner_product(point, point + dims_, axes_.begin() + k * dims_, 0.0);
    std::ranges::copy(row, point);
  }
  return u;
}

double Process::at(const Term& term, const double* a, const double* b) const {
  const double s = term.along(a, dims_), t = term.along(b, dims_);
  return term.variance * term.modulation_at(s) * term.modulation_at(t) *
         term.base_at(term.squared_distance(a, b, dims_)) * term.cycle_at(s - t);
}

std::vector<double> Process::between(Inputs a, Inputs b) const {
  const std::vector<double> u = mapped(a), v = mapped(b);
  const std::int64_t n = a.size(), m = b.size();
  std::vector<double> k(static_cast<std::size_t>(n * m));
  for (const Term& term : terms_)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < m; ++j) k[i * m + j] += at(term, u.data() + i * dims_, v.data() + j * dims_);
  return k;
}

std::vector<double> Process::of(Inputs a) const {
  const std::vector<double> u = mapped(a);
  const std::int64_t n = a.size();
  std::vector<double> k(static_cast<std::size_t>(n * n));
  for (const Term& term : terms_)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j) k[i * n + j] += at(term, u.data() + i * dims_, u.data() + j * dims_);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < i; ++j) k[j * n + i] = k[i * n + j];
  return k;
}

std::vector<double> Process::variances(Inputs a) const {
  const std::vector<double> u = mapped(a);
  std::vector<double> v(static_cast<std::size_t>(a.size()));
  for (const Term& term : terms_)
    for (std::int64_t i = 0; i < a.size(); ++i) v[i] += at(term, u.data() + i * dims_, u.data() + i * dims_);
  return v;
}

std::vector<double> Process::draw(Inputs x, std::int64_t dense, Random& random) const {
  const std::int64_t n = x.size();
  std::vector<double> f(static_cast<std::size_t>(n));
  if (dims_ > 1 && n <= dense) {
    std::vector<double> k = of(x);
    double largest = 0;
    for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, k[i * n + i]);
    for (std::int64_t i = 0; i < n; ++i) k[i * n + i] += 1e-9 * largest;  // smooth kernels are singular but for it
    std::vector<double> z(static_cast<std::size_t>(n));
    random.fill_normal(z);
    Cholesky(std::move(k), n).multiply(z, f);
    return f;
  }
  const std::vector<double> u = mapped(x);
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (dims_ == 1) std::ranges::sort(order, {}, [&](std::int64_t i) { return std::pair(u[i], i); });
  for (const Term& term : terms_) {
    if (dims_ == 1)
      add_on_line(term, u, order, random, f);
    else
      add_features(term, {u, dims_}, random, f);
  }
  return f;
}

}  // namespace npzoo
