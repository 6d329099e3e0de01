#include "npzoo/models/applications/tables/turned_inputs.h"

#include <algorithm>
#include <cmath>
#include <eigen3/Eigen/Eigenvalues>
#include <numbers>

#include "npzoo/engine/optim/nelder_mead.h"
#include "npzoo/models/applications/tables/field_likelihood.h"

namespace npzoo {

namespace {

constexpr double kLeastGain = 10;  // nats
constexpr double kLargest = 12;    // of each parameter
constexpr double kFarOut = 1e100;

/// Parameters of a fit: logarithms of noise, short length, share and long length, lengths in mean spacings; and the
/// logarithm of the metric, the symmetric matrix ((stretch₀, stretch₁), (stretch₁, −stretch₀)).
using Stretch = std::array<double, 2>;

/// The exponential of `factor` times the logarithm of a metric.
Eigen::Matrix2d metric_of(const Stretch& stretch, double factor) {
  const double size = std::hypot(stretch[0], stretch[1]);
  Eigen::Matrix2d direction;
  direction << stretch[0], stretch[1], stretch[1], -stretch[0];
  Eigen::Matrix2d metric = std::cosh(factor * size) * Eigen::Matrix2d::Identity();
  if (size > 0) metric += std::sinh(factor * size) / size * direction;
  return metric;
}

FieldKernel kernel_of(const std::vector<double>& p, const Stretch& stretch, double spacing) {
  const Eigen::Matrix2d metric = metric_of(stretch, 1);
  return {.metric = {metric(0, 0), metric(0, 1), metric(1, 1)},
          .short_length = spacing * std::exp(p[1]),
          .long_length = spacing * std::exp(p[3]),
          .share = std::exp(p[2]),
          .noise = std::exp(p[0])};
}

struct StretchFit {
  std::vector<double> kernel;
  Stretch stretch{};
  double log_density = 0;
};

class StretchSearch {
 public:
  StretchSearch(const FieldLikelihood& likelihood, double spacing) : likelihood_(likelihood), spacing_(spacing) {}

  /// The best kernel for a given stretch.
  StretchFit fit_kernel(const Stretch& stretch, const std::vector<double>& start = {-3, 1, 1, 4.5}) const {
    const Minimum best = nelder_mead([&](const std::vector<double>& p) { return loss(p, stretch); }, start,
                                     {.step = kStep, .most_calls = 80, .value_spread = kSpread});
    return {best.at, stretch, log_density(best.at, stretch)};
  }

  /// Kernel and stretch together.
  StretchFit fit_all(const StretchFit& from) const {
    std::vector<double> start = from.kernel;
    start.insert(start.end(), from.stretch.begin(), from.stretch.end());
    const Minimum best = nelder_mead(
        [&](const std::vector<double>& p) {
          return loss(p, {p[4], p[5]});
        },
        start, {.step = kStep, .most_calls = 200, .value_spread = kSpread});
    const Stretch stretch{best.at[4], best.at[5]};
    return {{best.at.begin(), best.at.begin() + 4}, stretch, log_density(best.at, stretch)};
  }

 private:
  static constexpr double kStep = 0.4, kSpread = 2e-5;

  double loss(const std::vector<double>& p, const Stretch& stretch) const {
    const bool inside = std::ranges::all_of(p, [](double v) { return std::abs(v) < kLargest; }) &&
                        std::hypot(stretch[0], stretch[1]) < kLargest;
    return inside ? likelihood_.evaluate(kernel_of(p, stretch, spacing_)).mean_loss
                  : std::numeric_limits<double>::infinity();
  }
  double log_density(const std::vector<double>& p, const Stretch& stretch) const {
    return likelihood_.evaluate(kernel_of(p, stretch, spacing_)).log_density;
  }

  const FieldLikelihood& likelihood_;
  double spacing_;
};

/// Limits extreme values, so that no single one decides the fit: a table may hold typos and codes for missing values.
void cut_extremes(std::vector<double>& y) {
  std::vector<double> sorted = y;
  std::ranges::sort(sorted);
  const std::size_t few = sorted.size() / 1000 + 1;
  const double low = sorted[few], high = sorted[sorted.size() - 1 - few], extent = high - low;
  for (double& value : y) value = std::clamp(value, low - extent, high + extent);
}

bool inside(const ObservedPlaces& places, ObservedPlaces::Index p) {
  return std::ranges::all_of(places.at(p), [](double x) { return 0 <= x && x <= 1; });
}

/// The mean value at each place, 0 at far ones, with mean 0 and deviation 1 of all others; empty if they are as good as
/// equal.
std::vector<double> values_of(const ObservedPlaces& places, std::span<const double> y) {
  std::vector<double> values, all(places.count(), 0);
  for (ObservedPlaces::Index p = 0; p < places.count(); ++p) {
    if (!inside(places, p)) continue;
    double mean = 0;
    for (const auto row : places.rows_of(p)) mean += y[row] / static_cast<double>(places.rows_of(p).size());
    values.push_back(mean);
  }
  if (values.size() < 4) return {};
  cut_extremes(values);
  const auto count = static_cast<double>(values.size());
  double mean = 0, square = 0;
  for (const double v : values) mean += v / count;
  for (const double v : values) square += (v - mean) * (v - mean) / count;
  if (!(std::sqrt(square) > 1e-12 * std::abs(mean)) || !std::isfinite(square)) return {};
  std::size_t next = 0;
  for (ObservedPlaces::Index p = 0; p < places.count(); ++p)
    if (inside(places, p)) all[p] = (values[next++] - mean) / std::sqrt(square);
  return all;
}

Eigen::Matrix2d rotation(double angle) {
  Eigen::Matrix2d turn;
  turn << std::cos(angle), -std::sin(angle), std::sin(angle), std::cos(angle);
  return turn;
}

/// Turns after `stretched` so that the places in [0, 1]² have equal extents along both axes.
Eigen::Matrix2d with_equal_extents(const ObservedPlaces& places, const Eigen::Matrix2d& stretched) {
  const auto difference = [&](double angle) {
    const Eigen::Matrix2d matrix = rotation(angle) * stretched;
    Eigen::Array2d low = Eigen::Array2d::Constant(std::numeric_limits<double>::infinity()), high = -low;
    for (ObservedPlaces::Index p = 0; p < places.count(); ++p) {
      const Eigen::Array2d at(places.at(p)[0], places.at(p)[1]);
      if ((at < 0).any() || (at > 1).any()) continue;
      const Eigen::Array2d turned = (matrix * at.matrix()).array();
      low = low.min(turned);
      high = high.max(turned);
    }
    return (high[0] - low[0]) - (high[1] - low[1]);
  };
  double low = 0, high = std::numbers::pi / 2;  // a quarter turn exchanges the columns, and with them the sign
  const bool falls = difference(0) > 0;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    ((difference(middle) > 0) == falls ? low : high) = middle;
  }
  return rotation(low) * stretched;
}

/// Ratio and angle of a metric of scaled inputs, in the units of the table.
void describe(const Eigen::Matrix2d& metric, InputTurn& turn) {
  const Eigen::Vector2d extent(turn.extent[0], turn.extent[1]);
  const Eigen::Matrix2d scale = (extent / extent.maxCoeff()).cwiseInverse().asDiagonal();
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> axes(scale * metric * scale);
  const Eigen::Vector2d along = axes.eigenvectors().col(0);  // of the least eigenvalue
  turn.ratio = std::sqrt(axes.eigenvalues()[1] / axes.eigenvalues()[0]);
  turn.angle = std::atan2(along[1], along[0]) * 180 / std::numbers::pi;
  if (turn.angle <= -90) turn.angle += 180;
  if (turn.angle > 90) turn.angle -= 180;
}

}  // namespace

std::vector<double> InputTurn::apply(std::span<const double> x) const {
  std::vector<double> turned(x.size());
  for (std::size_t i = 0; i < x.size(); i += 2) {
    double at[2];
    for (std::size_t d = 0; d < 2; ++d)
      at[d] = std::clamp((x[i + d] / 2 - origin[d] / 2) / (extent[d] / 2), -kFarOut, kFarOut);
    for (std::size_t d = 0; d < 2; ++d) turned[i + d] = matrix[2 * d] * at[0] + matrix[2 * d + 1] * at[1];
  }
  return turned;
}

std::optional<InputTurn> find_turn(std::span<const double> x, std::span<const double> y) {
  const ObservedPlaces places(x, 2);
  if (places.count() < 4 || places.extent(0) == 0 || places.extent(1) == 0) return {};
  const std::vector<double> values = values_of(places, y);
  if (values.empty()) return {};
  const FieldLikelihood likelihood(places, values);
  if (likelihood.conditionals() == 0) return {};
  InputTurn turn;
  for (std::size_t d = 0; d < 2; ++d) {
    turn.origin[d] = places.lowest(d);
    turn.extent[d] = places.range(d);
  }
  // Without a turn the field may vary alike in all directions of the mapped inputs, or in the units of the table. The
  // better of both is what a turn must beat.
  const double of_units = std::log(turn.extent[0]) - std::log(turn.extent[1]);
  double near = 0;
  for (ObservedPlaces::Index p = 0; p < places.count(); ++p) near += inside(places, p);
  const StretchSearch search(likelihood, std::sqrt(1 / near));
  StretchFit plain = search.fit_kernel({0, 0});
  if (std::abs(of_units) > 0.01) {
    StretchFit in_units = search.fit_kernel({of_units, 0});
    if (in_units.log_density > plain.log_density) plain = std::move(in_units);
  }
  const StretchFit found = search.fit_all(plain);
  // The kernel improved further beside the stretch: that gain must not count for the turn.
  const StretchFit again = search.fit_kernel(plain.stretch, found.kernel);
  turn.gain = found.log_density - std::max(plain.log_density, again.log_density);
  if (!(turn.gain >= kLeastGain)) return {};
  describe(metric_of(found.stretch, 1), turn);
  const Eigen::Matrix2d matrix = with_equal_extents(places, metric_of(found.stretch, 0.5));
  turn.matrix = {matrix(0, 0), matrix(0, 1), matrix(1, 0), matrix(1, 1)};
  return turn;
}

}  // namespace npzoo
