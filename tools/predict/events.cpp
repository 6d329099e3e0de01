#include <fmt/format.h>

#include "npzoo/datasets/events/event_columns.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/words.h"
#include "npzoo/models/applications/events/event_writer.h"
#include "npzoo/models/applications/events/following_events.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/json_value.h"
#include "tools/cli/progress.h"
#include "tools/predict/application.h"

namespace npzoo::tools {

namespace {

void check_event_flags(const PredictOptions& c) {
  check(!c.strict && c.targets.empty() && c.truth.empty() && c.plot.empty(),
        "[predict] --context, --targets, --truth or --plot found, expected a TABLE of events alone");
  check(c.samples == 0 || c.horizon.has_value(), "[predict] --samples found, expected --horizon with it");
}

}  // namespace

bool are_events(const PredictOptions& c) {
  const ColumnChoice& columns = c.columns;
  const bool other = c.strict || c.table == "-" || !c.targets.empty() || !c.truth.empty() || !c.plot.empty() ||
                     c.grid.any() || c.add_rows || c.explain || c.check || c.model != "auto" || !c.periods.empty() ||
                     !columns.inputs.empty() || !columns.values.empty() || !columns.group.empty() ||
                     !columns.covariates.empty() || c.has_table_flags();
  if (other) return false;
  try {
    return holds_events(c.table, c.cells);
  } catch (const Error&) {
    return false;  // predict_tables knows more about damaged tables
  }
}

int predict_events(const PredictOptions& c, const TrainedModel& trained) {
  check_event_flags(c);
  check_no_table_flags(c);
  const InterruptGuard interrupt;
  const StopScope stop(interrupt.token());
  const EventData data = read_events(trained, c.table, c.columns, c.cells);
  EventOptions options{.samples = c.samples, .horizon = c.horizon.value_or(0)};
  if (!c.now.empty()) options.now = data.time_of(c.now);
  if (!c.quantiles.empty()) options.quantiles = c.quantiles;
  EventWriter writer(trained, data, options, c.out, c.samples_out, c.header);
  Progress progress("predict", std::ssize(data.sequences), {.unit = "sequences", .passing = true});
  options.progress = [&](std::int64_t done, std::int64_t) { progress.update(static_cast<double>(done)); };
  predict_following_events(trained, data, options, [&](std::size_t sequence, const FollowingEvents& following) {
    writer.write(sequence, following);
  });
  progress.finish();
  for (const Warning& warning : data.warnings)
    fmt::print(stderr, "npzoo: warning: {}: {}\n", c.table.string(), warning.text);
  writer.commit();
  show_facts(c, fmt::format("predicted the next event of {}", counted(std::ssize(data.sequences), "sequence")),
             writer.facts());
  if (c.common.json)
    print_json(JsonValue::object({{"model", trained.checkpoint.run.spec.name},
                                  {"protocol", trained.checkpoint.run.protocol.name},
                                  {"sequences", std::ssize(data.sequences)},
                                  {"events", data.events()},
                                  {"samples", c.samples},
                                  {"facts", JsonValue::array(writer.facts())},
                                  {"how", "the next event given all before it; samples are free-running"}}));
  return 0;
}

}  // namespace npzoo::tools
