#include "npzoo/models/predictions/autoregressive.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "npzoo/engine/cancellation.h"
#include "npzoo/models/predictions/host.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"

namespace npzoo {

namespace {

/// The first of samples (n, …).
Tensor first_of(const Tensor& samples) { return slice(samples, 0, 0, 1).view(samples.shape().without(0)); }

/// Marginals of targets that come one block after the other.
class SideBySide {
 public:
  void add(const Marginals& block) {
    mean_.push_back(block.mean);
    std_.push_back(block.std);
    if (block.log_weight.defined()) weight_.push_back(block.log_weight);
    if (block.parameters.defined()) parameters_.push_back(block.parameters);
    form_ = block;
  }
  Marginals joined() const {
    Marginals all = form_;
    all.mean = concat(mean_, 2);
    all.std = concat(std_, 2);
    if (!weight_.empty()) all.log_weight = concat(weight_, 2);
    if (!parameters_.empty()) all.parameters = concat(parameters_, 2);
    return all;
  }

 private:
  std::vector<Tensor> mean_, std_, weight_, parameters_;
  Marginals form_;
};

}  // namespace

Autoregressive::Autoregressive(std::shared_ptr<const ContextState> state, Tensor xt, const Draws& draws,
                               std::int64_t samples, std::int64_t block)
    : state_(std::move(state)), xt_(std::move(xt)), draws_(draws), samples_(samples), block_(block) {
  check(samples_ >= 1 && block_ >= 1, "[prediction] {} paths in blocks of {} targets, expected 1 or more", samples_,
        block_);
}

template <class F>
void Autoregressive::walk(const F& visit) const {
  const std::int64_t targets = xt_.dim(1);
  std::unique_ptr<ContextState> own;
  for (std::int64_t begin = 0; begin == 0 || begin < targets; begin += block_) {
    throw_if_stopped();
    const std::int64_t end = std::min(begin + block_, targets);
    const ContextState& now = own ? *own : *state_;
    const Tensor x = slice(xt_, 1, begin, end);
    const auto prediction = next(now, x);
    const Tensor y = visit(*prediction, begin, end);
    if (end < targets) own = after(now, {x, y.to(xt_.dtype()).to(xt_.device())});
  }
}

Marginals Autoregressive::marginals() const {
  Draws draws = draws_;
  std::vector<Tensor> mean, std, weight;  // of each path, (K, B, Nt, Dy); (K, B, Nt)
  Marginals all;
  for (std::int64_t path = 0; path < samples_; ++path) {
    SideBySide blocks;
    walk([&](const Prediction& block, std::int64_t, std::int64_t) {
      blocks.add(block.marginals());
      return first_of(block.sample(1, draws));
    });
    all = blocks.joined();
    mean.push_back(all.mean);
    std.push_back(all.std);
    if (all.log_weight.defined())
      weight.push_back(affine(all.log_weight, 1, -std::log(static_cast<double>(samples_))));  // paths are equal
  }
  all.mean = concat(mean, 0);
  all.std = concat(std, 0);
  if (!weight.empty()) all.log_weight = concat(weight, 0);
  return all;
}

Marginals Autoregressive::given_those_before(const Tensor& y) const {
  SideBySide blocks;
  teacher_forced(y, [&](const Prediction& block, std::int64_t, std::int64_t) { blocks.add(block.marginals()); });
  return blocks.joined();
}

Marginals Autoregressive::each_alone() const {
  if (xt_.dim(1) == 0) return next(*state_, xt_)->marginals();
  SideBySide targets;
  for (std::int64_t i = 0; i < xt_.dim(1); ++i) targets.add(next(*state_, slice(xt_, 1, i, i + 1))->marginals());
  return targets.joined();
}

void Autoregressive::teacher_forced(
    const Tensor& y, const std::function<void(const Prediction&, std::int64_t, std::int64_t)>& visit) const {
  check(y.dim(1) == xt_.dim(1), "[prediction] y {} found, expected values of {} targets", y.shape(), xt_.dim(1));
  walk([&](const Prediction& block, std::int64_t begin, std::int64_t end) {
    visit(block, begin, end);
    return slice(y, 1, begin, end);
  });
}

Tensor Autoregressive::joint_log_likelihood(const Tensor& y) const {
  Tensor joint = Tensor::zeros({xt_.dim(0)}, DType::float64, Device::cpu);
  teacher_forced(y, [&](const Prediction& block, std::int64_t begin, std::int64_t end) {
    const Tensor own = block.joint_log_likelihood(slice(y, 1, begin, end));
    for (std::size_t b = 0; b < own.values<double>().size(); ++b) joint.values<double>()[b] += own.values<double>()[b];
  });
  return joint;
}

Tensor Autoregressive::sample(std::int64_t n, Draws& draws) const {
  std::vector<Tensor> paths;
  for (std::int64_t path = 0; path < n; ++path) {
    std::vector<Tensor> blocks;
    walk([&](const Prediction& block, std::int64_t, std::int64_t) {
      blocks.push_back(block.sample(1, draws));  // (1, B, n, Dy)
      return first_of(blocks.back());
    });
    paths.push_back(concat(blocks, 2));
  }
  return concat(paths, 0);
}

DensityForms Autoregressive::forms() const {
  return {std::to_string(samples_) + " samples",
          block_ == 1 ? "teacher-forced" : "teacher-forced, blocks of " + std::to_string(block_), true};
}

}  // namespace npzoo
