#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "npzoo/datasets/task_config.h"
#include "tools/pictures/shown.h"
#include "tools/plot/chart.h"

namespace npzoo::tools {

/// Settings of a picture of attention.
struct AttentionPicture {
  std::optional<int> layer{}, head{};           // from 1; where not given, all of them
  std::optional<std::vector<double>> target{};  // inputs, or of images row and column of a pixel, from 0
  std::uint64_t seed = 0;
};

/// The points of a task's context as each head of each layer looks at them from a target (`context_attention`). Over
/// two inputs, and in images, points have the colour of the head that looks at them; without a target it is the middle.
/// Over one input there is a map of all targets where none is given.
///
/// Throws Error, opened by `[plot]`, for a model without attention, a layer or a head that it does not have, a target
/// of another number of inputs or beyond an image, and a context without points.
plot::Figure draw_attention(const AttentionPicture& drawn, const Shown& model, const TaskConfig& data,
                            const Batch& batch);

}  // namespace npzoo::tools
