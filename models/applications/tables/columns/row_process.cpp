#include "npzoo/models/applications/tables/columns/row_process.h"

#include <algorithm>
#include <cmath>
#include <eigen3/Eigen/Cholesky>
#include <eigen3/Eigen/Core>
#include <eigen3/Eigen/Eigenvalues>
#include <limits>
#include <utility>
#include <vector>

#include "npzoo/engine/cancellation.h"

namespace npzoo {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr double kJitter = 1e-7;  // variance of a standardised cell

bool is_empty(const CellTable& table, std::size_t row) {
  for (std::size_t c = 0; c < table.columns; ++c)
    if (table.known(row, c)) return false;
  return true;
}

/// Known cells and the first prediction of missing ones, minus the mean; NaN in rows without a known cell.
MatrixXd deviations_of(const ColumnGaussian& gaussian, const CellTable& table, const CellFigures& completed) {
  MatrixXd deviations(static_cast<Index>(table.rows), static_cast<Index>(table.columns));
  for (std::size_t i = 0; i < table.rows; ++i) {
    const bool empty = is_empty(table, i);
    for (std::size_t c = 0; c < table.columns; ++c) {
      const double missing = empty ? std::numeric_limits<double>::quiet_NaN() : completed.mean(i, c);
      deviations(static_cast<Index>(i), static_cast<Index>(c)) =
          (table.known(i, c) ? table(i, c) : missing) - gaussian.mean[c];
    }
  }
  return deviations;
}

/// The axes of the covariance of columns.
class PrincipalAxes {
 public:
  explicit PrincipalAxes(const ColumnGaussian& gaussian)
      : solver_(Eigen::Map<const MatrixXd>(gaussian.covariance.data(), std::ssize(gaussian.mean),
                                           std::ssize(gaussian.mean))),
        roots_(solver_.eigenvalues().cwiseMax(std::numeric_limits<double>::epsilon()).cwiseSqrt()) {}

  /// Components of variance 1 of rows of deviations.
  MatrixXd components(const MatrixXd& deviations) const {
    return deviations * solver_.eigenvectors() * roots_.cwiseInverse().asDiagonal();
  }
  /// (D, D): what a component adds to each column.
  MatrixXd loadings() const { return solver_.eigenvectors() * roots_.asDiagonal(); }

 private:
  Eigen::SelfAdjointEigenSolver<MatrixXd> solver_;
  VectorXd roots_;
};

/// The state of all components, and how it changes from row to row.
class States {
 public:
  explicit States(const RowProcess& process) : kernels_(process.components) {
    const std::vector<ComponentKernel>& kernels = process.components;
    const auto columns = static_cast<Index>(process.mean.size());
    const Eigen::Map<const RowMajor> loadings(process.loadings.data(), columns, std::ssize(kernels));
    for (const ComponentKernel& kernel : kernels) size_ += kernel.states();
    stationary_.resize(size_);
    to_columns = MatrixXd::Zero(loadings.rows(), size_);
    VectorXd noise(loadings.cols());
    Index at = 0;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      const auto component = static_cast<Index>(k);
      to_columns.col(at) = loadings.col(component);
      stationary_.segment(at, kernels[k].states()).setConstant(1 - kernels[k].noise);
      noise[component] = kernels[k].noise;
      at += kernels[k].states();
    }
    covariance = stationary_.asDiagonal();
    mean = VectorXd::Zero(size_);
    errors = loadings * noise.asDiagonal() * loadings.transpose();
    errors.diagonal().array() += kJitter;
  }

  /// Moves the state ahead by a time.
  void move(double step) {
    if (step != step_) {
      step_ = step;
      transition = MatrixXd::Zero(size_, size_);
      decay_.resize(size_);
      Index at = 0;
      for (const ComponentKernel& kernel : kernels_) {
        const double decay = std::exp(-step / kernel.range), angle = step * kernel.frequency;
        decay_.segment(at, kernel.states()).setConstant(decay);
        transition(at, at) = decay * std::cos(angle);
        if (kernel.states() == 2) {
          transition(at + 1, at + 1) = transition(at, at);
          transition(at + 1, at) = decay * std::sin(angle);
          transition(at, at + 1) = -transition(at + 1, at);
        }
        at += kernel.states();
      }
    }
    mean = (transition * mean).eval();
    covariance = (transition * covariance * transition.transpose()).eval();
    covariance.diagonal().array() += stationary_.array() * (1 - decay_.array().square());
  }

  VectorXd mean;
  MatrixXd covariance;
  MatrixXd transition;  // of the last move
  MatrixXd to_columns;  // (D, S)
  MatrixXd errors;      // (D, D): covariance of the white noise of a row

 private:
  const std::vector<ComponentKernel>& kernels_;
  Index size_ = 0;
  double step_ = std::numeric_limits<double>::quiet_NaN();
  VectorXd stationary_, decay_;
};

/// Rows of one pattern: their noise in missing cells, given the state and the known cells.
struct PatternNoise {
  std::vector<Index> known, missing;
  MatrixXd to_known;    // (K, S)
  MatrixXd errors;      // (K, K)
  MatrixXd regression;  // (M, K)
  MatrixXd from_state;  // (M, S): what the state says beyond the known cells
  VectorXd variance;    // (M)

  PatternNoise(const RowPattern& pattern, const States& states)
      : known(pattern.known.begin(), pattern.known.end()), missing(pattern.missing.begin(), pattern.missing.end()) {
    to_known = states.to_columns(known, Eigen::all);
    errors = states.errors(known, known);
    const MatrixXd shared = states.errors(known, missing);
    regression = errors.llt().solve(shared).transpose();
    from_state = states.to_columns(missing, Eigen::all) - regression * to_known;
    variance = states.errors.diagonal()(missing) - (regression.cwiseProduct(shared.transpose())).rowwise().sum();
  }
};

/// A row after the filter has seen it and those before.
struct FilteredRow {
  const PatternNoise* pattern = nullptr;
  VectorXd mean;        // of the state
  MatrixXd covariance;  // of the state
  MatrixXd left;        // I − K H: the share of the prediction in the mean
  MatrixXd precision;   // Hᵀ S⁻¹ H
  VectorXd pull;        // Hᵀ S⁻¹ (known cells − their prediction)
  MatrixXd transition;  // from the row before
};

class Smoother {
 public:
  Smoother(const RowProcess& process, const CellTable& table)
      : mean_(process.mean), table_(table), states_(process), pattern_of_(table.rows) {
    for (const RowPattern& pattern : row_patterns(table)) {
      for (const std::uint32_t row : pattern.rows) pattern_of_[row] = patterns_.size();
      patterns_.emplace_back(pattern, states_);
    }
  }

  CellFigures predict(std::span<const double> times) {
    std::vector<FilteredRow> rows;
    rows.reserve(times.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
      throw_if_stopped();
      if (i > 0) states_.move(times[i] - times[i - 1]);
      rows.push_back(see(i));
    }
    CellFigures figures(table_.rows, table_.columns);
    VectorXd pull = VectorXd::Zero(states_.mean.size());  // of later rows
    MatrixXd precision = MatrixXd::Zero(pull.size(), pull.size());
    for (std::size_t i = times.size(); i-- > 0;) {
      throw_if_stopped();
      const FilteredRow& row = rows[i];
      put(i, row, row.mean + row.covariance * pull, row.covariance - row.covariance * precision * row.covariance,
          figures);
      if (i == 0) break;
      pull = row.transition.transpose() * (row.pull + row.left.transpose() * pull);
      precision =
          row.transition.transpose() * (row.precision + row.left.transpose() * precision * row.left) * row.transition;
    }
    return figures;
  }

 private:
  /// Known cells minus the mean of their columns.
  VectorXd cells(std::size_t row, const PatternNoise& pattern) const {
    VectorXd cells(static_cast<Index>(pattern.known.size()));
    for (Index k = 0; k < cells.size(); ++k) {
      const auto c = static_cast<std::size_t>(pattern.known[static_cast<std::size_t>(k)]);
      cells[k] = table_(row, c) - mean_[c];
    }
    return cells;
  }

  FilteredRow see(std::size_t row) {
    const PatternNoise& pattern = patterns_[pattern_of_[row]];
    const MatrixXd& h = pattern.to_known;
    const MatrixXd seen = h * states_.covariance;
    const Eigen::LLT<MatrixXd> innovation(seen * h.transpose() + pattern.errors);
    const MatrixXd weighted = innovation.solve(h).transpose();  // Hᵀ S⁻¹
    FilteredRow now;
    now.pattern = &pattern;
    now.precision = weighted * h;
    now.pull = weighted * (cells(row, pattern) - h * states_.mean);
    now.left = MatrixXd::Identity(now.precision.rows(), now.precision.rows()) - states_.covariance * now.precision;
    now.transition = states_.transition;
    states_.mean += states_.covariance * now.pull;
    states_.covariance -= (seen.transpose() * innovation.solve(seen)).eval();
    now.mean = states_.mean;
    now.covariance = states_.covariance;
    return now;
  }

  void put(std::size_t row, const FilteredRow& filtered, const VectorXd& mean, const MatrixXd& covariance,
           CellFigures& figures) const {
    const PatternNoise& pattern = *filtered.pattern;
    if (pattern.missing.empty()) return;
    constexpr double kLeast = 1e-8;
    const VectorXd expected = pattern.regression * cells(row, pattern) + pattern.from_state * mean;
    const VectorXd variance =
        pattern.variance + (pattern.from_state * covariance).cwiseProduct(pattern.from_state).rowwise().sum();
    for (std::size_t k = 0; k < pattern.missing.size(); ++k) {
      const auto c = static_cast<std::size_t>(pattern.missing[k]);
      figures.mean(row, c) = mean_[c] + expected[static_cast<Index>(k)];
      figures.std(row, c) = std::sqrt(std::max(kLeast, variance[static_cast<Index>(k)]));
    }
  }

  const std::vector<double>& mean_;
  const CellTable& table_;
  States states_;
  std::vector<PatternNoise> patterns_;
  std::vector<std::size_t> pattern_of_;  // of each row
};

}  // namespace

bool rows_can_be_followed(std::size_t rows, std::size_t columns) {
  constexpr std::size_t kMostColumns = 40, kMostCovariances = 1'000'000, kMostProducts = 30'000'000;
  if (columns > kMostColumns) return false;
  const std::size_t square = columns * columns;
  return rows <= kMostCovariances / square && rows <= kMostProducts / (square * columns);
}

PrincipalComponents principal_components(const ColumnGaussian& gaussian, const CellTable& table,
                                         const CellFigures& completed) {
  const PrincipalAxes axes(gaussian);
  MatrixXd values = axes.components(deviations_of(gaussian, table, completed));
  MatrixXd loadings = axes.loadings();
  for (Index k = 0; k < values.cols(); ++k) {
    double largest = 0, cubes = 0;
    for (const double value : values.col(k)) {
      if (std::isnan(value)) continue;
      largest = std::max(largest, std::abs(value));
      cubes += value * value * value;
    }
    constexpr double kLeast = 1e-3;  // smaller ones are roundings of columns that determine each other
    if (largest < kLeast) loadings.col(k).setZero();
    if (cubes >= 0) continue;
    values.col(k) *= -1;
    loadings.col(k) *= -1;
  }
  PrincipalComponents found{gaussian.mean, std::vector<double>(table.columns * table.columns),
                            CellTable(table.rows, table.columns)};
  Eigen::Map<RowMajor>(found.loadings.data(), loadings.rows(), loadings.cols()) = loadings;
  Eigen::Map<RowMajor>(found.values.cells.data(), values.rows(), values.cols()) = values;
  return found;
}

CellFigures PrincipalComponents::to_columns(const CellFigures& components) const {
  const auto rows = static_cast<Index>(values.rows), columns = static_cast<Index>(values.columns);
  const Eigen::Map<const RowMajor> to(loadings.data(), columns, columns);
  CellFigures figures(values.rows, values.columns);
  Eigen::Map<RowMajor> means(figures.mean.cells.data(), rows, columns), std(figures.std.cells.data(), rows, columns);
  means = Eigen::Map<const RowMajor>(components.mean.cells.data(), rows, columns) * to.transpose();
  means.rowwise() += Eigen::Map<const Eigen::RowVectorXd>(mean.data(), columns);
  const RowMajor squares = Eigen::Map<const RowMajor>(components.std.cells.data(), rows, columns).cwiseAbs2();
  std = (squares * to.cwiseAbs2().transpose()).cwiseSqrt();
  return figures;
}

RowProcess fit_row_process(const ColumnGaussian& gaussian, const CellTable& table, std::span<const double> times,
                           const CellFigures& completed) {
  const auto columns = static_cast<Index>(table.columns);
  const PrincipalAxes axes(gaussian);
  MatrixXd values = axes.components(deviations_of(gaussian, table, completed));
  MatrixXd successive = MatrixXd::Zero(columns, columns);
  for (Index row = 1; row < values.rows(); ++row)
    if (!std::isnan(values(row, 0)) && !std::isnan(values(row - 1, 0)))
      successive += values.row(row).transpose() * values.row(row - 1);
  const Eigen::SelfAdjointEigenSolver<MatrixXd> between(successive + successive.transpose());
  values = (values * between.eigenvectors()).eval();
  RowProcess process{gaussian.mean, std::vector<double>(table.columns * table.columns), {}};
  Eigen::Map<RowMajor>(process.loadings.data(), columns, columns) = axes.loadings() * between.eigenvectors();
  process.components = fit_components({values.data(), static_cast<std::size_t>(values.size())}, times);
  return process;
}

CellFigures predict_from_rows(const RowProcess& process, const CellTable& table, std::span<const double> times) {
  return Smoother(process, table).predict(times);
}

}  // namespace npzoo
