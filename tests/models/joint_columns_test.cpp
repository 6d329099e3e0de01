#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "npzoo/models/applications/tables/columns/column_mixture.h"
#include "npzoo/models/applications/tables/columns/column_scale.h"
#include "npzoo/models/applications/tables/columns/columns_together.h"
#include "npzoo/models/applications/tables/columns/symmetric_inverse.h"
#include "npzoo/models/applications/tables/columns/time_evidence.h"

using namespace npzoo;

namespace {

const double kHole = std::numeric_limits<double>::quiet_NaN();

/// Numbers that look random, of mean 0: sines of multiples of a number.
double noise(std::size_t row, std::size_t column) {
  const double x =
      std::sin(12.9898 * static_cast<double>(row + 1) + 78.233 * static_cast<double>(column + 1)) * 43758.5453;
  return 3.4 * (x - std::floor(x) - 0.5);
}

/// Columns that share one cause; each has a scale of its own.
CellTable related(std::size_t rows, std::size_t columns) {
  CellTable table(rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t c = 0; c < columns; ++c)
      table(i, c) = (noise(i, 99) + 0.4 * noise(i, c)) * (1 + static_cast<double>(c)) + 5 * static_cast<double>(c);
  return table;
}

/// The same with every (7 + c)-th cell of column c missing.
CellTable with_holes(CellTable table) {
  for (std::size_t i = 0; i < table.rows; ++i)
    for (std::size_t c = 0; c < table.columns; ++c)
      if ((i + 3 * c) % (4 + c) == 0) table(i, c) = kHole;
  return table;
}

/// Times of rows that follow each other.
std::vector<double> steps(std::size_t rows) {
  std::vector<double> times(rows);
  std::iota(times.begin(), times.end(), 0.0);
  return times;
}

CellTable standardised(const CellTable& table) {
  return to_scale(column_scales(ColumnScale::Kind::standard, table), table);
}

/// The Gaussian of two columns with correlation `r`.
ColumnGaussian pair_with(double r) { return {{1, -1}, {1, r, r, 1}}; }

double largest_cell_difference(const CellTable& a, const CellTable& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.cells.size(); ++i) most = std::max(most, std::abs(a.cells[i] - b.cells[i]));
  return most;
}

}  // namespace

TEST_CASE("columns: the inverse of a symmetric matrix and its determinant") {
  std::vector<double> a{4, 2, 1, 2, 5, 3, 1, 3, 6};
  const std::vector<double> original = a;
  CHECK(invert_symmetric(a, 3) == doctest::Approx(std::log(67.0)));
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 3; ++k) sum += original[i * 3 + k] * a[k * 3 + j];
      CHECK(sum == doctest::Approx(i == j ? 1 : 0));
    }
}

TEST_CASE("columns: without missing cells the fit is the sample's moments") {
  const CellTable x = standardised(related(60, 3));
  const ColumnGaussian g = fit_column_gaussian(x, {.ridge = 0});
  for (std::size_t a = 0; a < 3; ++a) {
    CHECK(g.mean[a] == doctest::Approx(0).epsilon(1e-9));
    for (std::size_t b = 0; b < 3; ++b) {
      double sum = 0;
      for (std::size_t i = 0; i < x.rows; ++i) sum += x(i, a) * x(i, b);
      CHECK(g.covariance_of(a, b) == doctest::Approx(sum / 60));
    }
  }
}

TEST_CASE("columns: a missing cell is predicted by regression, as in closed form") {
  CellTable rows(3, 2);
  rows(0, 0) = 2.5;  // the second column is missing
  rows(1, 1) = 0.5;
  const CellFigures figures = predict_from_columns(pair_with(0.8), rows);
  CHECK(figures.mean(0, 1) == doctest::Approx(-1 + 0.8 * 1.5));
  CHECK(figures.std(0, 1) == doctest::Approx(0.6));
  CHECK(figures.mean(1, 0) == doctest::Approx(1 + 0.8 * 1.5));
  CHECK(figures.mean(2, 0) == doctest::Approx(1));
  CHECK(figures.std(2, 1) == doctest::Approx(1));
}

TEST_CASE("columns: correlations of missing cells are those that the known ones leave") {
  // The third column is the sum of the first two: given it, these two cancel.
  const ColumnGaussian gaussian({0, 0, 0}, {1, 0, 1, 0, 1, 1, 1, 1, 2.1});
  CellTable table(4, 3, 1);
  table(1, 0) = table(1, 1) = kHole;
  table(2, 0) = table(2, 2) = kHole;
  table(3, 1) = kHole;
  const CellCorrelations correlations(gaussian, table, 3), of_two(gaussian, table, 2);
  std::vector<double> normals{1, 0.5, -2};
  for (const std::size_t row : {0, 3}) correlations.correlate(row, normals);
  of_two.correlate(2, normals);
  CHECK(normals == std::vector<double>{1, 0.5, -2});
  const double cancel = -0.9999 * (1 / 2.1) / (1 - 1 / 2.1), agree = 0.9999 / std::sqrt(1.1);
  correlations.correlate(1, normals);
  CHECK(normals[0] == 1);
  CHECK(normals[1] == doctest::Approx(cancel + std::sqrt(1 - cancel * cancel) * 0.5));
  correlations.correlate(2, normals);
  CHECK(normals[2] == doctest::Approx(agree - 2 * std::sqrt(1 - agree * agree)));
}

TEST_CASE("columns: densities of known cells, together and each given the others") {
  CellTable rows(1, 3);
  rows(0, 0) = 0.5;
  rows(0, 2) = -1;
  const ColumnGaussian g{{0, 0, 0}, {1, 0.5, 0.6, 0.5, 1, 0.3, 0.6, 0.3, 1}};
  const RowPattern pattern = row_patterns(rows).front();
  const GivenKnownCells given(g, pattern);
  std::vector<double> deviations(3);
  given.deviations(rows.cells, deviations);
  const double det = 1 - 0.36, distance = (0.25 + 2 * 0.6 * 0.5 + 1) / det, log_2_pi = std::log(2 * 3.14159265358979);
  CHECK(given.log_density(deviations) == doctest::Approx(-0.5 * (std::log(det) + distance + 2 * log_2_pi)));
  const double first = std::pow(0.5 + 0.6, 2) / det, second = std::pow(-1 - 0.3, 2) / det;
  CHECK(given.leave_one_out(deviations) == doctest::Approx(-0.5 * (2 * std::log(det) + first + second + 2 * log_2_pi)));
}

TEST_CASE("columns: expectation-maximisation finds the covariance behind missing cells") {
  const CellTable x = standardised(with_holes(related(400, 3)));
  const ColumnGaussian g = fit_column_gaussian(x, {.ridge = 1, .iterations = 200});
  const ColumnGaussian complete = fit_column_gaussian(standardised(related(400, 3)), {.ridge = 1});
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b) CHECK(std::abs(g.covariance_of(a, b) - complete.covariance_of(a, b)) < 0.05);
}

TEST_CASE("columns: what time says of a cell counts as much as it is sure") {
  CellTable rows(3, 2);
  rows(0, 0) = 2;
  rows(1, 0) = 2;
  const ColumnGaussian g = pair_with(0.8);
  CellFigures alone(3, 2);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t c = 0; c < 2; ++c) alone.std(i, c) = 0.99;
  alone.mean(0, 1) = -1;  // knows nothing but the column
  alone.mean(1, 1) = -3;  // knows it
  alone.std(1, 1) = 0.001;
  alone.mean(2, 0) = 4;  // a row without a known cell
  alone.std(2, 0) = 0.25;
  const CellFigures both = combine_with_time(g, rows, alone);
  CHECK(both.mean(0, 1) == doctest::Approx(-1 + 0.8).epsilon(0.02));
  CHECK(both.std(0, 1) == doctest::Approx(0.6).epsilon(0.02));
  CHECK(both.mean(1, 1) == doctest::Approx(-3).epsilon(0.001));
  CHECK(both.mean(2, 0) == 4);
  CHECK(both.std(2, 0) == 0.25);
  // one measured cell, in closed form: prior N(-0.2, 0.36), measurement with the column's own share taken out
  alone.mean(0, 1) = -2;
  alone.std(0, 1) = 0.5;
  const double precision = 1 / 0.25 - 1, value = (-2 / 0.25 + 1) / precision;
  const double expected = (-0.2 / 0.36 + value * precision) / (1 / 0.36 + precision);
  CHECK(combine_with_time(g, rows, alone).mean(0, 1) == doctest::Approx(expected));
}

TEST_CASE("columns: what they leave to time is each cell minus its expectation from the others") {
  CellTable rows(2, 2);
  rows(0, 0) = 2;
  rows(0, 1) = -0.5;
  rows(1, 0) = 2;
  CellFigures alone(2, 2);
  alone.std(1, 1) = 0.5;
  const ColumnRemainder left = remainder_of_columns(pair_with(0.8), rows, alone);
  CHECK(left.remainder(0, 0) == doctest::Approx(2 - (1 + 0.8 * 0.5)));
  CHECK(left.remainder(0, 1) == doctest::Approx(-0.5 - (-1 + 0.8)));
  CHECK(std::isnan(left.remainder(1, 1)));
  CHECK(left.from_others.mean(1, 1) == doctest::Approx(-1 + 0.8));
  CHECK(left.from_others.std(0, 0) == doctest::Approx(0.6));
}

TEST_CASE("columns: normal scores are those of the ranks, and lead back") {
  const std::vector<double> values{1, 10, 100, kHole, 1000, 10000};
  const ColumnScale scale(ColumnScale::Kind::scores, values);
  CHECK(scale.to(100) == doctest::Approx(0));
  CHECK(scale.to(1) == doctest::Approx(-1.2815515655));  // the quantile of 0.1
  CHECK(scale.back(CellGuess{scale.to(1000), 0}).mean == doctest::Approx(1000));
  CHECK(std::isnan(scale.to(kHole)));
  const ColumnScale line(ColumnScale::Kind::scores, std::vector<double>{3, 5, 5, 3});  // of two values
  CHECK(line.to(5) == doctest::Approx(1));
  const ColumnScale constant(ColumnScale::Kind::standard, std::vector<double>{7, 7, kHole});
  CHECK(constant.to(7) == 0);
  CHECK(constant.back(CellGuess{0, 1}).mean == 7);
}

TEST_CASE("columns: gaps are hidden in the shape of the table's own") {
  CellTable table = related(60, 2);
  for (std::size_t i = 10; i < 20; ++i) table(i, 1) = kHole;
  table(40, 0) = kHole;
  for (std::size_t c = 0; c < 2; ++c) table(50, c) = kHole;
  table(59, 0) = kHole;
  const std::vector<GapKind> kinds = gap_kinds(table, true);
  CHECK(kinds[59 * 2] == GapKind::end);
  CHECK(gap_kinds(table, false)[59 * 2] == GapKind::short_gap);
  CHECK(kinds[12 * 2 + 1] == GapKind::long_gap);
  CHECK(kinds[40 * 2] == GapKind::short_gap);
  CHECK(kinds[50 * 2] == GapKind::whole_row);
  CHECK(kinds[0] == GapKind::none);
  const std::vector<bool> hidden = cells_to_hide(table, true, 0, std::vector<std::size_t>{1, 0});
  CHECK(hidden[58 * 2]);
  std::size_t count = 0;
  for (std::size_t i = 0; i < table.rows; ++i)
    for (std::size_t c = 0; c < 2; ++c) {
      count += hidden[i * 2 + c];
      if (hidden[i * 2 + c]) CHECK(table.known(i, c));
    }
  CHECK(count >= 5);
  CHECK(count <= 30);
}

TEST_CASE("columns: shares go to the better method, and the width to its errors") {
  std::vector<CellGuess> guesses;
  std::vector<double> values;
  for (std::size_t i = 0; i < 300; ++i) {
    values.push_back(noise(i, 0));
    guesses.push_back({values.back() + 0.1 * noise(i, 1), 0.2});  // its errors are half as large as it says
    guesses.push_back({2 * noise(i, 2), 1});
  }
  const MethodShares shares = fit_shares(guesses, values, 2);
  CHECK(shares.shares[0] > 0.9);
  CHECK(shares.width < 0.8);
  CHECK(fit_shares(std::span(guesses).first(4), std::span(values).first(2), 2).shares[0] == 0.5);
  CHECK(gaussian_crps({0, 1}, 0) == doctest::Approx(0.2336950));
}

TEST_CASE("columns: rows without an input are filled from related columns") {
  const CellTable truth = related(200, 4), table = with_holes(truth);
  const ColumnsAnswer answer = fill_rows(table);
  double error = 0, cells = 0;
  for (std::size_t i = 0; i < table.rows; ++i)
    for (std::size_t c = 0; c < 4; ++c) {
      if (table.known(i, c)) continue;
      error += std::pow((answer.figures.mean(i, c) - truth(i, c)) / (1 + static_cast<double>(c)), 2);
      ++cells;
      CHECK(std::isfinite(answer.figures.std(i, c)));
    }
  CHECK(std::sqrt(error / cells) < 0.65);  // 1.06 by the mean
  CHECK(answer.gain() > 0.4);
  CHECK(answer.columns[0].from[0] == 0);
}

TEST_CASE("columns: an exact relation is followed, and chance is not taken for one") {
  CellTable table(60, 4);
  for (std::size_t i = 0; i < table.rows; ++i) {
    for (std::size_t c = 0; c < 3; ++c) table(i, c) = noise(i, c);
    table(i, 3) = table(i, 0) + 2 * table(i, 1);
  }
  const CellTable with_gaps = with_holes(table);
  const ColumnsAnswer answer = fill_rows(with_gaps);
  for (std::size_t i = 0; i < table.rows; ++i) {
    if (with_gaps.known(i, 3) || !with_gaps.known(i, 0) || !with_gaps.known(i, 1)) continue;
    CHECK(std::abs(answer.figures.mean(i, 3) - table(i, 3)) < 0.1);  // of about 2.2
    CHECK(answer.figures.std(i, 3) < 0.1);
  }
  CHECK(choose_ridge(standardised(table)) < 1);
  // Nearly as many columns as rows: small ridges would fit each of them.
  for (const std::size_t rows : {12, 20, 43}) CHECK(choose_ridge(standardised(related(rows, 10))) >= 1);
}

TEST_CASE("columns: the answer does not depend on the order of rows and columns, nor on units") {
  const CellTable table = with_holes(related(90, 3));
  const ColumnsAnswer answer = fill_rows(table);
  CellTable other(90, 3);
  const std::size_t from[] = {2, 0, 1};
  for (std::size_t i = 0; i < 90; ++i)
    for (std::size_t c = 0; c < 3; ++c) other(89 - i, c) = 1000 * table(i, from[c]) + 7;
  const ColumnsAnswer turned = fill_rows(other);
  CellTable back(90, 3), expected(90, 3), std_back(90, 3), std_expected(90, 3);
  for (std::size_t i = 0; i < 90; ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      const bool known = table.known(i, from[c]);
      back(i, c) = known ? 0 : (turned.figures.mean(89 - i, c) - 7) / 1000;
      expected(i, c) = known ? 0 : answer.figures.mean(i, from[c]);
      std_back(i, c) = known ? 0 : turned.figures.std(89 - i, c) / 1000;
      std_expected(i, c) = known ? 0 : answer.figures.std(i, from[c]);
    }
  CHECK(largest_cell_difference(back, expected) < 1e-6);
  CHECK(largest_cell_difference(std_back, std_expected) < 1e-6);
}

TEST_CASE("columns: a model fitted to complete rows predicts other rows, each by itself") {
  const CellTable rows = related(240, 3);
  CellTable known(200, 3), asked(40, 3), one(1, 3);
  for (std::size_t i = 0; i < 240; ++i)
    for (std::size_t c = 0; c < 3; ++c) (i < 200 ? known(i, c) : asked(i - 200, c)) = rows(i, c);
  for (std::size_t i = 0; i < 40; ++i) asked(i, i % 3) = kHole;
  const RowModel model(known);
  CHECK(model.shares().hidden == 180);  // three times a tenth of 600 cells
  const CellFigures figures = model.predict(asked);
  double error = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    const std::size_t c = i % 3;
    error += std::pow((figures.mean(i, c) - rows(200 + i, c)) / (1 + static_cast<double>(c)), 2) / 40;
    for (std::size_t k = 0; k < 3; ++k) one(0, k) = asked(i, k);
    const CellFigures alone = model.predict(one);
    CHECK(alone.mean(0, c) == figures.mean(i, c));
    CHECK(alone.std(0, c) == figures.std(i, c));
  }
  CHECK(std::sqrt(error) < 0.65);  // 1.06 by the mean
  CHECK(model.predict(CellTable(0, 3)).mean.cells.empty());
}

TEST_CASE("columns: constant and duplicated columns, rows without a value, more columns than rows") {
  CellTable table = with_holes(related(40, 4));
  for (std::size_t i = 0; i < 40; ++i) {
    table(i, 1) = i % 5 == 0 ? kHole : 3;            // constant where it is known
    table(i, 3) = i % 6 == 0 ? kHole : table(i, 0);  // a duplicate
    if (i == 11)
      for (std::size_t c = 0; c < 4; ++c) table(i, c) = kHole;
  }
  const ColumnsAnswer answer = fill_rows(table);
  for (const double m : answer.figures.mean.cells) CHECK(std::isfinite(m));
  for (const double s : answer.figures.std.cells) CHECK((std::isfinite(s) && s >= 0));
  for (const std::size_t row : {5, 30}) CHECK(answer.figures.mean(row, 1) == doctest::Approx(3));
  CHECK(answer.figures.mean(6, 3) == doctest::Approx(table(6, 0)).epsilon(0.2));
  double mean = 0, known = 0;
  for (std::size_t i = 0; i < 40; ++i)
    if (table.known(i, 0)) mean += table(i, 0), ++known;
  CHECK(answer.figures.mean(11, 0) == doctest::Approx(mean / known));

  const CellTable truth = related(25, 60), wide = with_holes(truth);
  const ColumnsAnswer many = fill_rows(wide);
  double error = 0, cells = 0;
  for (std::size_t i = 0; i < wide.rows; ++i)
    for (std::size_t c = 0; c < wide.columns; ++c)
      if (!wide.known(i, c)) {
        error += std::pow((many.figures.mean(i, c) - truth(i, c)) / (1 + static_cast<double>(c)), 2);
        ++cells;
      }
  CHECK(std::sqrt(error / cells) < 0.8);  // 1.06 by the mean
}

TEST_CASE("columns: with columns alone that are as good the answer is theirs, to the bit") {
  CellTable table(120, 3);
  for (std::size_t i = 0; i < 120; ++i)
    for (std::size_t c = 0; c < 3; ++c) table(i, c) = noise(i, c);
  table = with_holes(table);
  CellFigures alone(120, 3);
  for (std::size_t i = 0; i < 120; ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      alone.mean(i, c) = 0.01 * static_cast<double>(i % 3);
      alone.std(i, c) = 0.98;
    }
  const ColumnsAnswer answer = fill_columns(
      table, alone, [&](const CellTable&) { return alone; }, steps(table.rows), table.columns);
  CHECK_FALSE(answer.together());
  CHECK(std::ranges::count(answer.changed, true) == 0);
  CHECK(largest_cell_difference(answer.figures.mean, alone.mean) == 0);
  CHECK(answer.gain() == doctest::Approx(0));
}

TEST_CASE("columns: related columns change missing cells, and leave rows without a value to their columns") {
  const CellTable truth = related(150, 3);
  CellTable table = with_holes(truth);
  for (std::size_t c = 0; c < 3; ++c) table(75, c) = kHole;
  CellFigures alone(150, 3);
  for (std::size_t i = 0; i < 150; ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      alone.mean(i, c) = 5 * static_cast<double>(c);
      alone.std(i, c) = 1.1 * (1 + static_cast<double>(c));
    }
  const ColumnsAnswer answer = fill_columns(
      table, alone, [&](const CellTable&) { return alone; }, steps(table.rows), table.columns);
  CHECK(answer.together());
  CHECK(answer.gain() > 0.3);
  for (std::size_t c = 0; c < 3; ++c) {
    CHECK_FALSE(answer.changed[75 * 3 + c]);
    CHECK(answer.figures.mean(75, c) == alone.mean(75, c));
  }
  double error = 0, cells = 0;
  for (std::size_t i = 0; i < 150; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      if (answer.changed[i * 3 + c]) {
        error += std::pow((answer.figures.mean(i, c) - truth(i, c)) / (1 + static_cast<double>(c)), 2);
        ++cells;
      }
  CHECK(std::sqrt(error / cells) < 0.7);
}
