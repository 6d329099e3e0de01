#pragma once

#include <memory>
#include <vector>

#include "npzoo/models/predictions/autoregressive.h"
#include "npzoo/models/tnp/target_buffer.h"

namespace npzoo {

/// Predicts targets one after the other: each given the context and the values of the targets in the buffer. When the
/// buffer is full, its points become context (BufferedModel::absorbed), and the buffer is empty.
///
/// Each target by itself has the answer of the empty buffer. The density of all targets takes one pass for each filling
/// of the buffer. Many sample paths go together and share the first context's keys and values. Shares the weights that
/// the model and the state have now, so it may outlive both.
class BufferedTargets final : public Autoregressive {
 public:
  /// Arguments as in Autoregressive. The state has a buffer, which is empty.
  BufferedTargets(const BufferedModel& model, const std::shared_ptr<const ContextState>& state, Tensor xt,
                  const Draws& draws, std::int64_t samples);

  Marginals marginals() const override;
  Tensor log_likelihood(const Tensor& y) const override;
  Tensor joint_log_likelihood(const Tensor& y) const override;
  Tensor sample(std::int64_t n, Draws& draws) const override;
  DensityForms forms() const override;
  Marginals given_those_before(const Tensor& y) const override;
  Marginals each_alone() const override { return marginals(); }
  /// The state of the context and an empty buffer.
  const ContextState& state() const { return *state_; }

 protected:
  std::unique_ptr<Prediction> next(const ContextState& state, const Tensor& xt) const override;
  std::unique_ptr<ContextState> after(const ContextState& state, const Context& observed) const override;

 private:
  /// Random numbers of a target on n paths of each task, float64 on the CPU.
  struct Noise {
    Tensor component;  // (n, B, 1), uniform; undefined for one component
    Tensor value;      // (n, B, Dy), normal
  };

  Marginals given_block(const ContextState& state, const Tensor& x, const Tensor& y) const;
  std::int64_t paths_at_a_time(std::int64_t n) const;
  std::vector<Noise> draw_noise(std::int64_t n, Draws& draws) const;
  /// Values (B·P, Nt, Dy) on paths [first, first + P), row b·P + p.
  Tensor follow(const std::vector<Noise>& noise, std::int64_t first, std::int64_t paths) const;
  Tensor draw_target(const Marginals& target, const Noise& noise, std::int64_t first, std::int64_t paths) const;

  std::shared_ptr<const BufferedModel> model_;
  std::shared_ptr<const ContextState> state_;
  Tensor xt_;
};

}  // namespace npzoo
