#include "npzoo/datasets/tables/sphere.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "npzoo/engine/error.h"
#include "npzoo/engine/words.h"

namespace npzoo {

namespace {

constexpr double kDegree = std::numbers::pi / 180;
constexpr double kWidestMap = 80;  // degrees from its middle

using Vector3 = std::array<double, 3>;

/// In [−180, 180).
double wrapped(double lon) { return lon - 360 * std::floor((lon + 180) / 360); }

Vector3 unit_vector(double lon, double lat) {
  const double turn = wrapped(lon) * kDegree, from_axis = std::sin((90 - std::abs(lat)) * kDegree);
  return {from_axis * std::cos(turn), from_axis * std::sin(turn), std::sin(lat * kDegree)};
}

/// Returns the mean direction of all places as a unit vector; NaN if their directions cancel out.
Vector3 middle_of(std::span<const double> x, std::size_t dim_x) {
  Vector3 sum{};
  for (std::size_t i = 0; i < x.size(); i += dim_x) {
    const Vector3 v = unit_vector(x[i], x[i + 1]);
    for (std::size_t k = 0; k < 3; ++k) sum[k] += v[k];
  }
  const double length = std::hypot(sum[0], sum[1], sum[2]);
  for (double& k : sum) k /= length;
  return sum;
}

/// The middle of the widest gap between longitudes.
double widest_gap(std::span<const double> x, std::size_t dim_x) {
  std::vector<double> lons;
  for (std::size_t i = 0; i < x.size(); i += dim_x) lons.push_back(wrapped(x[i]));
  if (lons.empty()) return -180;
  std::ranges::sort(lons);
  double widest = lons.front() + 360 - lons.back(), middle = lons.back() + widest / 2;
  for (std::size_t i = 1; i < lons.size(); ++i)
    if (lons[i] - lons[i - 1] > widest) {
      widest = lons[i] - lons[i - 1];
      middle = lons[i - 1] + widest / 2;
    }
  return wrapped(middle);
}

}  // namespace

void check_lonlat(std::span<const double> x, std::size_t dim_x) {
  check(dim_x >= 2, "[lonlat] --lonlat found with {}, expected longitude and latitude first", counted(dim_x, "input"));
  for (std::size_t i = 0; i < x.size(); i += dim_x)
    check(std::abs(x[i + 1]) <= 90, "[lonlat] the latitude of row {} is {}, expected -90 to 90; longitude comes first",
          i / dim_x, x[i + 1]);
}

std::vector<double> on_sphere(std::span<const double> x, std::size_t dim_x) {
  std::vector<double> all;
  for (std::size_t i = 0; i < x.size(); i += dim_x) {
    const Vector3 v = unit_vector(x[i], x[i + 1]);
    all.insert(all.end(), v.begin(), v.end());
    all.insert(all.end(), x.begin() + static_cast<std::ptrdiff_t>(i + 2),
               x.begin() + static_cast<std::ptrdiff_t>(i + dim_x));
  }
  return all;
}

SphereMap::SphereMap(std::span<const double> x, std::size_t dim_x) : dim_x_(dim_x) {
  const Vector3 middle = middle_of(x, dim_x);
  projected_ = !x.empty();
  for (std::size_t i = 0; i < x.size() && projected_; i += dim_x) {
    const Vector3 v = unit_vector(x[i], x[i + 1]);
    projected_ = middle[0] * v[0] + middle[1] * v[1] + middle[2] * v[2] >= std::cos(kWidestMap * kDegree);
  }
  lon_ = projected_ ? std::atan2(middle[1], middle[0]) / kDegree : widest_gap(x, dim_x);
  lat_ = projected_ ? std::asin(std::clamp(middle[2], -1.0, 1.0)) / kDegree : 0;
}

std::vector<double> SphereMap::operator()(std::span<const double> x) const {
  std::vector<double> mapped(x.begin(), x.end());
  const double turn = lon_ * kDegree, up = std::sin(lat_ * kDegree), out = std::cos(lat_ * kDegree);
  for (std::size_t i = 0; i < x.size(); i += dim_x_) {
    if (!projected_) {
      mapped[i] = lon_ + 180 + wrapped(x[i] - lon_ - 180);
      continue;
    }
    const Vector3 v = unit_vector(x[i], x[i + 1]);
    const double along = v[0] * std::cos(turn) + v[1] * std::sin(turn);  // towards the middle's longitude
    const double east = v[1] * std::cos(turn) - v[0] * std::sin(turn), north = v[2] * out - along * up;
    const double side = std::hypot(east, north), angle = std::atan2(side, along * out + v[2] * up) / kDegree;
    mapped[i] = side > 0 ? angle * east / side : 0;
    mapped[i + 1] = side > 0 ? angle * north / side : 0;
  }
  return mapped;
}

std::string SphereMap::text() const {
  return projected_ ? fmt::format(
                          "places are mapped by their direction and distance from longitude {:.4g}, latitude "
                          "{:.4g} (azimuthal equidistant)",
                          lon_, lat_)
                    : fmt::format(
                          "places lie all around the world: longitudes are cut at {:.4g}; a Gaussian process "
                          "(gp) has no cut and knows the poles",
                          lon_);
}

}  // namespace npzoo
