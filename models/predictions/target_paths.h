#pragma once

#include <memory>

#include "npzoo/models/predictions/autoregressive.h"

namespace npzoo {

/// Predicts targets one after the other, on many paths at once. Derived classes keep the state of each path, such as
/// keys and values, and predict the next target.
class TargetPaths : public Autoregressive {
 public:
  struct Plan {
    std::int64_t dim_y = 1;
    std::int64_t numbers = 0;  // that a path keeps of each target
    /// Each path meets the targets in an order of its own that is drawn.
    bool permute = false;
  };

  TargetPaths(std::shared_ptr<const ContextState> state, Tensor xt, const Draws& draws, std::int64_t samples,
              const Plan& plan);

  Marginals marginals() const override;
  Tensor sample(std::int64_t n, Draws& draws) const override;

  /// Bytes that paths keep at a time; more than one path of each task only where they fit. Every target reads all of
  /// them: on the CPU they are to stay in a cache.
  static constexpr std::int64_t path_memory(Device device) { return (device == Device::cpu ? 8 : 256) << 20; }

 protected:
  /// Paths on their way, P of each task; row b·P + p is path p of task b.
  class Walk {
   public:
    virtual ~Walk() = default;
    /// Predicts target t, (B·P, 1, Dy), from x (B·P, Nt, Dx) in the order of each path and values (B·P, Nt, Dy) of
    /// those before t.
    virtual Moments target(const Tensor& x, const Tensor& values, std::int64_t t) = 0;
  };
  /// So many rows at the context.
  virtual std::unique_ptr<Walk> walk(std::int64_t rows) const = 0;

  const Tensor& xt() const { return xt_; }

 private:
  struct Paths {
    Moments moments;  // (K, B, Nt, Dy)
    Tensor values;
  };

  Paths follow(std::int64_t n, Draws& draws) const;
  Paths follow(const Tensor& orders, const Tensor& noise) const;
  Tensor draw_orders(std::int64_t n, Draws& draws) const;
  Tensor draw_noise(std::int64_t n, Draws& draws) const;
  std::int64_t paths_at_a_time(std::int64_t n) const;
  Tensor inputs(const Tensor& orders, std::int64_t paths) const;

  Tensor xt_;
  Draws draws_;
  std::int64_t samples_;
  Plan plan_;
};

}  // namespace npzoo
