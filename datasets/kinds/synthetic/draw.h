#pragma once

// How terms are drawn. Private to synthetic tables. Points are mapped ones; `add_*` add one function to `f` (n).

#include <span>

#include "npzoo/datasets/kinds/synthetic/process.h"

namespace npzoo {

/// Draws a uniform direction, a vector of length 1.
std::vector<double> draw_direction(std::int64_t dims, Random& random);

/// Adds a term with one input: `order` visits the points by size.
void add_on_line(const Term& term, std::span<const double> x, std::span<const std::int64_t> order, Random& random,
                 std::span<double> f);
/// Adds a term with any number of inputs.
void add_features(const Term& term, Inputs x, Random& random, std::span<double> f);

}  // namespace npzoo
