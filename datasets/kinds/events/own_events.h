#pragma once

#include "npzoo/datasets/kinds/events/event_file.h"
#include "npzoo/datasets/own_data.h"

namespace npzoo {

/// Describes tasks on a user's own table of events: its marks, a unit of time that makes the mean gap about 1, and how
/// it is divided: ten or more sequences by sequence, fewer by time. The unit is that of the whole table, validation and
/// test included. Throws Error for columns that the table does not have, as read_event_table does, and if there are too
/// few events.
OwnTasks on_own_events(const OwnEvents& own, const EventFile& recipe, const EventTaskRules& rules);

}  // namespace npzoo
