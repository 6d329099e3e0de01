#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace npzoo {

/// Gauss-Legendre rule on [−1, 1]: exact for polynomials of degrees below 2n (Press et al., "Numerical Recipes", 2007,
/// section 4.6).
struct GaussLegendre {
  std::vector<double> nodes;    // (n), ascending
  std::vector<double> weights;  // (n), of sum 2
};
/// n >= 1, else throws Error.
GaussLegendre gauss_legendre(int n);

/// A point of the unit cube, with the logarithm of the part of an integral that it stands for.
struct QuadratureNode {
  std::vector<double> at;  // (dims)
  double log_weight = 0;
};

/// How the unit cube is divided into cells. No dimensions are legal: the cube is then one point.
struct QuadratureRule {
  std::vector<std::int64_t> panels{};  // (dims): equal parts of each side to begin with
  int nodes = 8;                       // Gauss-Legendre nodes along each side of a cell, at least 4
  double tolerance = 1e-3;             // of a cell, as a share of the integral: see adaptive_quadrature
  /// Place of a known peak; empty: none. The cell that holds it is halved until its sides are at most `peak_width`, so
  /// that even a narrow peak is found.
  std::vector<double> peak{}, peak_width{};  // (dims)
};

/// Nodes for integrals in which a factor exp(log_density) dominates: ∫ exp(log_density(u)) h(u) du over the unit cube
/// is near Σ exp(log_weight) h(at). Nodes that stand for less than 1e-10 of ∫ exp(log_density) are left out.
///
/// Sides of cells are halved where the leading two of the Legendre coefficients that the nodes tell are more than
/// `tolerance` of the integral: what is beyond them is then about the square of that. A peak that is narrow compared
/// with the distance of the first nodes may be missed. `log_density` may be −infinity, but not everywhere; throws Error
/// where the integral is not a positive number.
std::vector<QuadratureNode> adaptive_quadrature(const std::function<double(std::span<const double>)>& log_density,
                                                const QuadratureRule& rule);

}  // namespace npzoo
