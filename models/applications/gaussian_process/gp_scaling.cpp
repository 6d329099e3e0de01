#include "npzoo/models/applications/gaussian_process/gp_scaling.h"

#include <algorithm>
#include <cmath>

namespace npzoo {

std::vector<double> GpScaling::inputs(std::span<const double> x) const {
  std::vector<double> scaled(x.begin(), x.end());
  const std::size_t dims = center.size();
  for (std::size_t i = 0; i < x.size(); ++i) scaled[i] = (x[i] - center[i % dims]) / extent[i % dims];
  return scaled;
}

std::vector<double> GpScaling::values(std::span<const double> y) const {
  std::vector<double> scaled(y.begin(), y.end());
  for (double& value : scaled) value = (value - shift) / scale;
  return scaled;
}

double GpScaling::unit(const GpParameter& p, const std::vector<std::size_t>& group_of) const {
  using Kind = GpParameter::Kind;
  if (p.kind == Kind::scale || p.kind == Kind::noise) return scale;
  if (p.kind == Kind::roughness) return 1;
  if (p.kind == Kind::period) return extent[0];
  return extent[static_cast<std::size_t>(std::ranges::find(group_of, p.group) - group_of.begin())];
}

GpScaling gp_scaling(std::span<const double> x, std::span<const double> y, const std::vector<std::size_t>& group_of,
                     const std::vector<std::size_t>& slope_groups, double usual_mean, double usual_std) {
  const std::size_t dims = group_of.size(), n = y.size();
  const auto rows = static_cast<double>(std::max<std::size_t>(n, 1));
  GpScaling s{std::vector<double>(dims), std::vector<double>(dims)};
  for (std::size_t i = 0; i < x.size(); ++i) s.center[i % dims] += x[i] / rows;
  std::vector<double> squares(dims);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = x[i] - s.center[i % dims];
    squares[i % dims] += off * off / rows;
  }
  for (std::size_t d = 0; d < dims; ++d)  // √12 deviations are the extent of evenly spread inputs
    for (std::size_t e = 0; e < dims; ++e)
      if (e == d || (group_of[e] == group_of[d] && group_of[d] != kMeanOnly) ||
          (!slope_groups.empty() && slope_groups[e] == slope_groups[d]))
        s.extent[d] = std::max(s.extent[d], std::sqrt(12 * squares[e]));
  for (double& extent : s.extent)
    if (!(extent > 0)) extent = 1;
  for (const double value : y) s.shift += value / rows;
  double square = 0;
  for (const double value : y) square += (value - s.shift) * (value - s.shift) / rows;
  s.scale = std::sqrt(square);
  if (n == 0) s.shift = usual_mean;
  if (n < 2 || !(s.scale > 1e-12 * std::abs(s.shift))) s.scale = usual_std > 0 ? usual_std : std::abs(s.shift);
  if (!(s.scale > 0)) s.scale = 1;
  return s;
}

}  // namespace npzoo
