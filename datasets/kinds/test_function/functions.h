#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "npzoo/datasets/interval.h"

namespace npzoo {

/// A function that optimisers are compared on, to be minimised over a box. Formulas and boxes: Surjanovic and Bingham,
/// "Virtual library of simulation experiments: test functions and datasets"; of the cosine mixture and Drop-wave,
/// BoTorch's `Cosine8` and `DropWave`.
struct TestFunction {
  std::string_view name;   // "goldstein-price"
  std::int64_t dims;       // inputs; 0: any number of them
  Interval first, others;  // the bounds of the first input, and of the others
  /// At x (D), in the box's own units.
  double (*value)(std::span<const double> x);
};

/// "ackley", "branin", "cosine", "drop-wave", "goldstein-price", "hartmann-3", "hartmann-6", "levy", "michalewicz",
/// "rastrigin", "rosenbrock".
std::span<const TestFunction> test_functions();

}  // namespace npzoo
