#pragma once

#include <doctest/doctest.h>

#include "npzoo/engine/gradcheck.h"
#include "npzoo/ops/gradcheck_cases.h"
#include "tests/gpu.h"

namespace npzoo {

/// Checks every gradient case of an op folder. On the emulated device a few entries of each input are checked one by
/// one, and all along a random direction.
inline void gradcheck_all(void (*add_cases)(GradcheckCases&)) {
  GradcheckCases all;
  add_cases(all);
  CHECK(!all.cases().empty());
  GradcheckOptions options;
  if (testing::on_emulated_gpu()) options.max_entries = 8;
  for (const GradcheckCase& one : all.cases()) {
    const GradcheckResult result = gradcheck(one.function, one.inputs, options);
    CAPTURE(one.label);
    CAPTURE(to_string(one.inputs[0].shape()));
    CAPTURE(result.worst);
    CHECK(result.max_error <= 1e-6);
  }
}

}  // namespace npzoo
