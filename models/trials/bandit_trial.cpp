#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/trials/bandit_regrets.h"
#include "npzoo/models/trials/lin_ucb.h"
#include "npzoo/models/trials/share_batches.h"
#include "npzoo/models/trials/trial.h"
#include "npzoo/ops/concat/concat.h"

namespace npzoo {

namespace {

/// `rules` of a protocol's `[evaluation]`.
struct BanditRules {
  bool thompson = false;
  double width = 1;          // of the upper confidence bound, in standard deviations
  std::int64_t samples = 1;  // functions of a model that draws some
  std::int64_t last = 0;     // steps that the simple regret is the mean over
  double ridge = 1;          // of LinUCB
  std::string over;          // what deviations are over, for people

  explicit BanditRules(const ModelConfig& rules) {
    ConfigReader reader(rules, "bandit");
    thompson = reader.choice("policy", "rule by which a model chooses an arm", {"ucb", "thompson"}) == "thompson";
    width = reader.number("width", "standard deviations of the policy \"ucb\"", kNonNegative);
    samples = reader.size("samples", "functions sampled by models that sample functions");
    last = reader.size("last", "steps that the simple regret averages");
    ridge = reader.number("ridge", "regularisation of the baseline LinUCB", kPositive);
    over = reader.get<std::string>("over", "subject of the deviation, as text");
    reader.finish();
  }
};

std::vector<double> values_on_host(const Tensor& x) {
  const Tensor values = x.to(Device::cpu).to(DType::float64);
  return {values.values<double>().begin(), values.values<double>().end()};
}

/// Problems of one batch, which advance together: each target is a step, its place what is seen before an arm is
/// chosen, and its values what the arms would pay.
class Bandits {
 public:
  explicit Bandits(const Batch& batch) : task_(batch.task) {
    check(!task_.lengths.defined() && !task_.target_lengths.defined(),
          "[bandit] tasks of different sizes found, expected the same number of steps for all");
    check(task_.xc.dim(1) == 0, "[bandit] {} initial points found, expected `context = 0`", task_.xc.dim(1));
    check(steps() >= 1 && arms() >= 2, "[bandit] {} steps of {} arms found, expected 1 or more of 2 or more", steps(),
          arms());
    check(batch.truth != nullptr, "[bandit] tasks without known rewards found, expected tasks with a known truth");
    places_ = values_on_host(task_.xt);
    rewards_ = values_on_host(task_.yt);
    for (std::int64_t b = 0; b < tasks(); ++b) {
      const auto curve = batch.truth->curve(task_, b, place(b, 0, steps()));
      check(curve.has_value(), "[bandit] tasks without known rewards found, expected tasks with a known truth");
      for (auto mean = curve->mean.begin(); mean != curve->mean.end(); mean += arms())
        best_.push_back(std::max_element(mean, mean + arms()) - mean);
    }
  }

  std::int64_t tasks() const { return task_.xt.dim(0); }
  std::int64_t steps() const { return task_.xt.dim(1); }
  std::int64_t arms() const { return task_.yt.dim(2); }
  std::int64_t dims() const { return task_.xt.dim(2); }
  Tensor places_at(std::int64_t step) const { return slice(task_.xt, 1, step, step + 1); }
  std::span<const double> place(std::int64_t b, std::int64_t step, std::int64_t count = 1) const {
    return std::span(places_).subspan(at(b, step) * static_cast<std::size_t>(dims()),
                                      static_cast<std::size_t>(count * dims()));
  }
  double reward(std::int64_t b, std::int64_t step, std::int64_t arm) const {
    return rewards_[at(b, step) * static_cast<std::size_t>(arms()) + static_cast<std::size_t>(arm)];
  }
  /// The arm of the highest expected reward.
  std::int64_t best(std::int64_t b, std::int64_t step) const { return best_[at(b, step)]; }

 private:
  std::size_t at(std::int64_t b, std::int64_t step) const { return static_cast<std::size_t>(b * steps() + step); }

  const Task& task_;
  std::vector<double> places_, rewards_;
  std::vector<std::int64_t> best_;
};

/// Chooses an arm of each task and receives its reward.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::vector<std::int64_t> choose(std::int64_t step) = 0;
  virtual void learn(std::int64_t /*step*/, const std::vector<std::int64_t>& /*arms*/) {}
};

/// Returns the random numbers of policies, apart from data and models; each task and each user has a stream of its own.
std::vector<Random> streams_of(const Bandits& bandits, std::uint64_t seed, std::int64_t batch, std::uint64_t user) {
  constexpr std::uint64_t kStream = std::uint64_t{0x74} << 56;
  std::vector<Random> streams;
  for (std::int64_t b = 0; b < bandits.tasks(); ++b)
    streams.emplace_back(seed, kStream | user << 48 | static_cast<std::uint64_t>(batch * bandits.tasks() + b));
  return streams;
}

std::vector<std::int64_t> any_arms(const Bandits& bandits, std::vector<Random>& streams) {
  std::vector<std::int64_t> arms;
  for (Random& stream : streams) arms.push_back(stream.integer(0, bandits.arms()));
  return arms;
}

class UniformPolicy final : public Policy {
 public:
  UniformPolicy(const Bandits& bandits, std::vector<Random> streams)
      : bandits_(bandits), streams_(std::move(streams)) {}

  std::vector<std::int64_t> choose(std::int64_t /*step*/) override { return any_arms(bandits_, streams_); }

 private:
  const Bandits& bandits_;
  std::vector<Random> streams_;
};

/// LinUCB on the place and a constant.
class LinearPolicy final : public Policy {
 public:
  LinearPolicy(const Bandits& bandits, const BanditRules& rules)
      : bandits_(bandits),
        of_tasks_(static_cast<std::size_t>(bandits.tasks()),
                  LinUcb(bandits.arms(), bandits.dims() + 1, rules.ridge, rules.width)) {}

  std::vector<std::int64_t> choose(std::int64_t step) override {
    std::vector<std::int64_t> arms;
    for (std::int64_t b = 0; b < bandits_.tasks(); ++b)
      arms.push_back(of_tasks_[static_cast<std::size_t>(b)].choose(features(b, step)));
    return arms;
  }
  void learn(std::int64_t step, const std::vector<std::int64_t>& arms) override {
    for (std::int64_t b = 0; b < bandits_.tasks(); ++b) {
      const std::int64_t arm = arms[static_cast<std::size_t>(b)];
      of_tasks_[static_cast<std::size_t>(b)].learn(arm, features(b, step), bandits_.reward(b, step, arm));
    }
  }

 private:
  std::vector<double> features(std::int64_t b, std::int64_t step) const {
    const auto place = bandits_.place(b, step);
    std::vector<double> f(place.begin(), place.end());
    f.push_back(1);
    return f;
  }

  const Bandits& bandits_;
  std::vector<LinUcb> of_tasks_;
};

/// By a model's predictions of all arms, given what was chosen before: the reward of the chosen arm and standard normal
/// noise in the place of the others, as in TNP-pytorch. Its first arm is any.
class ModelPolicy final : public Policy {
 public:
  ModelPolicy(const Model& model, const Bandits& bandits, const BanditRules& rules, const Batch& batch,
              const SourceOptions& options, std::int64_t index)
      : model_(model),
        bandits_(bandits),
        rules_(rules),
        streams_(streams_of(bandits, options.seed, index, 1)),
        seed_(options.seed),
        first_step_(index * bandits.steps()),
        all_(batch.task),
        y_(Tensor::empty(all_.yt.shape(), DType::float64, Device::cpu)) {}

  std::vector<std::int64_t> choose(std::int64_t step) override {
    if (step == 0) return any_arms(bandits_, streams_);
    Draws draws(seed_, Purpose::evaluation, static_cast<std::uint64_t>(first_step_ + step));
    if (state_ && streaming_) {
      state_ = model_.update(*state_, known(step - 1, step));
    } else {
      state_ = model_.condition(known(0, step), draws, rules_.samples);
      // One that has drawn functions is to draw others in the next step.
      streaming_ = model_.streams() && draws.calls() == 0;
    }
    const auto prediction = model_.query(*state_, bandits_.places_at(step));
    return best_of(rules_.thompson ? prediction->functions(1, draws) : bound(*prediction));
  }
  void learn(std::int64_t step, const std::vector<std::int64_t>& arms) override {
    for (std::int64_t b = 0; b < bandits_.tasks(); ++b)
      for (std::int64_t arm = 0; arm < bandits_.arms(); ++arm) {
        const double noise = streams_[static_cast<std::size_t>(b)].normal();
        y_.data<double>()[(b * bandits_.steps() + step) * bandits_.arms() + arm] =
            arm == arms[static_cast<std::size_t>(b)] ? bandits_.reward(b, step, arm) : noise;
      }
  }

 private:
  Context known(std::int64_t begin, std::int64_t end) const {
    return {slice(all_.xt, 1, begin, end), slice(y_, 1, begin, end).to(all_.yt.dtype()).to(all_.yt.device())};
  }
  Tensor bound(const Prediction& prediction) const {
    const Marginals m = on_host(prediction.marginals());
    check(m.scale == Scale::linear && m.labels == 0, "[bandit] the model does not predict rewards of arms");
    const Moments p = moments(m);
    Tensor worth = Tensor::empty(p.mean.shape(), DType::float64, Device::cpu);
    for (std::int64_t i = 0; i < worth.numel(); ++i)
      worth.data<double>()[i] = p.mean.data<double>()[i] + rules_.width * p.std.data<double>()[i];
    return worth;
  }
  /// The first of equals.
  std::vector<std::int64_t> best_of(const Tensor& worth) const {
    std::vector<std::int64_t> arms;
    for (auto at = worth.values<double>().begin(); at != worth.values<double>().end(); at += bandits_.arms())
      arms.push_back(std::max_element(at, at + bandits_.arms()) - at);
    return arms;
  }

  const Model& model_;
  const Bandits& bandits_;
  const BanditRules& rules_;
  std::vector<Random> streams_;
  std::uint64_t seed_;
  std::int64_t first_step_;
  const Task& all_;
  Tensor y_;  // what is known, on the host
  std::unique_ptr<ContextState> state_;
  bool streaming_ = false;
};

BatchRegrets play(const Bandits& bandits, Policy& policy, StepProgress& progress) {
  BatchRegrets regrets{std::vector<std::vector<double>>(static_cast<std::size_t>(bandits.tasks())), {}};
  for (std::int64_t step = 0; step < bandits.steps(); ++step) {
    const std::vector<std::int64_t> arms = policy.choose(step);
    policy.learn(step, arms);
    for (std::int64_t b = 0; b < bandits.tasks(); ++b) {
      std::vector<double>& regret = regrets.cumulative[static_cast<std::size_t>(b)];
      const std::int64_t arm = arms[static_cast<std::size_t>(b)], best = bandits.best(b, step);
      const double lost = bandits.reward(b, step, best) - bandits.reward(b, step, arm);
      regret.push_back(lost + (regret.empty() ? 0 : regret.back()));
      regrets.optimal.push_back(arm == best ? 1 : 0);
    }
    progress.step();
  }
  return regrets;
}

/// The regrets of all policies in one batch.
struct PlayedBatch {
  BatchRegrets model, untrained, linear, uniform;
  std::int64_t tasks = 0;

  static void fields(auto& bytes, auto& self) {
    bytes(self.model, self.untrained, self.linear, self.uniform, self.tasks);
  }
};

/// Returns the steps at which curves are printed: a tenth of them, two tenths …
std::vector<std::int64_t> marks_of(std::int64_t steps) {
  std::vector<std::int64_t> marks;
  for (std::int64_t tenth = 1; tenth <= 10; ++tenth)
    if (const std::int64_t mark = steps * tenth / 10; mark > 0 && (marks.empty() || mark > marks.back()))
      marks.push_back(mark);
  return marks;
}

std::string regret_line(const std::string& who, const Regrets& regrets, const Regrets& uniform,
                        const BanditRules& rules) {
  const std::int64_t steps = regrets.steps();
  const RelativeRegret cumulative = relative_regret(regrets, uniform, 0, steps),
                       simple = relative_regret(regrets, uniform, steps - rules.last, steps);
  return fmt::format(
      "{:<20} {:.2f} ± {:.2f} % of uniform choice, the last {} steps {:.2f} ± {:.2f}; best arm in {:.1f} %", who,
      cumulative.mean.value, cumulative.deviation, rules.last, simple.mean.value, simple.deviation,
      100 * regrets.optimal.estimate().value);
}

/// Arms chosen by a model's predictions, beside those of the same model before training, LinUCB and uniform choice:
/// each target of a task is a step, and its channels are the arms. All tasks of a batch advance together. Regret counts
/// what the arm of the highest expected reward did pay, so that it can be a little below 0. A validation scores
/// likelihoods instead.
class BanditTrial final : public Trial {
 public:
  void check_rules(const ModelConfig& rules) const override { static_cast<void>(BanditRules(rules)); }
  Findings run(const Model& model, const TaskConfig& tasks, const TrialOptions& options) const override {
    if (options.headline_only) return find_trial("likelihood").run(model, tasks, options);
    const BanditRules rules(options.rules);
    const auto source = tasks.source(options.tasks);
    const NoGrad off;
    const std::unique_ptr<Model> untrained = options.untrained ? options.untrained() : nullptr;
    Regrets of_model, of_untrained, of_linear, of_uniform;
    Findings found;
    StepProgress progress(options);
    const auto play_batch = [&](std::int64_t index) {
      const Batch batch = source->batch(static_cast<std::uint64_t>(index));
      const Bandits bandits(batch);
      check(rules.last <= bandits.steps(), "[bandit] last = {} found, expected at most the {} steps", rules.last,
            bandits.steps());
      ModelPolicy policy(model, bandits, rules, batch, options.tasks, index);
      LinearPolicy linear(bandits, rules);
      UniformPolicy uniform(bandits, streams_of(bandits, options.tasks.seed, index, 0));
      progress.begin_batch(index, (untrained ? 4 : 3) * bandits.steps());
      PlayedBatch played;
      played.tasks = bandits.tasks();
      played.model = play(bandits, policy, progress);
      if (untrained) {
        ModelPolicy ignorant(*untrained, bandits, rules, batch, options.tasks, index);
        played.untrained = play(bandits, ignorant, progress);
      }
      played.linear = play(bandits, linear, progress);
      played.uniform = play(bandits, uniform, progress);
      return played;
    };
    share_batches(options, play_batch, [&](const PlayedBatch& played) {
      of_model.add(played.model);
      of_untrained.add(played.untrained);
      of_linear.add(played.linear);
      of_uniform.add(played.uniform);
      found.tasks += played.tasks;
    });
    add_figures(of_model, of_uniform, rules, found);
    found.headline_lines = {regret_line("cumulative regret", of_model, of_uniform, rules)};
    const auto add_beside = [&](const std::string& who, const Regrets& regrets) {
      add_regrets(who + "_", regrets, of_uniform, rules, found);
      found.headline_lines.push_back(regret_line(who == "linear" ? "LinUCB" : who, regrets, of_uniform, rules));
    };
    if (untrained) add_beside("untrained", of_untrained);
    add_beside("linear", of_linear);
    add_beside("uniform", of_uniform);
    std::string curve = "regret after        ";
    for (const std::int64_t mark : marks_of(of_model.steps()))
      curve += fmt::format(" {}: {:.2f}", mark, relative_regret(of_model, of_uniform, 0, mark).mean.value);
    const std::string policy = rules.thompson ? "Thompson's rule" : fmt::format("mean + {} deviations", rules.width);
    found.further_lines = {curve, fmt::format("{} steps by {}; ± is the deviation over {} {}", of_model.steps(), policy,
                                              found.tasks, rules.over)};
    return found;
  }

 private:
  static void add(std::string name, const Estimate& value, Findings& found) {
    found.figures.push_back({.name = std::move(name), .value = value, .has_error = true, .more_is_better = false});
  }
  static void add_regrets(const std::string& who, const Regrets& regrets, const Regrets& uniform,
                          const BanditRules& rules, Findings& found) {
    const std::int64_t steps = regrets.steps();
    const RelativeRegret cumulative = relative_regret(regrets, uniform, 0, steps),
                         simple = relative_regret(regrets, uniform, steps - rules.last, steps);
    add(who + "cumulative_regret", cumulative.mean, found);
    found.figures.push_back(
        {.name = who + "cumulative_deviation", .value = {cumulative.deviation}, .more_is_better = false});
    add(who + "simple_regret", simple.mean, found);
    found.figures.push_back({.name = who + "simple_deviation", .value = {simple.deviation}, .more_is_better = false});
    for (const std::int64_t mark : marks_of(steps))
      add(fmt::format("{}regret_after.{}", who, mark), relative_regret(regrets, uniform, 0, mark).mean, found);
  }
  static void add_figures(const Regrets& model, const Regrets& uniform, const BanditRules& rules, Findings& found) {
    add_regrets("", model, uniform, rules, found);
    found.figures.push_back({.name = "best_arm", .value = model.optimal.estimate(), .has_error = true});
  }
};

const Trial& bandit_trial() {
  static const BanditTrial trial;
  return trial;
}

}  // namespace

TrialInfo bandit_info() { return {.name = "bandit", .trial = bandit_trial}; }

}  // namespace npzoo
