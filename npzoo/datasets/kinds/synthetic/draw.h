#pragma once

// How terms are drawn. Private to synthetic tables. Points are mapped ones; `add_*` add one function to `f` (n).

#include <span>

#include "npzoo/datasets/kinds/synthetic/process.h"

namespace npzoo {

/// Of length 1, any as likely as another.
std::vector<double> draw_direction(std::int64_t dims, Random& random);

/// Of one input: `order` visits the points by size.
void add_on_line(const Term& term, std::span<const double> x, std::span<const std::int64_t> order, Random& random,
                 std::span<double> f);
/// Of any number of inputs.
void add_features(const Term& term, Inputs x, Random& random, std::span<double> f);

}  // namespace npzoo
