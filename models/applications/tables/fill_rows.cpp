#include "npzoo/models/applications/tables/fill_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "npzoo/datasets/normal_distribution.h"
#include "npzoo/datasets/tables/column_hints.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"
#include "npzoo/models/applications/application_call.h"
#include "npzoo/models/applications/tables/columns/gap_marks.h"
#include "npzoo/models/applications/tables/complete_data.h"

namespace npzoo {

namespace {

/// The cells of values, then of helpers.
CellTable read_cells(const FillData& d) {
  check(d.dim_x == 0 && d.x.empty(), "[predict] {} inputs of {} numbers found, expected none for rows alone", d.dim_x,
        d.x.size());
  check(!d.values.empty() && d.value_names.size() == d.values.size() && d.helper_names.size() == d.helpers.size(),
        "[predict] {} columns of values and {} helpers with {} and {} names found, expected a name for each",
        d.values.size(), d.helpers.size(), d.value_names.size(), d.helper_names.size());
  check(d.groups.empty() && !d.targets && d.truth.empty(),
        "[predict] groups, targets or a truth found, expected none for rows without an input");
  CellTable cells(d.values.front().size(), d.values.size() + d.helpers.size());
  for (std::size_t c = 0; c < cells.columns; ++c) {
    const bool is_value = c < d.values.size();
    const std::span<const double> column = is_value ? d.values[c] : d.helpers[c - d.values.size()];
    const std::string& name = is_value ? d.value_names[c] : d.helper_names[c - d.values.size()];
    check(column.size() == cells.rows, "[predict] {} values of {} found, expected {}, one for each row", column.size(),
          name, cells.rows);
    for (std::size_t row = 0; row < cells.rows; ++row) {
      if (std::isinf(column[row]))
        fail("[predict] row {} of values of {} is {}, expected a finite number, or NaN if it is missing", row, name,
             column[row]);
      cells(row, c) = column[row];
    }
  }
  return cells;
}

/// `unused`: why helpers are not used.
void check_cells(const CellTable& cells, std::span<const std::string> unused) {
  constexpr std::int64_t kFewest = 5;
  constexpr std::size_t kMostColumns = RowModel::kMostColumns, kMostCells = 20'000'000;
  check(cells.columns >= 2, "[predict] one column without an input found, expected --inputs, or more columns{}{}",
        unused.empty() ? "" : "; ", fmt::join(unused, "; "));
  check(cells.columns <= kMostColumns && cells.cells.size() <= kMostCells,
        "[predict] {} rows of {} columns without an input found, expected at most {} columns and {} cells", cells.rows,
        cells.columns, kMostColumns, kMostCells);
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < cells.rows; ++i) {
    std::int64_t known = 0;
    for (std::size_t c = 0; c < cells.columns; ++c) known += cells.known(i, c);
    rows += known > 1;
  }
  check(rows >= kFewest,
        "[predict] {} rows with two known values found, expected {} or more for columns that predict each other", rows,
        kFewest);
}

PredictedColumn predicted(const FillOptions& options, const CellTable& cells, const CellFigures& figures,
                          std::size_t column) {
  PredictedColumn made;
  for (std::size_t row = 0; row < cells.rows; ++row) {
    const bool known = cells.known(row, column);
    const double mean = known ? cells(row, column) : figures.mean(row, column),
                 std = known ? 0 : figures.std(row, column);
    made.mean.push_back(mean);
    made.std.push_back(std);
    for (const double p : options.quantiles) made.quantiles.push_back(mean + std * normal_quantile(p));
  }
  return made;
}

/// Draws whole rows: their missing cells are correlated as the columns are.
void sample_rows(const CellTable& cells, const ColumnGaussian& gaussian, const FillOptions& options,
                 std::vector<PredictedColumn>& columns) {
  if (options.samples == 0) return;
  const CellCorrelations correlations(gaussian, cells, columns.size());
  Random random(options.seed.value_or(0));
  std::vector<double> normals(columns.size());
  for (std::size_t row = 0; row < cells.rows; ++row)
    for (std::int64_t s = 0; s < options.samples; ++s) {
      random.fill_normal(normals);
      correlations.correlate(row, normals);
      for (std::size_t v = 0; v < columns.size(); ++v)
        columns[v].samples.push_back(columns[v].mean[row] + columns[v].std[row] * normals[v]);
    }
}

}  // namespace

FillResult fill_rows_alone(const FillData& d, const FillOptions& options) {
  return call_application(options.stop, nullptr, [&] {
    check_options(options);
    check(!options.transform.any(),
          "[predict] --bounds, --counts or --transform found for rows without an input, expected --inputs");
    CellTable cells = read_cells(d);
    std::vector<std::string> names = d.value_names;
    names.insert(names.end(), d.helper_names.begin(), d.helper_names.end());
    GapMarks marks = forget_gap_marks(cells, d.values.size(), names, [](std::size_t, std::size_t) { return true; });
    marks.erase_from(names);
    check_cells(cells, marks.texts);
    ColumnsAnswer answer = fill_rows(cells);
    cells = marks.with_values(std::move(cells));
    FillResult result{.transforms = std::vector<ValueTransform>(d.values.size()),
                      .report = {},
                      .weights = {.model = "columns"},
                      .quantiles = options.quantiles,
                      .samples = options.samples};
    for (std::size_t v = 0; v < d.values.size(); ++v)
      result.columns.push_back(predicted(options, cells, answer.figures, v));
    sample_rows(cells, *answer.gaussian, options, result.columns);
    result.answered.assign(cells.rows, true);
    for (std::size_t row = 0; row < cells.rows; ++row)
      for (const PredictedColumn& column : result.columns) {
        if (!result.answered[row] || (std::isfinite(column.mean[row]) && std::isfinite(column.std[row]))) continue;
        result.answered[row] = false;
        if (result.unanswered++ > 0) continue;
        result.first_unanswered = static_cast<std::int64_t>(row);
        result.first_odd = std::isfinite(column.mean[row]) ? column.std[row] : column.mean[row];
      }
    if (result.unanswered > 0)
      result.warnings.push_back({"no prediction", "rows have no prediction: values are too large"});
    FillReport& report = result.report;
    report.weights = result.weights;
    report.columns.values = d.value_names;
    report.fitted = true;
    ColumnHelp& help = report.help.emplace();
    help.names = std::move(names);
    help.unused = std::move(marks.texts);
    if (const std::string wide = wide_advice(help.names); !wide.empty())
      result.warnings.push_back({"times in names", wide + "; here no column comes before another"});
    help.values = d.values.size();
    help.with_inputs = false;
    help.methods = std::move(answer.methods);
    help.gaps = std::move(answer.gaps);
    help.columns = std::move(answer.columns);
    for (std::size_t row = 0; row < cells.rows; ++row) {
      bool any = false;
      for (std::size_t v = 0; v < d.values.size(); ++v) any = any || cells.known(row, v);
      report.context_rows += any;
    }
    return result;
  });
}

}  // namespace npzoo
