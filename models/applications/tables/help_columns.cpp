#include "npzoo/models/applications/tables/help_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/datasets/gaussian_mixture.h"
#include "npzoo/engine/random.h"
#include "npzoo/models/applications/tables/cell_layout.h"
#include "npzoo/models/applications/tables/columns/columns_together.h"
#include "npzoo/models/applications/tables/columns/gap_marks.h"
#include "npzoo/models/applications/tables/row_distribution.h"

namespace npzoo {

namespace {

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
std::string why_apart(const FillOptions& options, const CellLayout& layout) {
  return options.standardise ? layout.refusal() : "values are used as they are";
}
std::string why_apart(const FillData& d, const CellTable& cells) {
  constexpr std::size_t kFewest = 20;
  if (comparable_rows(cells) >= kFewest) return "";
  return d.groups.empty() ? fmt::format("fewer than {} rows have two known values", kFewest)
                          : fmt::format("groups have values at fewer than {} common places", kFewest);
}

/// Forgets cells that mark gaps, and columns of nothing else.
GapMarks forget_marks(CellTable& cells, CellLayout& layout) {
  const auto asked = [&](std::size_t row, std::size_t column) {
    return layout.data_row(row, column) != CellLayout::kNoRow;
  };
  GapMarks marks = forget_gap_marks(cells, layout.values(), layout.names(), asked);
  layout.leave_out(marks.left_out);
  return marks;
}

/// Whether a missing value is in a row with a known cell or, in time, in one between two of them.
bool any_to_help(const CellLayout& layout, const CellTable& cells) {
  const bool in_time = !layout.times().empty();
  bool began = false, empty_before = false;  // rows with a known cell, and a row without one after them
  for (std::size_t row = 0; row < cells.rows; ++row) {
    bool known = false, asked = false;
    for (std::size_t c = 0; c < cells.columns; ++c) {
      known = known || cells.known(row, c);
      asked = asked || (c < layout.values() && !cells.known(row, c) && layout.data_row(row, c) != CellLayout::kNoRow);
    }
    if (known && (asked || empty_before)) return true;
    began = began || known;
    empty_before = empty_before || (in_time && began && asked);
  }
  return false;
}

/// How many cells behind the last known one of each value column are asked for; empty: none of any.
std::vector<std::size_t> asked_ends(const CellLayout& layout, const CellTable& cells) {
  if (layout.times().empty()) return {};
  const std::vector<GapKind> kinds = gap_kinds(cells, true);
  std::vector<std::size_t> ends(layout.values());
  for (std::size_t row = 0; row < cells.rows; ++row)
    for (std::size_t c = 0; c < ends.size(); ++c)
      ends[c] += kinds[row * cells.columns + c] == GapKind::end && layout.data_row(row, c) != CellLayout::kNoRow;
  return std::ranges::count(ends, 0U) == std::ssize(ends) ? std::vector<std::size_t>() : ends;
}

/// A table on the scale of the transforms, on which columns help each other.
class OnScale {
 public:
  OnScale(const FillData& data, const std::vector<ValueTransform>& transforms) : transforms_(transforms), data_(data) {
    data_.truth.clear();
    if (!active()) return;
    for (std::size_t v = 0; v < data.values.size(); ++v) {
      std::vector<double>& column = values_.emplace_back(data.values[v].begin(), data.values[v].end());
      for (double& y : column) y = std::isnan(y) ? y : transforms[v].forward(y);
    }
    data_.values = as_columns(values_);
  }
  OnScale(const OnScale&) = delete;
  OnScale& operator=(const OnScale&) = delete;

  bool active() const { return std::ranges::any_of(transforms_, &ValueTransform::active); }
  const FillData& data() const { return data_; }

 private:
  const std::vector<ValueTransform>& transforms_;
  std::vector<std::vector<double>> values_;
  FillData data_;
};

/// Changed cells are Gaussian on the scale of their transform.
void change_columns(const CompleteData& c, const ColumnsAnswer& answer, const CellLayout& layout, FillResult& result) {
  std::vector<bool> any(result.columns.size());
  for (std::size_t i = 0; i < layout.rows(); ++i)
    for (std::size_t column = 0; column < layout.values(); ++column) {
      const std::int64_t at = layout.data_row(i, column);
      if (at == CellLayout::kNoRow || !answer.changed[i * layout.columns() + column]) continue;
      const std::size_t v = layout.value_of(column), row = static_cast<std::size_t>(at);
      const double truth =
          c.question.truth.empty() ? std::numeric_limits<double>::quiet_NaN() : c.question.truth[v][row];
      const double mean = answer.figures.mean(i, column), std = answer.figures.std(i, column);
      put({{mean, positive_std(std, mean)}, result.transforms[v]}, at, truth, result.quantiles, result.columns[v]);
      any[v] = true;
    }
  for (std::size_t v = 0; v < any.size(); ++v)
    if (any[v] && !c.question.truth.empty()) result.scores[v] = score(result.columns[v], c.question.truth[v]);
}

/// Forgets forecasts of rows that columns changed.
void forget_changed_ends(const ColumnsAnswer& answer, const CellLayout& layout, FillResult& result) {
  const std::size_t values = result.columns.size();
  std::vector<bool> changed(result.answered.size() * values);
  for (std::size_t i = 0; i < layout.rows(); ++i)
    for (std::size_t column = 0; column < layout.values(); ++column)
      if (const std::int64_t row = layout.data_row(i, column); row != CellLayout::kNoRow)
        changed[static_cast<std::size_t>(row) * values + layout.value_of(column)] =
            answer.changed[i * layout.columns() + column];
  std::erase_if(result.ends, [&](const TableEnd& end) {
    return std::ranges::any_of(
        end.rows, [&](std::int64_t row) { return changed[static_cast<std::size_t>(row) * values + end.column]; });
  });
}

/// Gives samples of the missing cells of a row the correlations of the columns. Paths of forecasts stay as they are,
/// and so do cells behind a transform that columns did not change.
void correlate_samples(const ColumnsAnswer& answer, const CellTable& cells, const CellLayout& layout,
                       std::uint64_t seed, FillResult& result) {
  if (result.samples == 0) return;
  std::vector<bool> forecast(result.answered.size());
  for (const TableEnd& end : result.ends)
    for (const std::int64_t row : end.rows) forecast[static_cast<std::size_t>(row)] = true;
  const auto count = static_cast<std::size_t>(result.samples);
  const CellCorrelations correlations(*answer.gaussian, cells, layout.values());
  std::vector<double> normals(layout.values());
  Random random(seed);
  for (std::size_t i = 0; i < layout.rows(); ++i)
    for (std::size_t s = 0; s < count; ++s) {
      random.fill_normal(normals);
      const auto each = [&](auto&& visit) {
        for (std::size_t column = 0; column < normals.size(); ++column) {
          const std::int64_t at = layout.data_row(i, column);
          if (at == CellLayout::kNoRow || cells.known(i, column)) continue;
          const std::size_t v = layout.value_of(column), row = static_cast<std::size_t>(at);
          visit(column, row, answer.changed[i * cells.columns + column], result.transforms[v], result.columns[v]);
        }
      };
      each([&](std::size_t column, std::size_t row, bool changed, const ValueTransform& transform, PredictedColumn& c) {
        if (!changed && !transform.active() && c.std[row] > 0)
          normals[column] = (c.samples[row * count + s] - c.mean[row]) / c.std[row];
      });
      correlations.correlate(i, normals);
      each([&](std::size_t column, std::size_t row, bool changed, const ValueTransform& transform, PredictedColumn& c) {
        double& sample = c.samples[row * count + s];
        if (changed)
          sample = transform.inverse(answer.figures.mean(i, column) + answer.figures.std(i, column) * normals[column]);
        else if (!transform.active() && !forecast[row])
          sample = c.mean[row] + c.std[row] * normals[column];
      });
    }
}

/// Gives rows that were written twice the figures of their first copy.
void repeat_copies(const CellLayout& layout, FillResult& result) {
  for (PredictedColumn& column : result.columns)
    for (std::vector<double>* figures :
         {&column.mean, &column.std, &column.quantiles, &column.samples, &column.crps, &column.central_mass}) {
      const std::size_t width = figures->size() / column.mean.size();
      for (const CellLayout::Copy& copy : layout.copies())
        std::copy_n(figures->begin() + static_cast<std::ptrdiff_t>(copy.of * width), width,
                    figures->begin() + static_cast<std::ptrdiff_t>(copy.row * width));
    }
}

}  // namespace

void help_columns(const CompleteData& c, const FillOptions& options, const FillAlone& alone, FillResult& result) {
  if (!options.columns_help || c.data.targets || result.unanswered > 0) return;
  const OnScale scale(c.data, result.transforms);
  const FillData& d = scale.data();
  CellLayout layout(d);
  if (layout.refusal().empty() && layout.columns() < 2) return;
  ColumnHelp help{.values = layout.values(), .of_groups = !d.groups.empty()};
  help.apart = why_apart(options, layout);
  CellTable cells = help.apart.empty() ? layout.cells() : CellTable();  // of a large table it takes too much memory
  const GapMarks marks = help.apart.empty() ? forget_marks(cells, layout) : GapMarks();
  help.unused = marks.texts;
  help.names = layout.names();
  if (layout.columns() < 2 && !help.unused.empty()) {
    result.report.notes.insert(result.report.notes.end(), help.unused.begin(), help.unused.end());
    return;
  }
  if (help.apart.empty()) help.apart = why_apart(d, cells);
  help.by_options = !help.apart.empty() && !options.standardise;
  if (!help.apart.empty()) {
    result.report.help = std::move(help);
    return;
  }
  const CellTable known = marks.with_values(cells);
  if (!any_to_help(layout, known)) return;
  const FillOptions whole = moments_alone(options);
  // Forecasts and seasons take most of the time. In gaps they changed no decision on development tables; behind the
  // end of a series they do.
  FillOptions quiet = whole;
  const std::vector<std::size_t> ends = asked_ends(layout, known);
  quiet.combine_ends = options.combine_ends && !ends.empty();
  quiet.missing_alone = true;
  const PredictAlone predict = [&](const CellTable& some) {
    const std::vector<std::vector<double>> values = layout.values_of(some);
    FillData shown = d;
    shown.values = as_columns(values);
    return layout.figures(alone(shown, quiet), some);
  };
  const CellFigures first = layout.figures(scale.active() ? alone(d, whole) : result, cells);
  ColumnsAnswer answer = fill_columns(cells, first, predict, layout.times(), layout.values(), ends);
  for (const GapMarks::ValueCell& cell : marks.values) answer.changed[cell.row * cells.columns + cell.column] = false;
  if (answer.gaps.empty()) return;
  help.methods = answer.methods;
  help.gaps = answer.gaps;
  help.columns = answer.columns;
  result.report.help = std::move(help);
  if (std::ranges::count(answer.changed, true) == 0) return;
  change_columns(c, answer, layout, result);
  forget_changed_ends(answer, layout, result);
  correlate_samples(answer, known, layout, options.seed.value_or(0), result);
  repeat_copies(layout, result);
}

}  // namespace npzoo
