#pragma once

#include "npzoo/datasets/boost_math.h"  // before Boost.Math

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <numbers>
#include <vector>

#include "npzoo/datasets/normal_distribution.h"

namespace npzoo {

/// E[f(u)] of a standard normal number u within ±9, beyond which less than 1e-18 is. By Gauss-Legendre quadrature in
/// panels that end at `edges`, where f or its slope jumps; they may be infinite.
template <class F>
double normal_expectation(const F& f, std::vector<double> edges = {}) {
  constexpr double kTail = 9;
  edges.insert(edges.end(), {-kTail, kTail});
  for (double& edge : edges) edge = std::clamp(edge, -kTail, kTail);
  std::ranges::sort(edges);
  const auto weighted = [&](double u) { return f(u) * std::exp(-0.5 * u * u) / std::sqrt(2 * std::numbers::pi); };
  double sum = 0;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    const double step = (edges[i + 1] - edges[i]) / std::max(1.0, std::ceil(edges[i + 1] - edges[i]));
    for (double from = edges[i]; from < edges[i + 1] - 0.5 * step; from += step)
      sum += boost::math::quadrature::gauss<double, 10>::integrate(weighted, from, from + step);
  }
  return sum;
}

/// The continuous ranked probability score of y(u), a function that rises with a standard normal number u, at `known`:
/// twice the mean of the quantile loss over all probabilities. `edges` are those of y and the u with y(u) = known.
template <class F>
double rising_crps(const F& y, double known, std::vector<double> edges) {
  const auto loss = [&](double u) {
    const double off = y(u) - known;
    return off > 0 ? normal_probability(-u) * off : -normal_probability(u) * off;
  };
  return 2 * normal_expectation(loss, std::move(edges));
}

}  // namespace npzoo
