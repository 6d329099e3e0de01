#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace npzoo {

/// Disjoint LinUCB (Li, Chu, Langford and Schapire, "A contextual-bandit approach to personalized news article
/// recommendation", WWW 2010, algorithm 1): a ridge regression of each arm's rewards on features, and an upper
/// confidence bound. Of one bandit; an update takes time quadratic in the features.
class LinUcb {
 public:
  /// `ridge` > 0 stands on the diagonal before anything is known; `width` is the paper's α.
  LinUcb(std::int64_t arms, std::int64_t features, double ridge, double width);

  /// Returns the reward of an arm by its regression, plus `width` standard deviations for rewards of deviation 1.
  double bound(std::int64_t arm, std::span<const double> features) const;
  /// The arm of the highest bound, the first of equals.
  std::int64_t choose(std::span<const double> features) const;
  void learn(std::int64_t arm, std::span<const double> features, double reward);

 private:
  struct Regression {
    std::vector<double> inverse;  // of ridge · 1 + Σ f fᵀ
    std::vector<double> sums;     // Σ reward · f
  };

  double width_;
  std::vector<Regression> arms_;
};

}  // namespace npzoo
