#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/column_choice.h"
#include "npzoo/datasets/tables/prediction_rows.h"
#include "npzoo/datasets/tables/table_writer.h"
#include "npzoo/models/applications/forecasts/forecaster.h"
#include "npzoo/models/applications/tables/table_series.h"
#include "npzoo/models/applications/trained_model.h"
#include "npzoo/models/applications/warning.h"

namespace npzoo {

/// The columns of a series.
struct ForecastColumns {
  std::string time;
  std::vector<std::string> values;
};

/// A forecast and its description. The figures are in the units of the series.
struct ForecastResult {
  ForecastColumns columns;
  TimeSeries series;
  SeriesForecast forecast;
  std::vector<TruthScores> scores{};  // of each value; empty without a truth
  std::vector<Warning> warnings{};
  WeightsUsed weights;
  std::int64_t context_steps = 0;   // of the model's windows
  std::vector<double> quantiles{};  // as asked
  std::int64_t samples = 0;         // as asked

  /// Returns the time of step `h` (from 0) as text: a number or a date.
  std::string time(std::size_t h) const { return series.time_form.text(forecast.time[h]); }
  /// Returns the lines in front of a table of the forecast: version, weights, columns and context.
  std::vector<std::string> comments() const;
};

/// Makes a series of arrays: `time` (n), in any order, and `values` (n, Dy), row-major, NaN where a value is missing.
/// `form` says whether times are numbers or days. Throws Error if two rows have one time, for fewer than two rows, and
/// for a number that is not finite.
TimeSeries make_series(std::span<const double> time, std::span<const double> values, std::int64_t dim_y,
                       const ColumnForm& form = {.kind = ColumnForm::Kind::number});

/// The columns that weights forecast: those of the training, unless `wishes` names others. Throws Error if the weights
/// were not trained to forecast, for several inputs, and for another number of values.
ForecastColumns forecast_columns(const TrainedModel& trained, const ColumnChoice& wishes = {});
/// Reads these columns of a table, whose rows may come in any order. Throws Error as TableReader does.
TimeSeries read_series(const std::filesystem::path& table, const ForecastColumns& columns);

/// Forecasts the steps after the last known row of a series. Throws Error as Forecaster does, and if the weights were
/// not trained to forecast; throws Interrupted after a request to stop.
ForecastResult forecast(const TrainedModel& trained, TimeSeries series, const ForecastColumns& columns,
                        const ForecastOptions& options = {});

/// Writes the time of each step, and of each value mean_, std_ and the quantiles, with as many decimals as the standard
/// deviation has with `digits` significant digits. With `facts` the comments of the result come first. Messages call
/// the table of the series `table`. The file appears with `commit()`.
std::unique_ptr<TableWriter> write_forecast(const ForecastResult& result, const std::filesystem::path& path,
                                            const std::filesystem::path& table, std::int64_t digits = kStdDigits,
                                            bool facts = true);
/// Writes each step once for each path, with the path's number from 1 on.
std::unique_ptr<TableWriter> write_paths(const ForecastResult& result, const std::filesystem::path& path,
                                         const std::filesystem::path& table, std::int64_t digits = kStdDigits,
                                         bool facts = true);

}  // namespace npzoo
