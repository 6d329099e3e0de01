#pragma once

#include <span>
#include <string>
#include <vector>

namespace npzoo {

/// Rows of inputs that begin with longitude and latitude, in degrees. Throws Error, naming the row, for a latitude
/// beyond ±90 and for fewer than two inputs.
void check_lonlat(std::span<const double> x, std::size_t dim_x);

/// Returns the places with their points of the unit sphere in the stead of longitude and latitude: (n, D) → (n, D + 1).
/// Longitudes may differ by whole turns. At a pole every longitude gives the same point, to the last bit.
std::vector<double> on_sphere(std::span<const double> x, std::size_t dim_x);

/// A map of a part of the sphere, in degrees.
class SphereMap {
 public:
  /// A map of the places x (n, D): the azimuthal equidistant projection about their middle, if all of them lie within
  /// 80 degrees of it. Else the plane of longitude and latitude, in which longitudes are cut in the middle of the
  /// widest gap between places.
  SphereMap(std::span<const double> x, std::size_t dim_x);

  /// Returns the places with their coordinates on the map: (n, D) → (n, D).
  std::vector<double> operator()(std::span<const double> x) const;
  /// Describes the map, for outputs.
  std::string text() const;

 private:
  std::size_t dim_x_;
  bool projected_ = false;
  double lon_ = 0, lat_ = 0;  // of the middle, degrees; not projected: where longitudes are cut
};

}  // namespace npzoo
