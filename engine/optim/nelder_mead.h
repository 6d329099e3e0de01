#pragma once

#include <functional>
#include <vector>

namespace npzoo {

struct NelderMeadOptions {
  double step = 0.4;           // of the first simplex along each coordinate
  int most_calls = 200;        // of the function
  double value_spread = 0;     // ends once the values of the simplex differ by no more than this
  double relative_spread = 0;  // plus this times the size of the best value
};

struct Minimum {
  std::vector<double> at;
  double value = 0;
  int calls = 0;
};

/// Minimises a function of few numbers by its values alone (Nelder and Mead, "A simplex method for function
/// minimization", 1965). The function may return +∞ outside its domain, but not at `start`.
Minimum nelder_mead(const std::function<double(const std::vector<double>&)>& f, const std::vector<double>& start,
                    const NelderMeadOptions& options);

}  // namespace npzoo
