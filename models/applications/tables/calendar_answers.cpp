#include "npzoo/models/applications/tables/calendar_answers.h"

#include <fmt/format.h>

#include <algorithm>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

/// Whether series of this table can have a calendar, ends and seasons.
bool has_calendar(const TrainedModel& trained, const CompleteData& c, const FillOptions& options) {
  return c.data.dim_x == 1 && trained.model->dim_y() == 1 && options.standardise &&
         trained.checkpoint.run.protocol.data->application() == Application::tables;
}

/// "a season of 12 steps", "seasons of 24 and 168 steps".
std::string season_text(std::span<const double> periods) {
  std::vector<std::string> texts;
  for (const double p : periods) texts.push_back(fmt::format("{:.6g}", p));
  return fmt::format("{} of {} steps", texts.size() == 1 ? "a season" : "seasons", fmt::join(texts, " and "));
}

}  // namespace

CalendarAnswers answer_by_calendar(const TrainedModel& trained, const CompleteData& c, const TableQuestion& question,
                                   const FillOptions& options, SeriesOptions series, const LocalOptions& local,
                                   std::vector<PredictedColumn>& columns) {
  if (!has_calendar(trained, c, options)) {
    check(options.periods.empty() && !options.check_ends,
          "[predict] --period or --check found, expected one input and weights for tables");
    return {};
  }
  series.quantiles.clear();
  series.samples = 0;
  const TrainingRange range = trained.checkpoint.run.protocol.data->training_range();
  const SeriesPredictor predictor(*trained.model, range, series);
  const ColumnForm form = c.data.x_forms.empty() ? ColumnForm() : c.data.x_forms[0];
  const bool wished = options.transform.any() || options.transform.kind;
  const SeriesOfCalendar all = find_regular_series(question, form, options.periods, !wished);
  CalendarAnswers found;
  if (options.combine_ends) {
    LocalPredictor weights(predictor, local);
    found.holes = fill_seasonal_holes(weights, all.regular, question,
                                      {.quantiles = options.quantiles, .seed = series.seed}, columns);
    found.ends = forecast_table_ends(predictor, all.regular, question,
                                     {.quantiles = options.quantiles, .seed = series.seed}, columns);
    found.warnings = calendar_warnings(all, question, form);
  }
  if (options.check_ends) found.scores = check_table_ends(predictor, all.regular);
  return found;
}

void describe_seasons(FillResult& result) {
  const auto describe = [&](const char* what, const auto& series, const auto& periods_of) {
    std::int64_t seasonal = 0;
    std::string first;
    for (const auto& s : series) {
      const std::vector<double>& periods = periods_of(s);
      if (!periods.empty() && seasonal++ == 0) first = season_text(periods);
    }
    if (seasonal == 0) return;
    result.report.notes.push_back(series.size() == 1
                                      ? fmt::format("{}: {}", what, first)
                                      : fmt::format("{} of {} of {} series: {}", what, seasonal, series.size(),
                                                    seasonal == 1 ? first : first + " in the first one"));
  };
  const auto counts = std::ranges::count_if(result.ends, [](const TableEnd& e) { return e.transform.counts; });
  if (counts > 0 && std::ranges::none_of(result.transforms, &ValueTransform::counts))
    result.report.notes.push_back(
        fmt::format("ends: {} of {} series are forecast as counts, whole numbers that are "
                    "often 0; --transform none forecasts any numbers",
                    counts, result.ends.size()));
  describe("ends", result.ends, [](const TableEnd& e) -> const std::vector<double>& { return e.forecast.periods; });
  describe("holes", result.holes, [](const SeasonalHoles& h) -> const std::vector<double>& { return h.periods; });
  if (result.holes.size() == 1)
    result.report.notes.back() += fmt::format(", which counts {:.0f} % (by {} hidden values)",
                                              100 * result.holes[0].share, result.holes[0].hidden);
}

}  // namespace npzoo
