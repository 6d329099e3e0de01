#include "npzoo/datasets/symmetric_factor.h"

#include <algorithm>
#include <eigen3/Eigen/Cholesky>
#include <utility>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

using DenseMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixView = Eigen::Map<DenseMatrix>;
using ConstMatrixView = Eigen::Map<const DenseMatrix>;
using VectorView = Eigen::Map<Eigen::VectorXd>;
using ConstVectorView = Eigen::Map<const Eigen::VectorXd>;

constexpr std::int64_t kBlock = 128;         // rows that are factorised together
constexpr std::int64_t kLook = 100'000'000;  // products between two looks at the stop token
constexpr std::int64_t kTogether = 24;       // a multiple of the rows and columns that Eigen's kernels take at a time

/// Returns how many rows or columns of `products` each to work on between two looks.
std::int64_t step_of(std::int64_t products) {
  return kTogether * std::max<std::int64_t>(1, kLook / std::max<std::int64_t>(1, kTogether * products));
}

/// A ← A − P Pᵀ in the lower triangle.
template <class P>
void subtract_own_product(Eigen::Ref<DenseMatrix> a, const P& p) {
  const std::int64_t rows = a.rows(), step = step_of(rows * p.cols());
  for (std::int64_t first = 0; first < rows; first += step) {
    throw_if_stopped();
    const std::int64_t size = std::min(step, rows - first);
    const auto some = p.middleRows(first, size);
    if (first > 0) a.block(first, 0, size, first).noalias() -= some * p.topRows(first).transpose();
    a.block(first, first, size, size).selfadjointView<Eigen::Lower>().rankUpdate(some, -1);
  }
}

/// Calls `solve` with some columns of B (n, m) at a time.
template <class F>
void solve_columns(std::span<double> b, std::int64_t n, std::int64_t m, const F& solve) {
  MatrixView x(b.data(), n, m);
  const std::int64_t step = step_of(n * n / 2);
  for (std::int64_t first = 0; first < m; first += step) {
    if (first > 0) throw_if_stopped();
    solve(x.middleCols(first, std::min(step, m - first)));
  }
}

/// Throws Error with the first pivot of `rest` that is not positive, or with the smallest one if rounding hides it.
[[noreturn]] void fail_at_pivot(DenseMatrix rest, std::int64_t first, std::int64_t n) {
  Eigen::Index at = 0;
  double pivot = rest(0, 0);
  for (Eigen::Index k = 0; k < rest.rows(); ++k) {
    if (!(rest(k, k) > pivot)) pivot = rest(at = k, k);
    if (!(rest(k, k) > 0)) break;
    const Eigen::Index below = rest.rows() - k - 1;
    const Eigen::VectorXd column = rest.col(k).tail(below);
    rest.bottomRightCorner(below, below) -= column * column.transpose() / rest(k, k);
  }
  fail("[cholesky] {} x {} matrix is not positive definite: pivot {} is {}, expected > 0", n, n, first + at, pivot);
}

}  // namespace

SymmetricFactor::SymmetricFactor(std::vector<double> matrix, std::int64_t n) : l_(std::move(matrix)), n_(n) {
  check(static_cast<std::int64_t>(l_.size()) == n * n, "[cholesky] {} elements found, expected a {} x {} matrix",
        l_.size(), n, n);
  MatrixView a(l_.data(), n, n);
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::int64_t size = std::min(kBlock, n - first), below = n - first - size;
    Eigen::Ref<DenseMatrix> block = a.block(first, first, size, size);
    const DenseMatrix before = block;
    const Eigen::LLT<Eigen::Ref<DenseMatrix>> factored(block);
    if (factored.info() != Eigen::Success || !(block.diagonal().array() > 0).all()) fail_at_pivot(before, first, n);
    auto panel = a.block(first + size, first, below, size);
    block.triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(panel);
    throw_if_stopped();
    subtract_own_product(a.bottomRightCorner(below, below), panel);
  }
}

std::int64_t SymmetricFactor::columns(std::span<const double> b) const {
  const auto size = static_cast<std::int64_t>(b.size());
  check(n_ > 0 ? size % n_ == 0 : size == 0, "[cholesky] {} elements found, expected right-hand sides of {} rows", size,
        n_);
  return n_ > 0 ? size / n_ : 0;
}

void SymmetricFactor::solve_lower(std::span<double> b) const {
  const std::int64_t m = columns(b);
  const auto l = ConstMatrixView(l_.data(), n_, n_).triangularView<Eigen::Lower>();
  if (m == 1) {  // several times faster than a matrix of one column
    VectorView x(b.data(), n_);
    l.solveInPlace(x);
  } else {
    solve_columns(b, n_, m, [&](auto x) { l.solveInPlace(x); });
  }
}

void SymmetricFactor::solve_upper(std::span<double> b) const {
  const std::int64_t m = columns(b);
  const auto u = ConstMatrixView(l_.data(), n_, n_).transpose().triangularView<Eigen::Upper>();
  solve_columns(b, n_, m, [&](auto x) { u.solveInPlace(x); });
}

std::vector<double> SymmetricFactor::multiply(std::span<const double> z) const {
  std::vector<double> out(z.size());
  VectorView(out.data(), n_) =
      ConstMatrixView(l_.data(), n_, n_).triangularView<Eigen::Lower>() * ConstVectorView(z.data(), n_);
  return out;
}

std::vector<double> SymmetricFactor::inverse() const {
  std::vector<double> out(l_.size());
  MatrixView(out.data(), n_, n_).setIdentity();
  solve_lower(out);
  solve_upper(out);
  return out;
}

double SymmetricFactor::log_determinant() const {
  return 2 * ConstMatrixView(l_.data(), n_, n_).diagonal().array().log().sum();
}

void subtract_square(std::span<double> a, std::int64_t m, std::span<const double> v) {
  if (v.empty()) return;  // Eigen divides by its size
  subtract_own_product(MatrixView(a.data(), m, m), ConstMatrixView(v.data(), std::ssize(v) / m, m).transpose());
}

}  // namespace npzoo
