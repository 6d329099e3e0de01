#pragma once

#include <memory>

#include "npzoo/datasets/events/process.h"

namespace npzoo {

/// Draws a process of 1 to `marks` kinds of events, of any of these: Poisson; renewal, with gamma, Weibull or
/// log-normal gaps; self-correcting; Hawkes. A third is on a clock that repeats (TimeChange), and the kinds of half of
/// the others are a Markov chain. Events come once per unit of time in the long run, or up to three times more or less
/// often. All kinds are alike: their numbers mean nothing.
std::shared_ptr<const PointProcess> draw_process(std::int64_t marks, Random& random);

}  // namespace npzoo
