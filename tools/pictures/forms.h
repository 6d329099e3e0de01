#pragma once

#include <cstdint>
#include <vector>

#include "npzoo/datasets/task_config.h"
#include "tools/pictures/shown.h"
#include "tools/pictures/tasks.h"
#include "tools/plot/chart.h"

namespace npzoo::tools {

/// A way to draw tasks. Which one suits follows from what tasks consist of, and not from the kind of the protocol.
struct PictureForm {
  bool (*suits)(const TaskConfig& data);
  bool any_inputs = false;      // otherwise at most two inputs per point
  bool any_values = false;      // otherwise one value per point
  bool takes_contexts = false;  // can be drawn from other numbers of context points than the tasks have
  /// `contexts`: these numbers; empty: as the tasks have them.
  plot::Figure (*draw)(const TaskPicture& drawn, const std::vector<std::int64_t>& contexts,
                       const std::vector<Shown>& models, const TaskConfig& data);
};

/// The first that suits, among images, windows of series, sequences of events, curves over one input and maps over two.
const PictureForm& picture_form(const TaskConfig& data);

}  // namespace npzoo::tools
