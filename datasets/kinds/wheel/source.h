#pragma once

#include <optional>
#include <span>
#include <vector>

#include "npzoo/datasets/task_source.h"

namespace npzoo {

/// The wheel bandit (Riquelme, Tucker and Snoek, "Deep Bayesian bandits showdown", ICLR 2018) as TNP-pytorch has it: a
/// context is a place in the unit disc, an arm is a channel. Arm 0 pays 1.2 and the others 1.0, give or take 0.05, but
/// at `delta` or further from the centre the arm of the place's quadrant pays 50, give or take 0.01.
namespace wheel {

inline constexpr std::int64_t kArms = 5;
inline constexpr std::int64_t kAuthorsProblems = 8;  // that they train on
inline constexpr double kStd = 0.05, kLarge = 50, kLargeStd = 0.01;

/// That of the highest mean reward at (x, y): 0 inside, else 1, 2, 3, 4 for (+, +), (−, +), (−, −), (+, −); 0 counts as
/// negative.
std::int64_t best_arm(double x, double y, double delta);
/// Returns the mean (standard deviation) of an arm's reward there.
double mean_reward(std::int64_t arm, std::int64_t best);
double std_reward(std::int64_t arm, std::int64_t best);

/// Places and the rewards of all arms there.
struct Problem {
  std::vector<double> x, y;  // (n, 2), (n, kArms)
};
/// As `sample_wheel_data(points, delta, order)` of TNP-pytorch draws it, but for how a library rounds logarithms:
/// places and rewards come from seed 0 whatever `order`, which only says how they are shuffled. `points` ≥ 3.
Problem authors_problem(std::int64_t points, double delta, std::uint32_t order);

}  // namespace wheel

/// Settings of `[data] kind = "wheel"`.
struct WheelDistribution {
  enum class Problems : std::uint8_t {
    authors,  // places and rewards of one seed, each problem in an order of its own; in training a finite set
    fresh     // everything drawn anew for each problem
  };
  Problems problems = Problems::fresh;
  std::optional<double> delta{};  // where it is not uniform on [0, 1)
  std::int64_t context = 512, targets = 50;
};

/// Batches of problems. Under `authors` problem i of training has δ number i modulo 8 of seed 0 and order i modulo 8,
/// which is the set that TNP-pytorch trains on. Those of a validation continue after them, and problem i of a test has
/// order seed + i.
class WheelSource final : public TaskSource {
 public:
  WheelSource(const WheelDistribution& distribution, const SourceOptions& options)
      : distribution_(distribution), options_(options) {}

  Batch batch(std::uint64_t index) const override;
  Device device() const override { return options_.device; }

 private:
  wheel::Problem authors(std::uint64_t number, double& delta) const;

  WheelDistribution distribution_;
  SourceOptions options_;
};

}  // namespace npzoo
