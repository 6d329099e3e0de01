#pragma once

#include "npzoo/datasets/kinds/events/event_file.h"
#include "npzoo/datasets/own_data.h"

namespace npzoo {

/// Describes tasks on a user's own table of events: its marks, a unit of time that makes the mean gap about 1, and
/// whether parts are whole sequences, of which it takes ten, or times. Throws Error for columns that the table does not
/// have, as read_event_table does, and if there are too few events.
OwnTasks on_own_events(const OwnEvents& own, const EventFile& recipe, const EventTaskRules& rules);

}  // namespace npzoo
