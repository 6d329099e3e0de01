#include "npzoo/models/applications/tables/baselines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "npzoo/datasets/scores.h"
#include "npzoo/models/applications/neighbour_tree.h"

namespace npzoo {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Interpolates one series.
class Interpolation {
 public:
  Interpolation(std::vector<double> x, std::vector<double> y, std::size_t dims)
      : dims_(dims), x_(std::move(x)), y_(std::move(y)) {
    scale();
    if (dims_ > 1) {
      tree_.emplace(x_, dims_);
    } else {
      order_.resize(y_.size());
      std::iota(order_.begin(), order_.end(), std::size_t{0});
      std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return x_[i]; });
    }
    double square = 0;
    for (std::size_t i = 0; i < y_.size(); ++i) {
      const std::size_t row = dims_ > 1 ? i : order_[i];
      const double error = (dims_ > 1 ? weighted(&x_[row * dims_], row) : without(i)) - y_[row];
      square += error * error / static_cast<double>(y_.size());
    }
    std_ = std::sqrt(square);
  }

  double std() const { return std_; }
  double at(const double* place) const {
    std::vector<double> scaled(place, place + dims_);
    for (std::size_t d = 0; d < dims_; ++d) scaled[d] /= extent_[d];
    return dims_ > 1 ? weighted(scaled.data(), y_.size()) : linear(scaled[0]);
  }

 private:
  static constexpr std::size_t kNeighbours = 16;

  void scale() {
    for (std::size_t d = 0; d < dims_; ++d) {
      double low = std::numeric_limits<double>::infinity(), high = -low;
      for (std::size_t i = d; i < x_.size(); i += dims_) {
        low = std::min(low, x_[i]);
        high = std::max(high, x_[i]);
      }
      extent_.push_back(high > low ? high - low : 1);
      for (std::size_t i = d; i < x_.size(); i += dims_) x_[i] /= extent_.back();
    }
  }

  /// The mean of the nearest points but one.
  double weighted(const double* place, std::size_t but) const {
    double sum = 0, weights = 0, here = 0;
    int at_place = 0;
    for (const auto& [square, row] : tree_->nearest(place, kNeighbours + 1)) {
      if (row == but) continue;
      if (square == 0) {
        here += y_[row];
        ++at_place;
        continue;
      }
      sum += y_[row] / square;
      weights += 1 / square;
    }
    return at_place > 0 ? here / at_place : sum / weights;
  }

  static double between(double x, double x0, double y0, double x1, double y1) {
    return x1 > x0 ? y0 + (x - x0) / (x1 - x0) * (y1 - y0) : (y0 + y1) / 2;
  }

  double linear(double x) const {
    const auto above = std::ranges::lower_bound(order_, x, {}, [&](std::size_t i) { return x_[i]; });
    if (above == order_.begin()) return y_[order_.front()];
    if (above == order_.end()) return y_[order_.back()];
    const std::size_t a = *(above - 1), b = *above;
    return between(x, x_[a], y_[a], x_[b], y_[b]);
  }

  /// Interpolates at point number `at` along the line, from its neighbours.
  double without(std::size_t at) const {
    if (at == 0) return y_[order_[1]];
    if (at + 1 == order_.size()) return y_[order_[at - 1]];
    const std::size_t a = order_[at - 1], b = order_[at + 1];
    return between(x_[order_[at]], x_[a], y_[a], x_[b], y_[b]);
  }

  std::size_t dims_;
  std::vector<double> x_, y_, extent_{};
  std::optional<NeighbourTree> tree_{};  // for several inputs
  std::vector<std::size_t> order_{};     // for one, by its places
  double std_ = 0;
};

}  // namespace

BaselineScores score_interpolation(const TableQuestion& q, std::int64_t dim_x) {
  constexpr std::size_t kFewest = 3;
  const auto dims = static_cast<std::size_t>(dim_x);
  const auto group_of = [](std::span<const std::uint32_t> groups, std::size_t i) {
    return groups.empty() ? 0 : static_cast<std::int64_t>(groups[i]);
  };
  BaselineScores all{dim_x == 1 ? "linear interpolation" : "inverse distance", {}};
  for (std::size_t v = 0; v < q.truth.size(); ++v) {
    std::vector<std::vector<double>> x(static_cast<std::size_t>(q.group_count)), y = x;
    for (std::size_t i = 0; i < q.y[v].size(); ++i) {
      if (std::isnan(q.y[v][i])) continue;
      const auto g = static_cast<std::size_t>(group_of(q.groups, i));
      x[g].insert(x[g].end(), &q.x[i * dims], &q.x[i * dims] + dims);
      y[g].push_back(q.y[v][i]);
    }
    std::vector<std::optional<Interpolation>> series(x.size());
    for (std::size_t g = 0; g < x.size(); ++g)
      if (y[g].size() >= kFewest) series[g].emplace(std::move(x[g]), std::move(y[g]), dims);
    MarginalFit fit;
    TruthScores& scores = all.scores.emplace_back();
    for (std::size_t i = 0; i < q.truth[v].size(); ++i) {
      const auto& by = series[static_cast<std::size_t>(group_of(q.target_groups, i))];
      const double y_true = q.truth[v][i];
      if (std::isnan(y_true) || !by) continue;
      const double mean = by->at(&q.targets[i * dims]), error = mean - y_true;
      ++scores.rows;
      scores.mae += std::abs(error);
      scores.rmse += error * error;
      fit.add(mean, by->std(), y_true);
    }
    const double rows = scores.rows > 0 ? static_cast<double>(scores.rows) : kUnknown;
    scores = {scores.rows, scores.mae / rows, std::sqrt(scores.rmse / rows), scores.rows > 0 ? fit.crps() : kUnknown,
              scores.rows > 0 ? fit.coverage(95) : kUnknown};
  }
  return all;
}

}  // namespace npzoo
