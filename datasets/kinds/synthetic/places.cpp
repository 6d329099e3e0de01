#include "npzoo/datasets/kinds/synthetic/places.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>

#include "npzoo/datasets/kinds/synthetic/config.h"
#include "npzoo/datasets/kinds/synthetic/draw.h"
#include "npzoo/datasets/tables/standardise.h"

namespace npzoo {

namespace {

using std::int64_t;

enum PlaceKind : std::size_t { kRegular, kUniform, kClustered, kTransects };
enum MissingKind : std::size_t { kGaps, kScattered, kForecast, kHalf, kClouds };

/// The share that is missing.
double draw_share(std::size_t kind, Random& random) {
  switch (kind) {
    case kGaps: {
      double share = 0;
      for (auto gaps = random.integer(1, 4); gaps > 0; --gaps) share += random.uniform(0.02, 0.15);
      return share;
    }
    case kScattered: return random.uniform(0.2, 0.8);
    case kForecast: return random.uniform(0.03, 0.25);
    case kHalf: return 0.5;
    default: return random.uniform(0.1, 0.6);
  }
}

// Tables in units of their own: the domain is [−2, 2]^dims.

/// At least `count` points of a grid whose sides are of like length.
std::vector<double> regular_points(int64_t dims, int64_t count, Random& random) {
  std::vector<int64_t> sides;
  double left = static_cast<double>(count);
  for (int64_t k = dims; k > 1; --k) {
    const double aspect = std::exp(random.uniform(-0.5, 0.5));
    sides.push_back(std::max<int64_t>(1, std::llround(aspect * std::pow(left, 1.0 / static_cast<double>(k)))));
    left = std::max(1.0, left / static_cast<double>(sides.back()));
  }
  sides.push_back(static_cast<int64_t>(std::ceil(left)));
  int64_t total = 1;
  for (const int64_t side : sides) total *= side;
  while (total < count) total = total / sides.back() * (sides.back() + 1), ++sides.back();
  std::vector<double> x;
  for (int64_t i = 0; i < total; ++i) {
    int64_t rest = i;
    for (const int64_t side : sides) {
      x.push_back(side > 1 ? -2 + 4 * static_cast<double>(rest % side) / static_cast<double>(side - 1) : 0);
      rest /= side;
    }
  }
  return x;
}

std::vector<double> uniform_points(int64_t dims, int64_t count, Random& random) {
  std::vector<double> x(static_cast<std::size_t>(count * dims));
  for (double& v : x) v = random.uniform(-2, 2);
  return x;
}

std::vector<double> clustered_points(int64_t dims, int64_t count, Random& random) {
  const int64_t clusters = random.integer(2, 9);
  const std::vector<double> middles = uniform_points(dims, clusters, random);
  const double width = std::exp(random.uniform(std::log(0.05), std::log(0.6)));
  std::vector<double> x;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t c = random.integer(0, clusters);
    for (int64_t k = 0; k < dims; ++k) x.push_back(middles[c * dims + k] + width * random.normal());
  }
  return x;
}

/// Rows of equal steps, each from somewhere into some direction: ships' tracks, bursts of measurements.
std::vector<double> transect_points(int64_t dims, int64_t count, Random& random) {
  const int64_t tracks = std::min(count, random.integer(2, 8));
  std::vector<double> x;
  for (int64_t track = 0; track < tracks; ++track) {
    const int64_t points = (track + 1) * count / tracks - track * count / tracks;
    const std::vector<double> from = uniform_points(dims, 1, random), along = draw_direction(dims, random);
    const double length = random.uniform(0.3, dims == 1 ? 1 : 3);
    for (int64_t i = 0; i < points; ++i)
      for (int64_t k = 0; k < dims; ++k)
        x.push_back(from[k] + length * along[k] * static_cast<double>(i) / static_cast<double>(points));
  }
  return x;
}

std::vector<double> table_points(std::size_t kind, int64_t dims, int64_t count, Random& random) {
  std::vector<double> x = kind == kRegular     ? regular_points(dims, count, random)
                          : kind == kUniform   ? uniform_points(dims, count, random)
                          : kind == kClustered ? clustered_points(dims, count, random)
                                               : transect_points(dims, count, random);
  if (dims == 1) std::ranges::sort(x);
  return x;
}

/// A smooth random function of points, of mean 0; lengthscale `l`.
std::vector<double> smooth_function(Inputs x, double l, Random& random) {
  constexpr int kWaves = 24;
  std::vector<double> f(static_cast<std::size_t>(x.size()));
  for (int wave = 0; wave < kWaves; ++wave) {
    std::vector<double> omega(static_cast<std::size_t>(x.dims));
    random.fill_normal(omega);
    const double phase = random.uniform(0, 2 * std::numbers::pi);
    for (int64_t i = 0; i < x.size(); ++i)
      f[i] += std::cos(std::inner_product(omega.begin(), omega.end(), x.values.data() + i * x.dims, 0.0) / l + phase);
  }
  return f;
}

/// The last input is a function of the others, as height is one of a place, and noise.
std::vector<double> draped_points(std::size_t kind, int64_t dims, int64_t count, Random& random) {
  const std::vector<double> places = table_points(kind, dims - 1, count, random);
  const Inputs on{places, dims - 1};
  const double l = std::exp(random.uniform(std::log(0.3), std::log(3.0))), noise = 3 * random.uniform();
  const std::vector<double> height = smooth_function(on, l, random);
  std::vector<double> x;
  for (int64_t i = 0; i < on.size(); ++i) {
    x.insert(x.end(), places.begin() + i * (dims - 1), places.begin() + (i + 1) * (dims - 1));
    x.push_back(height[i] + noise * random.normal());
  }
  return x;
}

/// How likely each point is to be missing: those with the highest scores are.
std::vector<double> missing_scores(std::size_t kind, Inputs x, Random& random) {
  const int64_t n = x.size(), dims = x.dims;
  std::vector<double> score(static_cast<std::size_t>(n));
  const auto point = [&](int64_t i) { return x.values.data() + i * dims; };
  switch (kind) {
    case kGaps: {  // the nearest to one of a few places
      const int64_t gaps = random.integer(1, 4);
      const std::vector<double> middles = uniform_points(dims, gaps, random);
      std::vector<double> widths(static_cast<std::size_t>(gaps));
      for (double& w : widths) w = random.uniform(0.02, 0.15);
      for (int64_t i = 0; i < n; ++i) {
        score[i] = -std::numeric_limits<double>::infinity();
        for (int64_t g = 0; g < gaps; ++g) {
          double d2 = 0;
          for (int64_t k = 0; k < dims; ++k)
            d2 += (point(i)[k] - middles[g * dims + k]) * (point(i)[k] - middles[g * dims + k]);
          score[i] = std::max(score[i], -std::sqrt(d2) / widths[g]);
        }
      }
      return score;
    }
    case kForecast:
    case kHalf: {  // mostly the last ones
      std::vector<double> along = draw_direction(dims, random);
      if (dims == 1) along[0] = random.uniform() < 0.85 ? 1 : -1;
      for (int64_t i = 0; i < n; ++i) score[i] = std::inner_product(along.begin(), along.end(), point(i), 0.0);
      return score;
    }
    case kClouds: {  // where a smooth random field is high
      return smooth_function(x, std::exp(random.uniform(std::log(0.2), std::log(1.5))), random);
    }
    default:
      for (double& s : score) s = random.uniform();
      return score;
  }
}

/// Moves `count` of the points that are still there to `missing`.
void remove(std::size_t kind, const std::vector<double>& x, int64_t dims, int64_t count, std::vector<int64_t>& here,
            std::vector<int64_t>& missing, Random& random) {
  std::vector<double> points;
  for (const int64_t i : here) points.insert(points.end(), x.begin() + i * dims, x.begin() + (i + 1) * dims);
  const std::vector<double> scores = missing_scores(kind, {points, dims}, random);
  std::vector<int64_t> order(here.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](int64_t i) { return scores[i]; });
  std::vector<bool> gone(here.size());
  for (int64_t i = 0; i < count; ++i) gone[order[i]] = true;
  std::vector<int64_t> left;
  for (std::size_t i = 0; i < here.size(); ++i) (gone[i] ? missing : left).push_back(here[i]);
  here = std::move(left);
}

std::vector<double> picked(const std::vector<double>& x, int64_t dims, const std::vector<int64_t>& which) {
  std::vector<double> points;
  for (const int64_t i : which) points.insert(points.end(), x.begin() + i * dims, x.begin() + (i + 1) * dims);
  return points;
}

/// Targets in the units of a model, of which `x` (m, Dx) are the missing points.
std::vector<double> draw_targets(const SyntheticDistribution& d, const std::vector<double>& x, int64_t count,
                                 double spacing, Random& random) {
  const double bound = 2 + d.reach, round = 2 + d.reach * random.uniform();
  const auto n = static_cast<int64_t>(x.size()) / d.dims;
  std::vector<int64_t> order(static_cast<std::size_t>(n));
  random.fill_permutation(order);
  std::erase_if(order, [&](int64_t i) {
    return std::any_of(x.begin() + i * d.dims, x.begin() + (i + 1) * d.dims,
                       [&](double v) { return std::abs(v) > bound; });
  });
  std::vector<double> targets;
  std::size_t used = 0;
  for (int64_t t = 0; t < count; ++t) {
    const bool anywhere = random.uniform() < d.far;
    if (anywhere || order.empty()) {
      const double edge = anywhere ? round : 2;
      for (int64_t k = 0; k < d.dims; ++k) targets.push_back(random.uniform(-edge, edge));
      continue;
    }
    // After each point has been used once, points between them.
    const int64_t i = order[used % order.size()];
    const double jitter = used++ < order.size() ? 0 : spacing;
    for (int64_t k = 0; k < d.dims; ++k)
      targets.push_back(std::clamp(x[i * d.dims + k] + jitter * random.uniform(-0.5, 0.5), -bound, bound));
  }
  return targets;
}

}  // namespace

Places draw_places(const SyntheticDistribution& d, int64_t context, int64_t targets, Random& random) {
  const std::size_t kind = d.places.draw(random);
  std::vector<std::size_t> ways{d.missing.draw(random)};
  if (random.uniform() < d.mixed) ways.push_back(d.missing.draw(random));
  double left = 1;
  std::vector<double> shares;
  for (const std::size_t way : ways) {
    shares.push_back(draw_share(way, random));
    left *= 1 - shares.back();
  }
  const std::int64_t wanted = std::max<std::int64_t>(context + 1, std::llround(static_cast<double>(context) / left));
  const bool draped = d.draped > 0 && random.uniform() < d.draped;
  const std::vector<double> x =
      draped ? draped_points(kind, d.dims, wanted, random) : table_points(kind, d.dims, wanted, random);
  const auto points = static_cast<int64_t>(x.size()) / d.dims;

  std::vector<int64_t> here(static_cast<std::size_t>(points)), missing;
  std::iota(here.begin(), here.end(), int64_t{0});
  for (std::size_t w = 0; w < ways.size(); ++w) {
    const int64_t surplus = std::ssize(here) - context;
    const std::int64_t share = std::llround(shares[w] * static_cast<double>(here.size()));
    remove(ways[w], x, d.dims, w + 1 == ways.size() ? surplus : std::min(surplus, share), here, missing, random);
  }
  const std::vector<double> xc = picked(x, d.dims, here), away = picked(x, d.dims, missing);
  const std::vector<std::string> names(static_cast<std::size_t>(d.dims));
  const Standardisation units = standardise(xc, {}, names, {}, synthetic_range(d));
  Places places;
  places.xc = units.map_inputs(xc);
  places.regular = kind == kRegular;
  // The table's extent in the units of the model, which the context may be a part of.
  const double extent = units.inputs[0].constant ? 4 : 4 / units.inputs[0].scale;
  places.spacing = extent / std::pow(static_cast<double>(points), 1.0 / static_cast<double>(d.dims - (draped ? 1 : 0)));
  places.xt = draw_targets(d, units.map_inputs(away), targets, places.spacing, random);
  return places;
}

}  // namespace npzoo
