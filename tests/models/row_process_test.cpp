#include "npzoo/models/applications/tables/columns/row_process.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "npzoo/engine/random.h"
#include "npzoo/models/applications/tables/columns/columns_together.h"
#include "npzoo/models/applications/tables/columns/symmetric_inverse.h"

using namespace npzoo;

namespace {

const double kHole = std::numeric_limits<double>::quiet_NaN();

std::vector<double> steps(std::size_t n) {
  std::vector<double> times(n);
  for (std::size_t i = 0; i < n; ++i) times[i] = static_cast<double>(i);
  return times;
}

/// A path of variance 1 that forgets with this range, with a share of noise.
std::vector<double> forgetful(std::size_t n, double range, double noise, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> normals(2 * n), path(n);
  random.fill_normal(normals);
  double state = normals[0];
  for (std::size_t i = 0; i < n; ++i) {
    const double kept = std::exp(-1 / range);
    if (i > 0) state = kept * state + std::sqrt(1 - kept * kept) * normals[2 * i];
    path[i] = std::sqrt(1 - noise) * state + std::sqrt(noise) * normals[2 * i + 1];
  }
  return path;
}

/// The covariance of two cells.
double covariance(const RowProcess& p, std::size_t a, std::size_t b, double apart, bool same_row) {
  double sum = 0;
  const std::size_t count = p.components.size();
  for (std::size_t k = 0; k < count; ++k) {
    const ComponentKernel& kernel = p.components[k];
    const double process = std::exp(-apart / kernel.range) * std::cos(apart * kernel.frequency);
    sum += p.loadings[a * count + k] * p.loadings[b * count + k] *
           ((1 - kernel.noise) * process + (same_row ? kernel.noise : 0));
  }
  return sum + (same_row && a == b ? 1e-7 : 0);
}

struct Cell {
  std::size_t row, column;
};

/// Medians of the known cells of a column in the rows around each cell.
CellFigures medians_around(const CellTable& cells) {
  constexpr std::size_t kReach = 6;
  CellFigures figures(cells.rows, cells.columns);
  for (std::size_t i = 0; i < cells.rows; ++i)
    for (std::size_t c = 0; c < cells.columns; ++c) {
      std::vector<double> known;
      for (std::size_t row = i - std::min(i, kReach); row < std::min(cells.rows, i + kReach + 1); ++row)
        if (cells.known(row, c)) known.push_back(cells(row, c));
      std::ranges::sort(known);
      figures.mean(i, c) = known.empty() ? 0 : known[known.size() / 2];
      figures.std(i, c) = 0.5;
    }
  return figures;
}

}  // namespace

TEST_CASE("row process: the kernel of a component is found") {
  const std::vector<double> times = steps(800);
  std::vector<double> values = forgetful(800, 20, 0.1, 3), season(800);
  for (std::size_t i = 0; i < 800; ++i)
    season[i] = std::sin(2 * std::numbers::pi * times[i] / 16) + 0.3 * forgetful(800, 1e-3, 0, 4)[i];
  for (std::size_t i = 100; i < 130; ++i) values[i] = kHole;
  values.insert(values.end(), season.begin(), season.end());
  const std::vector<ComponentKernel> found = fit_components(values, times);
  REQUIRE(found.size() == 2);
  CHECK(found[0].frequency == 0);
  CHECK(found[0].range > 8);
  CHECK(found[0].range < 50);
  CHECK(found[0].noise < 0.3);
  CHECK(found[1].frequency == doctest::Approx(2 * std::numbers::pi / 16).epsilon(0.01));
  CHECK(found[1].range > 100);
  CHECK(fit_components({}, {}).empty());
}

TEST_CASE("row process: the smoother is the Gaussian conditional of all cells") {
  const RowProcess process{
      {0.5, -1, 0}, {1, 0.3, 0.1, 0.8, -0.5, 0.2, 0, 0.4, 0.9}, {{3, 0, 0.2}, {5, 1.1, 0.1}, {0.5, 0, 0.6}}};
  const std::vector<double> times{0, 1, 1, 2.5, 4, 4.25, 9};
  CellTable table(times.size(), 3);
  std::vector<Cell> known, missing;
  for (std::size_t i = 0; i < times.size(); ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      const bool hidden = i == 3 || (i + c) % 3 == 0;
      (hidden ? missing : known).push_back({i, c});
      if (!hidden) table(i, c) = std::sin(3.0 * static_cast<double>(i) + 5.0 * static_cast<double>(c));
    }
  const auto between = [&](const Cell& a, const Cell& b) {
    return covariance(process, a.column, b.column, std::abs(times[a.row] - times[b.row]), a.row == b.row);
  };
  const std::size_t n = known.size();
  std::vector<double> inverse(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) inverse[i * n + j] = between(known[i], known[j]);
  invert_symmetric(inverse, n);
  const CellFigures figures = predict_from_rows(process, table, times);
  for (const Cell& cell : missing) {
    double mean = process.mean[cell.column], variance = between(cell, cell);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        const double weight = between(cell, known[i]) * inverse[i * n + j];
        mean += weight * (table(known[j].row, known[j].column) - process.mean[known[j].column]);
        variance -= weight * between(cell, known[j]);
      }
    CHECK(figures.mean(cell.row, cell.column) == doctest::Approx(mean).epsilon(1e-5));
    CHECK(figures.std(cell.row, cell.column) == doctest::Approx(std::sqrt(variance)).epsilon(1e-5));
  }
}

TEST_CASE("row process: components are those of slow and fast sums of columns") {
  const std::vector<double> slow = forgetful(1500, 40, 0, 7), fast = forgetful(1500, 1e-3, 0, 8);
  CellTable table(1500, 2);
  for (std::size_t i = 0; i < 1500; ++i) {
    table(i, 0) = 0.8 * slow[i] + 0.6 * fast[i];
    table(i, 1) = 0.8 * slow[i] - 0.6 * fast[i];
  }
  const ColumnGaussian gaussian({0, 0}, {1, 0.28, 0.28, 1});
  const RowProcess process = fit_row_process(gaussian, table, steps(1500), CellFigures(1500, 2));
  for (std::size_t a = 0; a < 2; ++a)
    for (std::size_t b = 0; b < 2; ++b)
      CHECK(process.loadings[2 * a] * process.loadings[2 * b] +
                process.loadings[2 * a + 1] * process.loadings[2 * b + 1] ==
            doctest::Approx(gaussian.covariance_of(a, b)));
  CHECK(process.components[0].range < 2);  // ascending by what successive rows share
  CHECK(process.components[1].range > 15);
  CHECK(std::abs(process.loadings[1] - process.loadings[3]) < 0.1);
  CHECK(std::abs(process.loadings[0] + process.loadings[2]) < 0.1);
  CHECK(rows_can_be_followed(365, 12));
  CHECK_FALSE(rows_can_be_followed(365, 41));
  CHECK_FALSE(rows_can_be_followed(100'000, 20));
  CHECK(rows_can_be_followed(250'000, 2));
  CHECK_FALSE(rows_can_be_followed(250'001, 2));
}

TEST_CASE("row process: principal components do not depend on the order of the columns") {
  const std::vector<double> a = forgetful(60, 5, 0.2, 1), b = forgetful(60, 5, 0.2, 2);
  CellTable table(60, 2), turned(60, 2);
  for (std::size_t i = 1; i < 60; ++i) {  // the first row is missing
    table(i, 0) = turned(i, 1) = a[i];
    table(i, 1) = turned(i, 0) = a[i] + b[i] * b[i];
  }
  const CellFigures none(60, 2);
  const PrincipalComponents one = principal_components({{0.1, 0.2}, {1, 0.6, 0.6, 1}}, table, none),
                            other = principal_components({{0.2, 0.1}, {1, 0.6, 0.6, 1}}, turned, none);
  CHECK(std::isnan(one.values(0, 0)));
  for (std::size_t i = 1; i < 60; ++i)
    for (std::size_t k = 0; k < 2; ++k) CHECK(one.values(i, k) == doctest::Approx(other.values(i, k)));
  CellFigures figures(60, 2);
  figures.mean = one.values;
  figures.std = CellTable(60, 2, 1);
  const CellFigures back = one.to_columns(figures);
  for (std::size_t c = 0; c < 2; ++c) {
    CHECK(back.mean(7, c) == doctest::Approx(table(7, c)));
    CHECK(back.std(7, c) == doctest::Approx(1));
  }
}

TEST_CASE("row process: of two columns that determine each other one component counts") {
  const std::vector<double> values = forgetful(60, 5, 0.2, 1);
  CellTable table(60, 2);
  for (std::size_t i = 0; i < 60; ++i) table(i, 0) = table(i, 1) = values[i];
  constexpr double kCorrelation = 1 - 1e-6;
  const PrincipalComponents found =
      principal_components({{0, 0}, {1, kCorrelation, kCorrelation, 1}}, table, CellFigures(60, 2));
  CellFigures one(60, 2);
  one.mean = CellTable(60, 2, 1);
  const CellFigures back = found.to_columns(one);
  for (std::size_t i = 0; i < 60; ++i) CHECK(back.mean(i, 0) == doctest::Approx(back.mean(i, 1)).epsilon(1e-12));
}

TEST_CASE("row process: whole rows come half from components, unless these are worse, and ends stay") {
  const std::vector<double> slow = forgetful(150, 15, 0, 11);
  CellTable truth(150, 3);
  for (std::size_t c = 0; c < 3; ++c) {
    const std::vector<double> own = forgetful(150, 3, 0.3, 20 + c);
    for (std::size_t i = 0; i < 150; ++i) truth(i, c) = slow[i] + 0.5 * own[i];
  }
  CellTable table = truth;
  const auto hidden = [](std::size_t row) { return row > 146 || row % 20 > 16; };
  for (std::size_t i = 0; i < 150; ++i)
    for (std::size_t c = 0; c < 3 && hidden(i); ++c) table(i, c) = kHole;
  const CellFigures alone = medians_around(table);
  const ColumnsAnswer answer = fill_columns(table, alone, medians_around, steps(150), table.columns);
  CHECK_FALSE(answer.together());
  double apart = 0, half = 0;
  for (std::size_t i = 0; i < 150; ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      CHECK(answer.changed[3 * i + c] == (hidden(i) && i < 147));
      if (!answer.changed[3 * i + c]) continue;
      apart += std::pow(alone.mean(i, c) - truth(i, c), 2);
      half += std::pow(answer.figures.mean(i, c) - truth(i, c), 2);
    }
  CHECK(half < 1.05 * apart);
  CHECK(half != apart);
  // A prediction that says the same of components as of columns
  const ColumnsAnswer worse = fill_columns(
      table, alone, [&](const CellTable&) { return alone; }, steps(150), table.columns);
  CHECK(std::ranges::count(worse.changed, true) == 0);
}
