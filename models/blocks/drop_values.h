#pragma once

#include <string>

#include "npzoo/datasets/model_config.h"
#include "npzoo/datasets/task.h"
#include "npzoo/engine/draws.h"

namespace npzoo {

/// The task with each of its context values, with probability `share`, replaced by a standard normal number: so models
/// learn that of several channels one may be observed and the others be noise, as rewards of untried arms. As in
/// TNP-pytorch's contextual bandits (`drop_y`). Draws nothing where `share` is 0.
Task drop_values(const Task& task, double share, Draws& draws);

/// Reads `drop_y`, 0 if it is not given. Throws Error, opened by `model`, unless it is from 0 to 1.
double read_drop_y(ConfigReader& reader);

}  // namespace npzoo
