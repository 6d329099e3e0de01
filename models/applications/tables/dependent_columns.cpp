#include "npzoo/models/applications/tables/dependent_columns.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace npzoo {

namespace {

/// Sums of products of the columns in standard units, (count, count).
std::vector<double> correlations(const std::vector<double>& rows, std::size_t count, const ColumnDependence& d) {
  std::vector<double> sums(count * count), row(count);
  for (std::size_t i = 0; i < rows.size(); i += count) {
    for (std::size_t c = 0; c < count; ++c)
      row[c] = d.deviation[c] > 0 ? (rows[i + c] - d.center[c]) / d.deviation[c] : 0;
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = 0; b <= a; ++b) sums[a * count + b] += row[a] * row[b];
  }
  const auto n = static_cast<double>(rows.size() / count);
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b <= a; ++b) sums[b * count + a] = sums[a * count + b] /= n;
  return sums;
}

/// Sweeps pivot `p`: each column that was not swept is then split into a function of the swept ones and a remainder.
void sweep(std::vector<double>& a, std::size_t count, std::size_t p) {
  const double pivot = a[p * count + p];
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < count; ++j)
      if (i != p && j != p) a[i * count + j] -= a[i * count + p] * a[p * count + j] / pivot;
  for (std::size_t i = 0; i < count; ++i)
    if (i != p) a[p * count + i] = a[p * count + i] / pivot, a[i * count + p] = -a[i * count + p] / pivot;
  a[p * count + p] = 1 / pivot;
}

}  // namespace

double ColumnDependence::difference(const DependentColumn& of, const double* row) const {
  constexpr double kRounding = 1e-3;
  const auto standard = [&](std::size_t c) { return (row[c] - center[c]) / deviation[c]; };
  const double own = standard(of.column);
  double rest = own, size = std::max(1.0, std::abs(own));
  for (std::size_t c = 0; c < of.weights.size(); ++c) {
    if (of.weights[c] == 0) continue;
    const double part = of.weights[c] * standard(c);
    rest -= part;
    size = std::max(size, std::abs(part));
  }
  return std::abs(rest) > kRounding * size ? rest : 0;
}

std::vector<std::size_t> ColumnDependence::components() const {
  std::vector<std::size_t> component(center.size());
  std::iota(component.begin(), component.end(), std::size_t{0});
  for (const DependentColumn& d : dependent)
    for (std::size_t c = 0; c < center.size(); ++c)
      if (d.weights[c] != 0) std::ranges::replace(component, component[c], component[d.column]);
  return component;
}

ColumnDependence find_dependence(const std::vector<double>& rows, std::size_t count) {
  constexpr double kUnexplained = 1e-8, kNoPart = 1e-6;
  const std::size_t n = rows.size() / count;
  ColumnDependence found{std::vector<double>(count), std::vector<double>(count)};
  for (std::size_t i = 0; i < rows.size(); ++i) found.center[i % count] += rows[i] / static_cast<double>(n);
  for (std::size_t i = 0; i < rows.size(); ++i)
    found.deviation[i % count] += std::pow(rows[i] - found.center[i % count], 2) / static_cast<double>(n);
  for (std::size_t c = 0; c < count; ++c) {
    found.deviation[c] = std::sqrt(found.deviation[c]);
    bool varies = false;
    for (std::size_t i = c; i < rows.size(); i += count) varies = varies || rows[i] != rows[c];
    if (!varies) found.deviation[c] = 0;
  }
  std::vector<double> a = correlations(rows, count, found);
  std::vector<bool> swept(count);
  for (;;) {  // the column with the largest remainder next
    std::size_t next = count;
    for (std::size_t c = 0; c < count; ++c)
      if (!swept[c] && a[c * count + c] > kUnexplained && (next == count || a[c * count + c] > a[next * count + next]))
        next = c;
    if (next == count) break;
    sweep(a, count, next);
    swept[next] = true;
  }
  for (std::size_t c = 0; c < count; ++c) {
    if (swept[c] || found.deviation[c] == 0) continue;
    DependentColumn& d = found.dependent.emplace_back(DependentColumn{c, std::vector<double>(count)});
    for (std::size_t k = 0; k < count; ++k)
      if (swept[k] && std::abs(a[k * count + c]) > kNoPart) d.weights[k] = a[k * count + c];
  }
  return found;
}

}  // namespace npzoo
