#include "npzoo/models/trials/search.h"

#include <algorithm>

#include "npzoo/engine/error.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/gather/gather.h"

namespace npzoo {

namespace {

std::vector<double> in_double_of(const Tensor& x) {
  const Tensor values = x.to(Device::cpu).to(DType::float64);
  return {values.values<double>().begin(), values.values<double>().end()};
}

}  // namespace

Candidates::Candidates(const Task& task) : task_(task) {
  check(!task.lengths.defined() && !task.target_lengths.defined() && task.yt.dim(2) == 1,
        "[optimisation] tasks of different sizes or of several values found, expected one value and `context_per = "
        "\"batch\"`");
  check(task.xc.dim(1) >= 1 && task.xt.dim(1) >= 1,
        "[optimisation] {} initial points and {} candidates found, expected 1 or more of both", task.xc.dim(1),
        task.xt.dim(1));
  values_ = in_double_of(task.yt);
  known_ = in_double_of(task.yc);
  const std::vector<double> x = in_double_of(task.xt), xc = in_double_of(task.xc);
  seen_.assign(values_.size(), false);
  const std::int64_t dims = task.xt.dim(2);
  for (std::int64_t i = 0; i < tasks() * count(); ++i)
    for (std::int64_t j = 0; j < task.xc.dim(1); ++j)
      if (std::equal(x.begin() + i * dims, x.begin() + (i + 1) * dims,
                     xc.begin() + (i / count() * task.xc.dim(1) + j) * dims))
        seen_[static_cast<std::size_t>(i)] = true;
}

double Candidates::least(std::int64_t b) const {
  double least = least_known(b);
  for (std::int64_t i = 0; i < count(); ++i) least = std::min(least, value(b, i));
  return least;
}

double Candidates::least_known(std::int64_t b) const {
  const std::int64_t n = task_.xc.dim(1);
  return *std::min_element(known_.begin() + b * n, known_.begin() + (b + 1) * n);
}

SearchCurve search(const Candidates& candidates, std::int64_t steps, const Chooser& choose) {
  const Task& task = candidates.task();
  const std::int64_t batch = candidates.tasks();
  SearchState state{.all = {task.xc, task.yc}, .newest = {}, .best = {}, .seen = candidates.seen()};
  SearchCurve curve{.simple = {}, .cumulative = std::vector<double>(static_cast<std::size_t>(batch))};
  std::vector<double> least;
  for (std::int64_t b = 0; b < batch; ++b) {
    state.best.push_back(candidates.least_known(b));
    least.push_back(candidates.least(b));
  }
  const auto add_regrets = [&] {
    std::vector<double>& now = curve.simple.emplace_back();
    for (std::size_t b = 0; b < least.size(); ++b) now.push_back(state.best[b] - least[b]);
  };
  add_regrets();
  for (state.step = 0; state.step < steps; ++state.step) {
    const std::vector<std::int64_t> chosen = choose(state);
    for (std::int64_t b = 0; b < batch; ++b) {
      const auto row = static_cast<std::size_t>(b);
      const double found = candidates.value(b, chosen[row]);
      state.seen[static_cast<std::size_t>(b * candidates.count() + chosen[row])] = true;
      state.best[row] = std::min(state.best[row], found);
      curve.cumulative[row] += found - least[row];
    }
    const Tensor index = Tensor::from<std::int64_t>({batch, 1}, chosen);
    state.newest = {gather(task.xt, index), gather(task.yt, index)};
    state.all = {concat({state.all.xc, state.newest.xc}, 1), concat({state.all.yc, state.newest.yc}, 1)};
    add_regrets();
  }
  return curve;
}

std::vector<std::int64_t> most_worth(const std::vector<double>& worth, const SearchState& state, bool repeat) {
  const std::size_t batch = state.best.size(), count = worth.size() / batch;
  std::vector<std::int64_t> chosen;
  for (std::size_t b = 0; b < batch; ++b) {
    std::size_t top = count;
    for (std::size_t i = 0; i < count; ++i)
      if ((repeat || !state.seen[b * count + i]) && (top == count || worth[b * count + i] > worth[b * count + top]))
        top = i;
    chosen.push_back(static_cast<std::int64_t>(top == count ? 0 : top));
  }
  return chosen;
}

}  // namespace npzoo
