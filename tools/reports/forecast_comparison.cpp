#include "tools/reports/forecast_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "tools/cli/messages.h"

namespace npzoo::tools {

namespace {

const char* key_of(ForecastWay way) {
  constexpr std::array kKeys{"trained", "untrained", "seasonal_naive"};
  return kKeys[static_cast<std::size_t>(way)];
}

const char* title_of(ForecastWay way) {
  constexpr std::array kTitles{"trained weights", "no training", "seasonal naive"};
  return kTitles[static_cast<std::size_t>(way)];
}

}  // namespace

JsonValue to_json(const ForecastComparison& comparison) {
  JsonValue json = JsonValue::object({{"windows", comparison.windows}, {"best", nullptr}});
  for (const ForecastWayScore& s : comparison.scores)
    json.set(key_of(s.way), JsonValue::object({{"mase", s.mase}, {"crps", s.crps}}));
  if (!comparison.scores.empty()) json.set("best", key_of(comparison.best()));
  return json;
}

void print(const ForecastComparison& comparison, const ForecastColumns& columns) {
  if (comparison.scores.empty()) {
    fmt::print("no comparison: the last value before each window of the test rows is missing\n");
    return;
  }
  fmt::print("\n{:26} {:>8} {:>8}\n", fmt::format("held-out rows, {} windows", comparison.windows), "MASE", "CRPS");
  for (const ForecastWayScore& s : comparison.scores)
    fmt::print("{:26} {:8.3f} {:8.3f}\n", title_of(s.way), s.mase, s.crps);
  const ForecastWay best = comparison.best();
  const bool untrained = comparison.scores[1].crps <= comparison.scores[0].crps;
  fmt::print("recommended: {}\n", title_of(best));
  if (best == ForecastWay::trained) return;
  if (best == ForecastWay::seasonal_naive)
    fmt::print("No forecast of npzoo is as good for this table as the values of one season before.\n");
  else if (!untrained)
    fmt::print("The trained weights are better by less than two standard errors, which may be chance.\n");
  fmt::print("Without these weights: npzoo predict TABLE --inputs {} --values {} --targets FUTURE\n",
             one_line(columns.time), one_line(fmt::format("{}", fmt::join(columns.values, ","))));
}

}  // namespace npzoo::tools
