#include "npzoo/models/applications/tables/help_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "npzoo/datasets/gaussian_mixture.h"
#include "npzoo/engine/error.h"
#include "npzoo/models/applications/tables/columns/columns_together.h"

namespace npzoo {

namespace {

/// The rows in the order of their only input; as they stand if there are several.
std::vector<std::size_t> order_of_rows(const FillData& d) {
  const auto dim_x = static_cast<std::size_t>(d.dim_x);
  std::vector<std::size_t> order(d.values.front().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (d.dim_x - d.covariates == 1)
    std::ranges::stable_sort(order, {}, [&](std::size_t row) { return d.x[row * dim_x]; });
  return order;
}

CellTable cells_of(const FillData& d, const std::vector<std::size_t>& order) {
  CellTable cells(order.size(), d.values.size() + d.helpers.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t v = 0; v < d.values.size(); ++v) cells(i, v) = d.values[v][order[i]];
    for (std::size_t h = 0; h < d.helpers.size(); ++h) cells(i, d.values.size() + h) = d.helpers[h][order[i]];
  }
  return cells;
}

CellFigures figures_of(const FillResult& result, const std::vector<std::size_t>& order, std::size_t columns) {
  CellFigures figures(order.size(), columns);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t v = 0; v < result.columns.size(); ++v) {
      figures.mean(i, v) = result.columns[v].mean[order[i]];
      figures.std(i, v) = result.columns[v].std[order[i]];
    }
  return figures;
}

/// Rows whose columns can be compared: two cells of them are known.
std::size_t comparable_rows(const CellTable& cells) {
  std::size_t rows = 0;
  for (std::size_t i = 0; i < cells.rows; ++i) {
    std::size_t known = 0;
    for (std::size_t c = 0; c < cells.columns; ++c) known += cells.known(i, c);
    rows += known > 1;
  }
  return rows;
}

/// Why columns are not tried together; empty: they are.
std::string why_apart(const FillData& d, const FillOptions& options, const CellTable& cells) {
  constexpr std::size_t kFewest = 20, kMostColumns = 500, kMostCells = 20'000'000;
  if (d.targets) return "rows of another table have no known cells";
  if (!d.groups.empty()) return "the table has groups";
  if (options.transform.any()) return "values have bounds or a transform";
  if (!options.standardise) return "values are used as they are";
  if (comparable_rows(cells) < kFewest) return fmt::format("fewer than {} rows have two known values", kFewest);
  if (cells.columns > kMostColumns) return fmt::format("there are more than {}", kMostColumns);
  if (cells.cells.size() > kMostCells) return "the table is too large";
  return "";
}

/// Moves and stretches the figures of a cell; scores are those of a Gaussian.
void change_cell(PredictedColumn& column, std::size_t row, double mean, double std, double truth) {
  const double old_mean = column.mean[row], scale = column.std[row] > 0 ? std / column.std[row] : 0;
  const std::size_t rows = column.mean.size();
  for (std::vector<double>* figures : {&column.quantiles, &column.samples}) {
    const std::size_t width = figures->size() / rows;
    for (std::size_t k = row * width; k < (row + 1) * width; ++k)
      (*figures)[k] = mean + scale * ((*figures)[k] - old_mean);
  }
  column.mean[row] = mean;
  column.std[row] = std;
  if (column.crps.empty() || std::isnan(truth)) return;
  const GaussianMixture gaussian{.mean = {&mean, 1}, .std = {&std, 1}};
  column.crps[row] = crps(gaussian, truth);
  column.central_mass[row] = central_mass(gaussian, truth);
}

void change_columns(const CompleteData& c, const ColumnsAnswer& answer, const std::vector<std::size_t>& order,
                    FillResult& result) {
  const std::size_t columns = answer.figures.mean.columns;
  for (std::size_t v = 0; v < result.columns.size(); ++v) {
    const auto truth_of = [&](std::size_t row) {
      return c.question.truth.empty() ? std::numeric_limits<double>::quiet_NaN() : c.question.truth[v][row];
    };
    bool any = false;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (!answer.changed[i * columns + v]) continue;
      change_cell(result.columns[v], order[i], answer.figures.mean(i, v), answer.figures.std(i, v), truth_of(order[i]));
      any = true;
    }
    if (any && !c.question.truth.empty()) result.scores[v] = score(result.columns[v], c.question.truth[v]);
  }
}

/// Forgets forecasts of rows that columns changed.
void forget_changed_ends(const ColumnsAnswer& answer, const std::vector<std::size_t>& order, FillResult& result) {
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::erase_if(result.ends, [&](const TableEnd& end) {
    return std::ranges::any_of(end.rows, [&](std::int64_t row) {
      return answer.changed[place[static_cast<std::size_t>(row)] * answer.figures.mean.columns + end.column];
    });
  });
}

/// Gives samples of the missing cells of a row the correlations of the columns. Paths of forecasts stay as they are.
void correlate_samples(const ColumnsAnswer& answer, const CellTable& cells, const std::vector<std::size_t>& order,
                       FillResult& result) {
  if (result.samples == 0) return;
  std::vector<bool> forecast(order.size());
  for (const TableEnd& end : result.ends)
    for (const std::int64_t row : end.rows) forecast[static_cast<std::size_t>(row)] = true;
  const auto count = static_cast<std::size_t>(result.samples);
  const CellCorrelations correlations(*answer.gaussian, cells, result.columns.size());
  std::vector<double> normals(result.columns.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t row = order[i];
    for (std::size_t s = 0; s < count && !forecast[row]; ++s) {
      for (std::size_t v = 0; v < normals.size(); ++v) {
        const PredictedColumn& c = result.columns[v];
        normals[v] = c.std[row] > 0 ? (c.samples[row * count + s] - c.mean[row]) / c.std[row] : 0;
      }
      correlations.correlate(i, normals);
      for (std::size_t v = 0; v < normals.size(); ++v) {
        PredictedColumn& c = result.columns[v];
        if (!cells.known(i, v)) c.samples[row * count + s] = c.mean[row] + c.std[row] * normals[v];
      }
    }
  }
}

ColumnHelp help_of(const FillData& d) {
  ColumnHelp help{.names = d.value_names, .values = d.value_names.size()};
  help.names.insert(help.names.end(), d.helper_names.begin(), d.helper_names.end());
  return help;
}

}  // namespace

void help_columns(const CompleteData& c, const FillOptions& options, const FillAlone& alone, FillResult& result) {
  const FillData& d = c.data;
  if (!options.columns_help || d.values.size() + d.helpers.size() < 2 || d.targets) return;
  const std::vector<std::size_t> order = order_of_rows(d);
  const CellTable cells = cells_of(d, order);
  ColumnHelp help = help_of(d);
  help.apart = why_apart(d, options, cells);
  help.by_options = !help.apart.empty() && d.groups.empty() && (options.transform.any() || !options.standardise);
  if (!help.apart.empty() || result.unanswered > 0) {
    if (!help.apart.empty()) result.report.help = std::move(help);
    return;
  }
  // Forecasts and seasons take most of the time, and on development tables they changed no decision.
  const FillOptions quiet{.standardise = options.standardise,
                          .neighbours = options.neighbours,
                          .turn = options.turn,
                          .chunk = options.chunk,
                          .gp = options.gp,
                          .combine_ends = false,
                          .periods = options.periods,
                          .stop = options.stop,
                          .job = options.job};
  const PredictAlone predict = [&](const CellTable& some) {
    std::vector<std::vector<double>> values(d.values.size(), std::vector<double>(order.size()));
    for (std::size_t i = 0; i < order.size(); ++i)
      for (std::size_t v = 0; v < values.size(); ++v) values[v][order[i]] = some(i, v);
    FillData shown = d;
    shown.values = as_columns(values);
    shown.truth.clear();
    return figures_of(alone(shown, quiet), order, some.columns);
  };
  const ColumnsAnswer answer =
      fill_columns(cells, figures_of(result, order, cells.columns), predict, d.dim_x - d.covariates == 1);
  help.gaps = answer.gaps;
  help.columns = answer.columns;
  result.report.help = std::move(help);
  if (!answer.together()) return;
  change_columns(c, answer, order, result);
  forget_changed_ends(answer, order, result);
  correlate_samples(answer, cells, order, result);
}

}  // namespace npzoo
