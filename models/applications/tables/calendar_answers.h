#pragma once

#include <vector>

#include "npzoo/models/applications/tables/complete_data.h"
#include "npzoo/models/applications/tables/seasonal_holes.h"
#include "npzoo/models/applications/tables/table_ends.h"

namespace npzoo {

/// Answers of series on a calendar.
struct CalendarAnswers {
  std::vector<TableEnd> ends{};
  std::vector<EndScore> scores{};
  std::vector<SeasonalHoles> holes{};
  std::vector<Warning> warnings{};
};

/// Forecasts the ends of series in `columns`, fills holes of those with a season, and scores such forecasts if the
/// options ask for it. `question` has transformed values. Throws Error for periods and scores of a table that can have
/// no calendar: of several inputs or values together, or of weights that are not for tables.
CalendarAnswers answer_by_calendar(const TrainedModel& trained, const CompleteData& c, const TableQuestion& question,
                                   const FillOptions& options, SeriesOptions series, const LocalOptions& local,
                                   std::vector<PredictedColumn>& columns);

/// Adds the seasons that forecasts and holes use to the notes. The lines about many series have the first one's.
void describe_seasons(FillResult& result);

}  // namespace npzoo
