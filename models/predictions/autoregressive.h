#pragma once

#include <functional>
#include <memory>

#include "npzoo/models/model.h"

namespace npzoo {

/// Predicts targets one block after the other in the given order, each block given the context and the values of all
/// blocks before: log p(y) = Σ log p(block
/// earlier blocks). Each target by itself is a mixture over sampled paths. Derived classes predict the next block; they
/// override `joint_log_likelihood` if one pass of a network gives the density of all targets.
class Autoregressive : public Prediction {
 public:
  /// xt (B, Nt, Dx); blocks of `block` targets. `draws` are copied; `samples` paths of each task are drawn for the
  /// marginals, the same ones each time.
  Autoregressive(std::shared_ptr<const ContextState> state, Tensor xt, const Draws& draws, std::int64_t samples,
                 std::int64_t block);

  Marginals marginals() const override;
  Tensor joint_log_likelihood(const Tensor& y) const override;
  Tensor sample(std::int64_t n, Draws& draws) const override;
  /// "teacher-forced": the values of what came before are those of the targets.
  DensityForms forms() const override;
  /// Returns the distribution of each target, given the values y (B, Nt, Dy) of those before its block: the factors of
  /// `joint_log_likelihood`. This default works block by block; models that need one pass of a network override it.
  virtual Marginals given_those_before(const Tensor& y) const;
  /// Returns the distribution of each target as if there were no others, which needs no paths: that of a block of it
  /// alone, after the context. Recorded if a recording is on. This default predicts one target after the other.
  virtual Marginals each_alone() const;
  /// Calls visit(prediction, first target, end) for each block, given the values y of those before it.
  void teacher_forced(const Tensor& y,
                      const std::function<void(const Prediction&, std::int64_t, std::int64_t)>& visit) const;

 protected:
  /// Predicts the next targets (B, n, Dx), given the points in the state.
  virtual std::unique_ptr<Prediction> next(const ContextState& state, const Tensor& xt) const = 0;
  /// The state with targets and their values.
  virtual std::unique_ptr<ContextState> after(const ContextState& state, const Context& observed) const = 0;

 private:
  /// Calls visit(prediction of the block, its first target, its targets' end), which returns the values to continue
  /// with.
  template <class F>
  void walk(const F& visit) const;

  std::shared_ptr<const ContextState> state_;
  Tensor xt_;
  Draws draws_;
  std::int64_t samples_, block_;
};

}  // namespace npzoo
