// The columns of rows that predict each other, for the imputer.
#include "npzoo/models/applications/tables/columns/columns_together.h"

#include <algorithm>
#include <cmath>

#include "npzoo/engine/error.h"
#include "python/core/arrays.h"
#include "python/core/calls.h"
#include "python/core/model.h"

namespace npzoo::python {

using namespace nb::literals;

namespace {

/// Cells (rows, columns), NaN where one is missing.
CellTable cells_from(const Doubles& x) {
  check(x.ndim() == 2, "[impute] an array of {} axes found, expected 2: (rows, columns)", x.ndim());
  CellTable cells(x.shape(0), x.shape(1));
  std::ranges::copy(span_of(x), cells.cells.begin());
  return cells;
}

void fit_rows(RowModel* self, const Doubles& x) {
  const CellTable cells = cells_from(x);
  check(cells.rows > 0 && cells.columns > 0 && cells.columns <= RowModel::kMostColumns,
        "[impute] {} rows of {} columns found, expected some rows of at most {} columns", cells.rows, cells.columns,
        RowModel::kMostColumns);
  unlocked([&] { new (self) RowModel(cells); });
}

nb::tuple predict_rows(const RowModel& self, const Doubles& x) {
  const CellTable cells = cells_from(x);
  check(cells.columns == self.gains().size(), "[impute] rows of {} columns found, expected {}", cells.columns,
        self.gains().size());
  CellFigures figures = unlocked([&] { return self.predict(cells); });
  for (std::size_t i = 0; i < cells.cells.size(); ++i) {
    if (std::isnan(cells.cells[i])) continue;
    figures.mean.cells[i] = cells.cells[i];
    figures.std.cells[i] = 0;
  }
  const std::vector<std::size_t> shape{cells.rows, cells.columns};
  return nb::make_tuple(array_from(std::move(figures.mean.cells), shape),
                        array_from(std::move(figures.std.cells), shape));
}

/// Shares (columns, columns): row c has the share of each column in what the others say of column c.
NumpyArray sources(const RowModel& self) {
  std::vector<double> all;
  for (const ColumnGain& gain : self.gains()) all.insert(all.end(), gain.from.begin(), gain.from.end());
  return array_from(std::move(all), {self.gains().size(), self.gains().size()});
}

}  // namespace

void add_row_model(nb::module_& module) {
  nb::class_<RowModel>(module, "RowModel")
      .def("__init__", &fit_rows, "x"_a.noconvert())
      .def("predict", &predict_rows, "x"_a.noconvert())
      .def("sources", &sources);
}

}  // namespace npzoo::python
