#pragma once

#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/model_config.h"
#include "npzoo/datasets/task.h"
#include "npzoo/engine/draws.h"

namespace npzoo {

/// Places from the least to the largest of `keys`, of equal ones in their order.
void sort_places(std::span<const double> keys, std::span<std::int64_t> places);

/// The task `repeats` times, each with the targets of every task in an order of its own, uniform over all of them;
/// padding stays behind. With 0 repeats the task as it is, and nothing is drawn; else one call for each repeat. The
/// orders are functions of `draws` alone: a copy of them finds the same.
std::vector<Task> in_drawn_orders(const Task& task, std::int64_t repeats, Draws& draws);

/// Reads `permutation_repeats`, 0 if it is not given. Throws Error, opened by `model`, unless it is from 0 to 64.
std::int64_t read_permutation_repeats(ConfigReader& reader);

/// Mean of scalars, one at least.
Tensor mean_of(const std::vector<Tensor>& losses);

}  // namespace npzoo
