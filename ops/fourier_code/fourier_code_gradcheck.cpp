#include "npzoo/ops/gradcheck_cases.h"

namespace npzoo {

/// Inputs are data and take no gradient.
void fourier_code_gradcheck_cases(GradcheckCases&) {}

}  // namespace npzoo
