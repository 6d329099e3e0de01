#include "npzoo/engine/optim/nelder_mead.h"

#include <algorithm>
#include <cmath>

#include "npzoo/engine/cancellation.h"

namespace npzoo {

namespace {

struct Corner {
  std::vector<double> at;
  double value;
};

class Simplex {
 public:
  Simplex(const std::function<double(const std::vector<double>&)>& f, const std::vector<double>& start, double step)
      : f_(f) {
    corners_.push_back(corner(start));
    for (std::size_t d = 0; d < start.size(); ++d) {
      std::vector<double> at = start;
      at[d] += step;
      corners_.push_back(corner(at));
    }
    sort();
  }

  int calls() const { return calls_; }
  double spread() const { return corners_.back().value - corners_.front().value; }
  const Corner& best() const { return corners_.front(); }

  void step() {
    Corner& worst = corners_.back();
    const std::vector<double> middle = middle_of_others();
    const Corner reflected = corner(along(middle, -1));
    if (reflected.value < corners_.front().value) {
      const Corner expanded = corner(along(middle, -2));
      worst = expanded.value < reflected.value ? expanded : reflected;
    } else if (reflected.value < corners_[corners_.size() - 2].value) {
      worst = reflected;
    } else {
      const bool outside = reflected.value < worst.value;
      const Corner contracted = corner(along(middle, outside ? -0.5 : 0.5));
      if (contracted.value < std::min(reflected.value, worst.value))
        worst = contracted;
      else
        shrink();
    }
    sort();
  }

 private:
  Corner corner(const std::vector<double>& at) {
    throw_if_stopped();
    ++calls_;
    return {at, f_(at)};
  }
  void sort() { std::ranges::stable_sort(corners_, {}, &Corner::value); }

  std::vector<double> middle_of_others() const {
    std::vector<double> middle(corners_.front().at.size(), 0);
    for (std::size_t i = 0; i + 1 < corners_.size(); ++i)
      for (std::size_t d = 0; d < middle.size(); ++d)
        middle[d] += corners_[i].at[d] / static_cast<double>(corners_.size() - 1);
    return middle;
  }
  /// The middle plus `t` times the way to the worst corner.
  std::vector<double> along(const std::vector<double>& middle, double t) const {
    std::vector<double> at = middle;
    for (std::size_t d = 0; d < at.size(); ++d) at[d] += t * (corners_.back().at[d] - middle[d]);
    return at;
  }
  void shrink() {
    const std::vector<double> to = corners_.front().at;
    for (std::size_t i = 1; i < corners_.size(); ++i) {
      std::vector<double> at = corners_[i].at;
      for (std::size_t d = 0; d < at.size(); ++d) at[d] = to[d] + (at[d] - to[d]) / 2;
      corners_[i] = corner(at);
    }
  }

  const std::function<double(const std::vector<double>&)>& f_;
  std::vector<Corner> corners_;  // the best one first
  int calls_ = 0;
};

}  // namespace

Minimum nelder_mead(const std::function<double(const std::vector<double>&)>& f, const std::vector<double>& start,
                    const NelderMeadOptions& options) {
  Simplex simplex(f, start, options.step);
  const auto least = [&] { return options.value_spread + options.relative_spread * std::abs(simplex.best().value); };
  while (simplex.calls() < options.most_calls && simplex.spread() > least()) simplex.step();
  return {simplex.best().at, simplex.best().value, simplex.calls()};
}

}  // namespace npzoo
