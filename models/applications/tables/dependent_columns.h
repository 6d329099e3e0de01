#pragma once

#include <cstddef>
#include <vector>

namespace npzoo {

/// A column that is a linear function of others: in standard units column = Σ weights · others.
struct DependentColumn {
  std::size_t column = 0;
  std::vector<double> weights{};  // of all columns; 0 where a column has no part
};

/// Centers and standard deviations of columns, and the columns that depend on others. Columns of one value have the
/// deviation 0 and depend on none.
struct ColumnDependence {
  std::vector<double> center{}, deviation{};
  std::vector<DependentColumn> dependent{};

  /// The difference between a dependent column and its function of the others in a row, in standard units, if it is
  /// more than rounding; else 0.
  double difference(const DependentColumn& of, const double* row) const;
  /// A number for each column: columns with the same one depend on each other, directly or by way of others.
  std::vector<std::size_t> components() const;
};

/// `rows` (n, count), row-major. A column depends on others if they explain all but 10⁻⁸ of its variance.
ColumnDependence find_dependence(const std::vector<double>& rows, std::size_t count);

}  // namespace npzoo
