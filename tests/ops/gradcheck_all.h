#pragma once

#include <doctest/doctest.h>

#include "engine/gradcheck.h"
#include "ops/gradcheck_cases.h"

namespace npzoo {

/// Checks every gradient case of an op folder.
inline void gradcheck_all(void (*add_cases)(GradcheckCases&)) {
  GradcheckCases all;
  add_cases(all);
  CHECK(!all.cases().empty());
  for (const GradcheckCase& one : all.cases()) {
    const GradcheckResult result = gradcheck(one.function, one.inputs);
    CAPTURE(one.label);
    CAPTURE(to_string(one.inputs[0].shape()));
    CAPTURE(result.worst);
    CHECK(result.max_error <= 1e-6);
  }
}

}  // namespace npzoo
