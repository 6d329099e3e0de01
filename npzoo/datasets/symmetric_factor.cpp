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

constexpr std::int64_t kBlock = 128;  // rows between two looks at the stop token

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
  check(static_cast<std::int64_t>(l_.size()) == n * n, "[cholesky] {} elements are no {} x {} matrix", l_.size(), n, n);
  MatrixView a(l_.data(), n, n);
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::int64_t size = std::min(kBlock, n - first), below = n - first - size;
    Eigen::Ref<DenseMatrix> block = a.block(first, first, size, size);
    const DenseMatrix before = block;
    const Eigen::LLT<Eigen::Ref<DenseMatrix>> factored(block);
    if (factored.info() != Eigen::Success || !(block.diagonal().array() > 0).all()) fail_at_pivot(before, first, n);
    auto panel = a.block(first + size, first, below, size);
    block.triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(panel);
    a.bottomRightCorner(below, below).selfadjointView<Eigen::Lower>().rankUpdate(panel, -1);
    throw_if_stopped();
  }
}

std::int64_t SymmetricFactor::columns(std::span<const double> b) const {
  const auto size = static_cast<std::int64_t>(b.size());
  check(n_ > 0 ? size % n_ == 0 : size == 0, "[cholesky] {} elements are no right-hand sides of {} rows", size, n_);
  return n_ > 0 ? size / n_ : 0;
}

void SymmetricFactor::solve_lower(std::span<double> b) const {
  const std::int64_t m = columns(b);
  const auto l = ConstMatrixView(l_.data(), n_, n_).triangularView<Eigen::Lower>();
  if (m == 1) {  // several times faster than a matrix of one column
    VectorView x(b.data(), n_);
    l.solveInPlace(x);
  } else {
    MatrixView x(b.data(), n_, m);
    l.solveInPlace(x);
  }
}

void SymmetricFactor::solve_upper(std::span<double> b) const {
  MatrixView x(b.data(), n_, columns(b));
  ConstMatrixView(l_.data(), n_, n_).transpose().triangularView<Eigen::Upper>().solveInPlace(x);
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
  const std::int64_t n = m > 0 ? std::ssize(v) / m : 0;
  MatrixView(a.data(), m, m)
      .selfadjointView<Eigen::Lower>()
      .rankUpdate(ConstMatrixView(v.data(), n, m).transpose(), -1);
}

}  // namespace npzoo
