#include "npzoo/datasets/kinds/events/own_events.h"

#include <cmath>

#include "npzoo/datasets/events/table_facts.h"
#include "npzoo/datasets/tables/own_file.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/toml.h"

namespace npzoo {

OwnTasks on_own_events(const OwnEvents& own, const EventFile& recipe, const EventTaskRules& rules) {
  constexpr std::int64_t kEnoughSequences = 10;
  check_read_again(own.path, "events");
  const EventTableFacts facts(own.path, {.sequence = own.sequence, .time = own.time, .mark = own.mark});
  const double unit = facts.mean_gap();
  check(unit > 0 && std::isfinite(unit),
        "[events] {}: no time passes between events of a sequence, expected times that ascend in it",
        own.path.string());
  EventFile file = recipe;
  file.path = own.path.string();
  file.form.either_order = true;
  file.by_time = facts.sequences() < kEnoughSequences;
  file.form.sequence = own.sequence, file.form.time = own.time, file.form.mark = own.mark;
  file.form.marks = facts.marks(), file.form.mark_names = facts.mark_names();
  file.form.unit = unit;
  file.form.least_gap = facts.least_gap() / unit;
  static_cast<void>(divide(read_event_table(own.path, file.form).sequences, file, rules));
  toml::table data{{"file", absolute_path(own.path).string()},
                   {"checksum", table_checksum(own.path)},
                   {"sequence", own.sequence},
                   {"time", own.time},
                   {"marks", file.form.marks},
                   {"unit", unit},
                   {"least_gap", file.form.least_gap},
                   {"held_out_by", file.by_time ? "time" : "sequence"}};
  if (file.form.marks > 1) data.insert("mark", own.mark);
  if (!file.form.mark_names.empty()) data.insert("mark_names", toml_array(file.form.mark_names));
  return {.data = toml_text(data)};
}

}  // namespace npzoo
