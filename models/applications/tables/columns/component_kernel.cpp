#include "npzoo/models/applications/tables/columns/component_kernel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <numbers>

#include "npzoo/engine/cancellation.h"

namespace npzoo {

namespace {

/// The median step between different times, or 1.
double usual_step(std::span<const double> times) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < times.size(); ++i)
    if (times[i] > times[i - 1]) steps.push_back(times[i] - times[i - 1]);
  if (steps.empty()) return 1;
  const auto middle = steps.begin() + std::ssize(steps) / 2;
  std::ranges::nth_element(steps, middle);
  return *middle;
}

std::vector<double> scaled_to_one(std::span<const double> values) {
  double squares = 0, count = 0;
  for (const double v : values)
    if (!std::isnan(v)) squares += v * v, ++count;
  const double scale = squares > 0 ? std::sqrt(count / squares) : 1;
  std::vector<double> scaled(values.begin(), values.end());
  for (double& v : scaled) v *= scale;
  return scaled;
}

/// The log-likelihoods of kernels of one frequency, by Kalman filters side by side.
std::vector<double> log_likelihoods(std::span<const ComponentKernel> kernels, std::span<const double> values,
                                    std::span<const double> times) {
  const std::size_t count = kernels.size();
  const bool turns = kernels.front().frequency > 0;
  struct Filter {
    double mean[2], own, cross, other;  // the covariance of two states
  };
  std::vector<Filter> filters;
  for (const ComponentKernel& k : kernels) filters.push_back({{0, 0}, 1 - k.noise, 0, turns ? 1 - k.noise : 0});
  std::vector<double> sums(count), products(count, 1), decays(count, 1);
  double last_step = 0, cosine = 1, sine = 0;
  constexpr std::size_t kFactors = 16;  // of a product whose logarithm is taken
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double step = i > 0 ? times[i] - times[i - 1] : 0;
    if (step != last_step) {
      for (std::size_t k = 0; k < count; ++k) decays[k] = std::exp(-step / kernels[k].range);
      cosine = std::cos(step * kernels.front().frequency);
      sine = std::sin(step * kernels.front().frequency);
      last_step = step;
    }
    const bool known = !std::isnan(values[i]);
    for (std::size_t k = 0; k < count; ++k) {
      Filter& f = filters[k];
      const double d = decays[k], noise = kernels[k].noise, fresh = (1 - noise) * (1 - d * d);
      const Filter b = f;
      f.mean[0] = d * (cosine * b.mean[0] - sine * b.mean[1]);
      f.mean[1] = d * (sine * b.mean[0] + cosine * b.mean[1]);
      f.own = d * d * (cosine * cosine * b.own - 2 * cosine * sine * b.cross + sine * sine * b.other) + fresh;
      if (turns) {
        f.other = d * d * (sine * sine * b.own + 2 * cosine * sine * b.cross + cosine * cosine * b.other) + fresh;
        f.cross = d * d * (cosine * sine * (b.own - b.other) + (cosine * cosine - sine * sine) * b.cross);
      }
      if (!known) continue;
      const double variance = f.own + noise, error = values[i] - f.mean[0], gain = 1 / variance;
      sums[k] += error * error * gain;
      products[k] *= variance;
      f.mean[0] += f.own * gain * error;
      f.mean[1] += f.cross * gain * error;
      f.other -= f.cross * f.cross * gain;
      f.cross -= f.own * f.cross * gain;
      f.own -= f.own * f.own * gain;
    }
    if (i % kFactors != kFactors - 1 && i + 1 != values.size()) continue;
    for (std::size_t k = 0; k < count; ++k) {
      sums[k] += std::log(products[k]);
      products[k] = 1;
    }
  }
  for (double& sum : sums) sum *= -0.5;
  return sums;
}

/// The frequencies at which components are largest, of those that fit twice or more into the times; 0: too few times.
std::vector<double> largest_frequencies(std::span<const double> values, std::span<const double> times, double step) {
  constexpr std::size_t kFewest = 2, kMost = 500;
  const std::size_t n = times.size(), count = values.size() / n, most = std::min(kMost, n / 2);
  const double base = 2 * std::numbers::pi / (static_cast<double>(n) * step);
  std::vector<std::complex<double>> turn(n), at(n);
  for (std::size_t i = 0; i < n; ++i) {
    turn[i] = std::polar(1.0, base * (times[i] - times[0]));
    at[i] = turn[i];
  }
  std::vector<double> largest(count), frequencies(count);
  for (std::size_t k = kFewest; k < most; ++k) {
    for (std::size_t i = 0; i < n; ++i) at[i] *= turn[i];
    for (std::size_t c = 0; c < count; ++c) {
      double real = 0, imaginary = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double v = values[c * n + i];
        if (std::isnan(v)) continue;
        real += v * at[i].real();
        imaginary += v * at[i].imag();
      }
      if (const double power = real * real + imaginary * imaginary; power > largest[c]) {
        largest[c] = power;
        frequencies[c] = base * static_cast<double>(k);
      }
    }
  }
  return frequencies;
}

std::vector<ComponentKernel> grid_of(double shortest, double longest, int ranges, double frequency) {
  constexpr std::array kNoises{0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9};
  std::vector<ComponentKernel> kernels;
  for (int r = 0; r < ranges; ++r)
    for (const double noise : kNoises)
      kernels.push_back({shortest * std::pow(longest / shortest, r / (ranges - 1.0)), frequency, noise});
  return kernels;
}

}  // namespace

std::vector<ComponentKernel> fit_components(std::span<const double> values, std::span<const double> times) {
  const std::size_t n = times.size();
  if (n == 0) return {};
  const double step = usual_step(times), longest = step * static_cast<double>(n) / 2;
  const std::vector<double> frequencies = largest_frequencies(values, times, step);
  std::vector<ComponentKernel> found;
  for (std::size_t c = 0; c < values.size() / n; ++c) {
    throw_if_stopped();
    const std::vector<double> one = scaled_to_one(values.subspan(c * n, n));
    ComponentKernel& best = found.emplace_back();
    double highest = -std::numeric_limits<double>::infinity();
    const auto look = [&](const std::vector<ComponentKernel>& kernels, double handicap) {
      const std::vector<double> all = log_likelihoods(kernels, one, times);
      const auto at = std::ranges::max_element(all);
      if (!(*at - handicap > highest)) return;
      highest = *at - handicap;
      best = kernels[static_cast<std::size_t>(at - all.begin())];
    };
    look(grid_of(step / 2, longest, 14, 0), 0);
    constexpr double kOfFrequency = 2;  // what a frequency fits by chance
    if (frequencies[c] > 0) look(grid_of(longest / 8, 2 * longest, 6, frequencies[c]), kOfFrequency);
  }
  return found;
}

}  // namespace npzoo
