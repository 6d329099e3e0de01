#include "npzoo/models/trials/choosers.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "npzoo/datasets/sobol.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"
#include "npzoo/models/applications/optimise/gp_surrogate.h"
#include "npzoo/models/applications/optimise/model_surrogate.h"

namespace npzoo {

namespace {

constexpr std::uint64_t kRandomStream = std::uint64_t{0x73} << 56;  // apart from those of data and models

std::vector<double> flat(const Tensor& x) {
  if (!x.defined()) return {};
  return {x.values<double>().begin(), x.values<double>().end()};
}

std::vector<double> negative(std::vector<double> values) {
  for (double& value : values) value = -value;
  return values;
}

class ModelChooser {
 public:
  ModelChooser(const Model& model, const Candidates& candidates, const ChoiceRules& rules, SearchSeed seed)
      : model_(model), candidates_(candidates), rules_(rules), seed_(seed) {}

  std::vector<std::int64_t> operator()(const SearchState& state) {
    Draws draws(seed_.seed, Purpose::evaluation, seed_.at(state.step));
    if (state_ && streaming_) {
      state_ = model_.update(*state_, state.newest);
    } else {
      state_ = model_.condition(state.all, draws, rules_.thompson ? 1 : kSamples);
      // Thompson's rule needs a new function in every step: a state keeps the one that it has drawn.
      streaming_ = model_.streams() && !(rules_.thompson && draws.calls() > 0);
    }
    return most_worth(worth(state, draws), state, rules_.repeat);
  }

 private:
  std::vector<double> worth(const SearchState& state, Draws& draws) const {
    const Tensor& xt = candidates_.task().xt;
    if (rules_.thompson) return negative(flat(model_.query(*state_, xt)->functions(1, draws)));
    return acquire(rules_.acquisition, belief_of(each_alone(*model_.query(*state_, xt))), state.best);
  }

  const Model& model_;
  const Candidates& candidates_;
  ChoiceRules rules_;
  SearchSeed seed_;
  std::shared_ptr<ContextState> state_;
  bool streaming_ = false;
};

/// Places of all tasks, in the unit cube that the candidates' and the first contexts' bounds are stretched to.
class UnitCube {
 public:
  explicit UnitCube(const Task& task) : dims_(task.xt.dim(2)) {
    const auto dims = static_cast<std::size_t>(dims_);
    low_.assign(dims, std::numeric_limits<double>::infinity());
    high_.assign(dims, -std::numeric_limits<double>::infinity());
    for (const Tensor& x : {task.xc, task.xt}) {
      const std::vector<double> places = in_double(x);
      for (std::size_t i = 0; i < places.size(); ++i) {
        low_[i % dims] = std::min(low_[i % dims], places[i]);
        high_[i % dims] = std::max(high_[i % dims], places[i]);
      }
    }
  }

  std::int64_t dims() const { return dims_; }
  std::vector<double> operator()(const Tensor& x) const {
    std::vector<double> places = in_double(x);
    const auto dims = static_cast<std::size_t>(dims_);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const double width = high_[i % dims] - low_[i % dims];
      places[i] = width > 0 ? (places[i] - low_[i % dims]) / width : 0.5;
    }
    return places;
  }
  static std::vector<double> in_double(const Tensor& x) { return flat(x.to(Device::cpu).to(DType::float64)); }

 private:
  std::int64_t dims_;
  std::vector<double> low_, high_;
};

class GpChooser {
 public:
  GpChooser(const Candidates& candidates, const ChoiceRules& rules, std::int64_t fit_every, SearchSeed seed)
      : cube_(candidates.task()),
        places_(cube_(candidates.task().xt)),
        rules_(rules),
        fit_every_(fit_every),
        seed_(seed),
        processes_(std::make_shared<GpSurrogate>(candidates.tasks(), cube_.dims())) {}

  std::vector<std::int64_t> operator()(const SearchState& state) {
    const Context& added = state.newest.xc.defined() ? state.newest : state.all;
    processes_->observe(cube_(added.xc), UnitCube::in_double(added.yc));
    if (state.step % fit_every_ == 0) processes_->learn();
    Draws draws(seed_.seed, Purpose::evaluation, seed_.at(state.step));
    // It knows what it has seen.
    return most_worth(rules_.thompson ? negative(processes_->sample(places_, draws))
                                      : acquire(rules_.acquisition, processes_->believe(places_), state.best),
                      state, false);
  }

 private:
  UnitCube cube_;
  std::vector<double> places_;  // (B, N, D)
  ChoiceRules rules_;
  std::int64_t fit_every_;
  SearchSeed seed_;
  std::shared_ptr<GpSurrogate> processes_;
};

}  // namespace

Chooser model_chooser(const Model& model, const Candidates& candidates, const ChoiceRules& rules, SearchSeed seed) {
  return ModelChooser(model, candidates, rules, seed);
}

std::optional<Chooser> exact_chooser(const Batch& batch, const ChoiceRules& rules) {
  const Task& task = batch.task;
  const Tensor x = task.xt.to(Device::cpu).to(DType::float64);
  const auto each = static_cast<std::size_t>(x.dim(1) * x.dim(2));
  if (!batch.truth || !batch.truth->curve(task, 0, x.values<double>().first(each))) return {};
  return [&batch, acquisition = rules.acquisition, x, each](const SearchState& state) {
    const Task known{state.all.xc, state.all.yc, batch.task.xt, batch.task.yt};
    Belief belief;
    for (std::size_t b = 0; b < state.best.size(); ++b) {
      const Curve curve =
          *batch.truth->curve(known, static_cast<std::int64_t>(b), x.values<double>().subspan(b * each, each));
      belief.mean.insert(belief.mean.end(), curve.mean.begin(), curve.mean.end());
      belief.std.insert(belief.std.end(), curve.std.begin(), curve.std.end());
    }
    for (double& std : belief.std) std = std::max(std, std::numeric_limits<double>::min());
    // It knows what it has seen, and could not be solved with a point twice.
    return most_worth(acquire(acquisition, belief, state.best), state, false);
  };
}

Chooser gp_chooser(const Candidates& candidates, const ChoiceRules& rules, std::int64_t fit_every, SearchSeed seed) {
  return GpChooser(candidates, rules, fit_every, seed);
}

Chooser random_chooser(SearchSeed seed) {
  return [random = Random(seed.seed, kRandomStream | static_cast<std::uint64_t>(seed.batch))](
             const SearchState& state) mutable {
    std::vector<double> worth(state.seen.size());
    std::ranges::generate(worth, [&random] { return random.uniform(); });
    return most_worth(worth, state, false);
  };
}

Chooser sobol_chooser(const Candidates& candidates, SearchSeed seed) {
  const UnitCube cube(candidates.task());
  return [places = cube(candidates.task().xt), dims = cube.dims(), seed](const SearchState& state) {
    const std::size_t tasks = state.best.size(), count = state.seen.size() / tasks,
                      width = static_cast<std::size_t>(dims);
    std::vector<double> worth(state.seen.size());
    for (std::size_t b = 0; b < tasks; ++b) {
      const auto task = static_cast<std::uint64_t>(seed.batch) * tasks + b;
      const std::vector<double> wanted = sobol_points(dims, state.step, 1, seed.seed << 32 ^ task);
      for (std::size_t i = b * count; i < (b + 1) * count; ++i)
        for (std::size_t d = 0; d < width; ++d) {
          const double away = places[i * width + d] - wanted[d];
          worth[i] -= away * away;
        }
    }
    return most_worth(worth, state, false);
  };
}

}  // namespace npzoo
