#pragma once

#include <vector>

#include "npzoo/datasets/events/event_tasks.h"
#include "tools/pictures/shown.h"
#include "tools/pictures/tasks.h"
#include "tools/plot/chart.h"

namespace npzoo::tools {

/// A row for each sequence: its events on the axis of time, a colour for each mark, below the intensity of all marks
/// together, of the models and, if it is known, of the process. Each moment's is given the events before it.
plot::Figure draw_events(const TaskPicture& picture, const std::vector<Shown>& models, const EventTasks& data);

}  // namespace npzoo::tools
