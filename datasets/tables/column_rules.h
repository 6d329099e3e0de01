#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/datasets/tables/table.h"

namespace npzoo {

/// Which columns of a table are what; the others are passed on and not looked at.
struct ColumnChoice {
  std::vector<std::string> inputs{}, values{};
  std::string group{};                    // of rows that belong together, or several, a,b; empty: all of them do
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
  bool clock = false;        // of times: without a date
};

/// Whether a table has a column of this name.
using HasColumn = std::function<bool(const std::string&)>;
/// Returns a list of names as columns of a table are called: a list between commas splits names that hold one, and
/// leaves quotes around those in quotes.
std::vector<std::string> whole_names(std::span<const std::string> names, const HasColumn& has);
/// Returns the columns that `group` names: one, or a list between commas.
std::vector<std::string> group_names(const std::string& group, const HasColumn& has);
/// Whether two names are those of coordinates, such as lon and lat, or x and y.
bool are_coordinates(const std::vector<std::string>& names);
/// Returns up to which ratio of their extents two inputs of these names are taken to have one unit: 10 of longitudes and
/// latitudes, and of eastings and northings; 2 of other coordinates, whose units may differ; 1 of all others.
double ratio_of_one_unit(const std::vector<std::string>& names);
/// Whether a column's name says that it holds longitudes or latitudes: lon, Longitude (deg), station_lat,
/// decimalLatitude; also in German, Italian and Spanish.
bool is_longitude(std::string_view name);
bool is_latitude(std::string_view name);

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

/// Finds inputs among the open columns: the column of dates, of several the only one of ISO 8601; else the only one of
/// times without a date; else the columns of numbers without a gap, if there are as many as `dim_x` or, where that is
/// not known, one, or two with the names of coordinates, such as lon and lat.
OpenInputs open_inputs(std::span<const ColumnFacts> columns, const ColumnChoice& choice,
                       std::optional<std::int64_t> dim_x);
/// Returns the only two of these names that are those of coordinates, such as lon and lat; empty if there are none.
std::vector<std::string> coordinates_among(std::span<const std::string> names);
/// Returns the inputs where the rows to predict at are a table of their own: its columns that are nothing else.
std::vector<std::string> target_inputs(std::span<const std::string> columns, const ColumnChoice& choice);

}  // namespace npzoo
