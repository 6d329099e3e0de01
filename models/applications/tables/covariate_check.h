#pragma once

#include <string>
#include <vector>

#include "npzoo/models/applications/tables/fill.h"
#include "npzoo/models/applications/warning.h"

namespace npzoo {

/// Checks which effects of covariates the observed rows leave open.
struct CovariateCheck {
  std::vector<Warning> warnings{};
  std::vector<std::string> notes{};
};

/// Compares the covariates of rows to predict with those of the observed rows of their series. Warns of covariates
/// beyond their observed range, of values and categories that no observed row has beside another one, and of
/// covariates that are linear functions of each other in all observed rows, but not in the rows to predict. A note
/// names covariates of the last kind that agree in the rows to predict as well. `data` has names.
CovariateCheck check_covariate_values(const FillData& data);

}  // namespace npzoo
