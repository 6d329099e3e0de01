#pragma once

#include "npzoo/ops/gradcheck_cases.h"

namespace npzoo {

/// A function of tensors, float or int64, which gets any values.
struct PropertyCase {
  std::string label;
  GradcheckCase run;
  /// The function chooses by comparing values: a NaN may lead to another choice or make the whole row NaN.
  bool chooses = false;
  /// Slopes are fixed numbers on either side of an edge, and one of them at NaN.
  bool has_edges = false;
  /// A NaN in input 2 reaches more than a finite number does: a point at NaN is near every node.
  bool spreads = false;
};

/// All cases of the gradient checks, and those of the operations and arguments that have no gradient: lengths, indices
/// and constants. Every operation in the folders of ops/ has one.
std::vector<PropertyCase> property_cases();

}  // namespace npzoo
