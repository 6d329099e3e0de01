#include "tools/predict/application.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tools/cli/messages.h"

namespace npzoo::tools {

namespace {

int run_tables(const PredictOptions& c, const TrainedModel& trained, Job& job) {
  return predict_tables(c, &trained, job);
}

/// Other predictions go through their targets or sequences one after the other, in one process.
template <int (*predict)(const PredictOptions&, const TrainedModel&)>
int run_in_one_process(const PredictOptions& c, const TrainedModel& trained, Job& job) {
  check(job.size() == 1, "[predict] {} ranks found, expected one: only predictions of tables share their work",
        job.size());
  return predict(c, trained);
}

/// Two tables are taken as they stand, unless a flag asks for more.
int run_points(const PredictOptions& c, const TrainedModel& trained, Job& job) {
  const bool plain = c.strict && c.columns.inputs.empty() && c.columns.values.empty() && c.columns.group.empty() &&
                     c.quantiles.empty() && c.truth.empty() && c.neighbours == 0 && c.columns.covariates.empty() &&
                     !c.lonlat && !c.has_cell_flags();
  return plain ? run_in_one_process<predict_points>(c, trained, job) : predict_tables(c, &trained, job);
}

constexpr std::array kApplications{
    PredictApplication{.application = Application::points,
                       .plural = "points",
                       .takes_horizon = true,
                       .adds_rows = true,
                       .explains = true,
                       .autoregressive = true,
                       .run = run_points},
    PredictApplication{.application = Application::tables,
                       .plural = "tables",
                       .takes_horizon = true,
                       .adds_rows = true,
                       .explains = true,
                       .autoregressive = true,
                       .run = run_tables},
    PredictApplication{.application = Application::forecasts,
                       .plural = "forecasts",
                       .takes_horizon = true,
                       .draws_samples = true,
                       .run = run_in_one_process<predict_forecast>},
    PredictApplication{.application = Application::events,
                       .plural = "events",
                       .takes_horizon = true,
                       .takes_now = true,
                       .run = run_in_one_process<predict_events>},
};

const PredictApplication& row_of(Application application) {
  return *std::ranges::find(kApplications, application, &PredictApplication::application);
}

/// Throws Error if `flag` is given and this application does not take it.
void check_flag(const PredictApplication& row, const char* flag, bool given, bool PredictApplication::*takes) {
  if (!given || row.*takes) return;
  std::string others;
  for (const PredictApplication& other : kApplications)
    if (other.*takes) others += fmt::format("{}of {}", others.empty() ? "" : " or ", other.plural);
  fail("[predict] {} found, expected a --checkpoint of a model {}", flag, others);
}

void check_flags(const PredictApplication& row, const PredictOptions& c) {
  check_flag(row, "--horizon", c.horizon.has_value(), &PredictApplication::takes_horizon);
  check_flag(row, "--grid", c.grid.any(), &PredictApplication::adds_rows);
  check_flag(row, "--add-rows", c.add_rows, &PredictApplication::adds_rows);
  check_flag(row, "--explain", c.explain, &PredictApplication::explains);
  check_flag(row, "--autoregressive", c.autoregressive, &PredictApplication::autoregressive);
  check_flag(row, "--now", !c.now.empty(), &PredictApplication::takes_now);
  check(c.samples == 0 || !c.samples_out.empty() || row.draws_samples,
        "[predict] --samples found without --samples-out, expected both: a picture of {} shows no samples", row.plural);
}

}  // namespace

const PredictApplication& application_of(const TrainedModel& trained, const PredictOptions& c) {
  const PredictApplication& row = row_of(trained.checkpoint.run.protocol.data->application());
  check_flags(row, c);
  return row;
}

bool PredictOptions::has_cell_flags() const { return cells.any() || has_table_flags(); }

bool PredictOptions::has_table_flags() const {
  const TransformOptions& t = transform;
  return skip_rows > 0 || !columns.date.empty() || t.kind || t.automatic || t.counts || std::isfinite(t.low) ||
         std::isfinite(t.high);
}

std::int64_t PredictOptions::steps_ahead(std::int64_t most) const {
  if (!horizon) return 0;
  npzoo::check(*horizon == std::floor(*horizon) && *horizon >= 1 && *horizon <= static_cast<double>(most),
               "[predict] --horizon {} found, expected a whole number of steps from 1 to {}", *horizon, most);
  return static_cast<std::int64_t>(*horizon);
}

void check_no_cell_flags(const PredictOptions& c) {
  check(
      !c.has_cell_flags(),
      "[predict] --skip-rows, --dates, --date, --missing, --decimal, --transform, --bounds or --counts found, expected "
      "a model of tables");
}

void check_no_table_flags(const PredictOptions& c) {
  check(!c.has_table_flags(),
        "[predict] --skip-rows, --date, --transform, --bounds or --counts found, expected a model of tables");
}

void show_facts(const PredictOptions& c, const std::string& summary, std::span<const std::string> facts) {
  if (c.header || c.common.json) return;
  fmt::print(stderr, "npzoo: {}\n", one_line(summary));
  if (!c.verbose) return;
  for (const std::string& fact : facts) fmt::print(stderr, "npzoo: {}\n", one_line(fact));
}

void check_flags_of_tables(const PredictOptions& c) { check_flags(row_of(Application::tables), c); }

}  // namespace npzoo::tools
