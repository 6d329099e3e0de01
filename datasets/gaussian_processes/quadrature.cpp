#include "npzoo/datasets/gaussian_processes/quadrature.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "npzoo/datasets/gaussian_processes/log_sum.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr int kMaxDepth = 20;
constexpr double kNegligible = 1e-10;

/// P_0(x) … P_n(x).
std::vector<double> legendre(int n, double x) {
  std::vector<double> p{1, x};
  for (int k = 2; k <= n; ++k) p.push_back(((2 * k - 1) * x * p[k - 1] - (k - 1) * p[k - 2]) / k);
  return p;
}

struct Cell {
  std::vector<double> low, width;       // (dims)
  std::vector<QuadratureNode> nodes{};  // the first side varies fastest
};

/// Calls `f` with every way to take one of counts[k] for each k, the first varying fastest.
template <class F>
void for_each_index(std::span<const std::int64_t> counts, const F& f) {
  std::vector<std::int64_t> index(counts.size());
  while (true) {
    f(std::as_const(index));
    std::size_t k = 0;
    while (k < counts.size() && ++index[k] == counts[k]) index[k++] = 0;
    if (k == counts.size()) return;
  }
}

class Refinement {
 public:
  Refinement(const std::function<double(std::span<const double>)>& log_density, const QuadratureRule& rule)
      : log_density_(log_density), rule_(rule), dims_(rule.panels.size()), line_(gauss_legendre(rule.nodes)) {
    for (const double x : line_.nodes) {
      const auto p = legendre(rule.nodes - 1, x);
      leading_.emplace_back(p[rule.nodes - 1], p[rule.nodes - 2]);
    }
  }

  std::vector<QuadratureNode> nodes() {
    const Cell cube{std::vector<double>(dims_, 0), std::vector<double>(dims_, 1)};
    std::vector<Cell> fresh;
    divide(cube, rule_.panels, fresh);
    for (int depth = 0; !fresh.empty(); ++depth) {
      LogSum sum = settled_sum_;
      for (Cell& cell : fresh) {
        evaluate(cell);
        for (const QuadratureNode& node : cell.nodes) sum.add(node.log_weight);
      }
      log_total_ = sum.value();
      check(std::isfinite(log_total_), "[quadrature] the logarithm of an integral is {}, expected a finite number",
            log_total_);
      fresh = settle(std::move(fresh), depth);
    }
    std::erase_if(settled_, [this](const auto& node) { return node.log_weight < log_total_ + std::log(kNegligible); });
    return std::move(settled_);
  }

 private:
  void divide(const Cell& cell, std::span<const std::int64_t> parts, std::vector<Cell>& out) const {
    for_each_index(parts, [&](const auto& index) {
      Cell part{cell.low, cell.width};
      for (std::size_t k = 0; k < dims_; ++k) {
        part.width[k] /= static_cast<double>(parts[k]);
        part.low[k] += static_cast<double>(index[k]) * part.width[k];
      }
      out.push_back(std::move(part));
    });
  }

  void evaluate(Cell& cell) const {
    for_each_index(std::vector<std::int64_t>(dims_, rule_.nodes), [&](const auto& index) {
      QuadratureNode node{std::vector<double>(dims_), 0};
      for (std::size_t k = 0; k < dims_; ++k) {
        const double half = cell.width[k] / 2;
        node.at[k] = cell.low[k] + half * (1 + line_.nodes[index[k]]);
        node.log_weight += std::log(half * line_.weights[index[k]]);
      }
      node.log_weight += log_density_(node.at);
      cell.nodes.push_back(std::move(node));
    });
  }

  /// Keeps the nodes of cells that are fine enough; returns the parts of the others.
  std::vector<Cell> settle(std::vector<Cell> cells, int depth) {
    std::vector<Cell> parts;
    for (Cell& cell : cells) {
      std::vector<std::int64_t> halves(dims_, 1);
      for (std::size_t k = 0; k < dims_ && depth < kMaxDepth; ++k)
        if (holds_peak(cell, k) || error(cell, k) > rule_.tolerance) halves[k] = 2;
      if (std::ranges::find(halves, 2) != halves.end()) {
        divide(cell, halves, parts);
        continue;
      }
      for (QuadratureNode& node : cell.nodes) {
        settled_sum_.add(node.log_weight);
        settled_.push_back(std::move(node));
      }
    }
    return parts;
  }

  bool holds_peak(const Cell& cell, std::size_t side) const {
    if (rule_.peak.empty() || cell.width[side] <= rule_.peak_width[side]) return false;
    for (std::size_t k = 0; k < dims_; ++k)
      if (rule_.peak[k] < cell.low[k] || rule_.peak[k] > cell.low[k] + cell.width[k]) return false;
    return true;
  }

  /// Leading Legendre coefficients along one side, summed over all lines of nodes in that direction.
  double error(const Cell& cell, std::size_t side) const {
    std::int64_t stride = 1;
    for (std::size_t k = 0; k < side; ++k) stride *= rule_.nodes;
    double sum = 0;
    for (std::int64_t begin = 0; begin < std::ssize(cell.nodes); ++begin) {
      if (begin / stride % rule_.nodes != 0) continue;
      double a = 0, b = 0;
      for (int i = 0; i < rule_.nodes; ++i) {
        const double share = std::exp(cell.nodes[begin + i * stride].log_weight - log_total_);
        a += share * leading_[i].first;
        b += share * leading_[i].second;
      }
      sum += std::abs(a) + std::abs(b);
    }
    return sum;
  }

  const std::function<double(std::span<const double>)>& log_density_;
  const QuadratureRule& rule_;
  std::size_t dims_;
  GaussLegendre line_;
  std::vector<std::pair<double, double>> leading_;  // at the nodes: the Legendre polynomials of highest degrees
  std::vector<QuadratureNode> settled_;
  LogSum settled_sum_;
  double log_total_ = 0;
};

}  // namespace

GaussLegendre gauss_legendre(int n) {
  check(n >= 1, "[gauss-legendre] {} nodes, expected at least 1", n);
  constexpr int kSteps = 8;  // of Newton's method, which converges quadratically from here
  GaussLegendre rule;
  for (int i = 0; i < n; ++i) {
    double x = -std::cos(std::numbers::pi * (i + 0.75) / (n + 0.5)), slope = 0;
    for (int step = 0; step < kSteps; ++step) {
      const auto p = legendre(n, x);
      slope = n * (x * p[n] - p[n - 1]) / (x * x - 1);
      x -= p[n] / slope;
    }
    rule.nodes.push_back(x);
    rule.weights.push_back(2 / ((1 - x * x) * slope * slope));
  }
  return rule;
}

std::vector<QuadratureNode> adaptive_quadrature(const std::function<double(std::span<const double>)>& log_density,
                                                const QuadratureRule& rule) {
  check(rule.nodes >= 4, "[quadrature] {} nodes along a side, expected at least 4", rule.nodes);
  return Refinement(log_density, rule).nodes();
}

}  // namespace npzoo
