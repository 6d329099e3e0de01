#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/repeated_inputs.h"
#include "npzoo/datasets/tables/table.h"

namespace npzoo {

/// Which columns of a table are what; the others are passed on and not looked at.
struct ColumnChoice {
  std::vector<std::string> inputs{}, values{};
  std::string group{};                    // of rows that belong together; empty: all of them do
  std::vector<std::string> covariates{};  // known at all rows; they are never chosen, only named
  std::vector<std::string> date{};        // columns that are the first input together, such as year, month and day

  /// The name of that input: "year-month-day".
  std::string date_name() const;
};

/// A column of any kind of table, as far as the rules look at it.
struct ColumnFacts {
  std::string name;  // empty: it cannot be chosen
  ColumnSummary::Kind kind = ColumnSummary::Kind::text;
  std::int64_t missing = 0;  // cells
  bool iso = false;          // of times: written as ISO 8601 does
};

/// Returns the columns that a choice does not name yet and `accept` takes.
std::vector<std::string> open_columns(std::span<const ColumnFacts> columns, const ColumnChoice& choice,
                                      const std::function<bool(const ColumnFacts&)>& accept);
/// Returns the open columns of numbers; with `gaps` those that miss some. They are the values if none are named.
std::vector<std::string> open_values(std::span<const ColumnFacts> columns, const ColumnChoice& choice, bool gaps);

/// Inputs that the rules find.
struct OpenInputs {
  enum class Doubt : std::uint8_t {
    none,
    dates,    // there are several columns of dates
    nothing,  // there is no column of dates, nor of numbers without a gap
    numbers   // there are too many columns of numbers, or too few for the model
  };

  std::vector<std::string> names;  // in doubt: the candidates
  Doubt doubt = Doubt::none;
  bool dates = false;  // the names are those of columns of dates
};

/// Finds inputs among the open columns: the column of dates, of several the only one of ISO 8601; else the columns of
/// numbers without a gap, if there are as many as `dim_x` or, where that is not known, one, or two with the names of
/// coordinates, such as lon and lat.
OpenInputs open_inputs(std::span<const ColumnFacts> columns, const ColumnChoice& choice,
                       std::optional<std::int64_t> dim_x);
/// Returns the only two of these names that are those of coordinates, such as lon and lat; empty if there are none.
std::vector<std::string> coordinates_among(std::span<const std::string> names);
/// Returns the inputs where the rows to predict at are a table of their own: its columns that are nothing else.
std::vector<std::string> target_inputs(std::span<const std::string> columns, const ColumnChoice& choice);

/// A column that may tell apart series whose rows share their inputs.
struct SeriesColumn {
  std::string name;
  RepeatedInputs found;  // places that several rows have

  /// "12 dates twice".
  std::string text(bool dates) const;
};

/// Finds the column with few different texts that tells rows of equal inputs apart, of a table without a group; or one
/// with few whole numbers, if half of the rows have inputs of others. `x` (rows, Dx) are the inputs; `labels(c)` reads
/// a column as text.
std::optional<SeriesColumn> series_column(std::span<const ColumnFacts> columns, const ColumnChoice& choice,
                                          std::span<const double> x,
                                          const std::function<Table::Labels(std::size_t)>& labels);

}  // namespace npzoo
