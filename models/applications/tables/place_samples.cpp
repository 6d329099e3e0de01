#include "npzoo/models/applications/tables/place_samples.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "npzoo/engine/checked_product.h"
#include "npzoo/engine/draws.h"
#include "npzoo/models/predictions/components.h"

namespace npzoo {

namespace {

/// Mixes numbers into a hash (the finaliser of SplitMix64, Steele et al., "Fast splittable pseudorandom number
/// generators", OOPSLA 2014). 0 and −0 are the same.
std::uint64_t mixed(std::uint64_t hash, std::span<const double> numbers) {
  for (const double number : numbers) {
    hash += 0x9e3779b97f4a7c15 + std::bit_cast<std::uint64_t>(number + 0.0);
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
    hash ^= hash >> 31;
  }
  return hash;
}

/// Draws values of other families than Gaussians, by inversion.
void draw_distributed(const Marginals& marginals, std::int64_t task, std::int64_t target, Random& random,
                      std::int64_t count, std::vector<double>& values) {
  const Shape& shape = marginals.parameters.shape();  // (P, B, Nt, Dy)
  const auto all = static_cast<std::size_t>(shape[1] * shape[2] * shape[3]);
  std::vector<double> own(static_cast<std::size_t>(shape[0]));
  for (std::int64_t c = 0; c < shape[3]; ++c) {
    const auto at = static_cast<std::size_t>((task * shape[2] + target) * shape[3] + c);
    for (std::size_t k = 0; k < own.size(); ++k) own[k] = marginals.parameters.values<double>()[k * all + at];
    for (std::int64_t s = 0; s < count; ++s)
      values.push_back(marginals.distribution->quantile(own, std::max(random.uniform(), 0x1p-54)));
  }
}

}  // namespace

PlaceSamples::PlaceSamples(std::uint64_t seed, std::span<const double> x, std::span<const double> y)
    : seed_(seed), points_(mixed(mixed(0, x), y)) {}

Random PlaceSamples::stream(std::span<const double> place) const {
  constexpr int kPurposeBits = 8;  // of a stream, see Draws
  const auto purpose = static_cast<std::uint64_t>(Purpose::prediction) << (64 - kPurposeBits);
  return Random(seed_, purpose | mixed(points_, place) >> kPurposeBits);
}

void PlaceSamples::draw(const Marginals& marginals, std::int64_t task, std::int64_t target,
                        std::span<const double> place, std::int64_t count, std::vector<double>& values) const {
  Random random = stream(place);
  if (marginals.distribution) return draw_distributed(marginals, task, target, random, count, values);
  const Shape& shape = marginals.mean.shape();  // (K, B, Nt, Dy)
  const auto components = static_cast<std::size_t>(shape[0]), width = static_cast<std::size_t>(shape[3]),
             all = static_cast<std::size_t>(shape[1] * shape[2]),
             at = static_cast<std::size_t>(task * shape[2] + target);
  const auto mean = marginals.mean.values<double>(), std = marginals.std.values<double>();
  std::vector<double> weights(components, 0);
  for (std::size_t k = 0; k < components && marginals.log_weight.defined(); ++k)
    weights[k] = marginals.log_weight.values<double>()[k * all + at];
  const std::size_t first = values.size();
  values.resize(first + checked_product(width, static_cast<std::size_t>(count)));
  for (std::size_t s = 0; s < static_cast<std::size_t>(count); ++s) {
    const std::size_t from = (choose(weights, random.uniform()) * all + at) * width;
    for (std::size_t c = 0; c < width; ++c) {
      const double value = mean[from + c] + std[from + c] * random.normal();
      values[first + c * static_cast<std::size_t>(count) + s] =
          marginals.scale == Scale::linear ? value : std::exp(value);
    }
  }
}

}  // namespace npzoo
