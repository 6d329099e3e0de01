#include "npzoo/models/trials/bandit_regrets.h"

#include <cmath>

#include "npzoo/engine/error.h"

namespace npzoo {

void Regrets::add(const BatchRegrets& batch) {
  cumulative.insert(cumulative.end(), batch.cumulative.begin(), batch.cumulative.end());
  for (const double best : batch.optimal) optimal.add(best);
}

std::vector<double> Regrets::lost(std::int64_t begin, std::int64_t end) const {
  std::vector<double> each;
  for (const std::vector<double>& of_task : cumulative)
    each.push_back(of_task[static_cast<std::size_t>(end - 1)] -
                   (begin > 0 ? of_task[static_cast<std::size_t>(begin - 1)] : 0));
  return each;
}

RelativeRegret relative_regret(const Regrets& regrets, const Regrets& uniform, std::int64_t begin, std::int64_t end) {
  RunningMean of_uniform, share, squares;
  for (const double lost : uniform.lost(begin, end)) of_uniform.add(lost);
  const double whole = of_uniform.estimate().value;
  check(whole > 0, "[bandit] uniform choice has no regret from step {} to {}, expected some", begin, end);
  for (const double lost : regrets.lost(begin, end)) share.add(100 * lost / whole);
  const Estimate mean = share.estimate();
  for (const double lost : regrets.lost(begin, end)) squares.add(std::pow(100 * lost / whole - mean.value, 2));
  return {mean, std::sqrt(squares.estimate().value)};
}

}  // namespace npzoo
