#pragma once

#include <limits>
#include <optional>

#include "npzoo/engine/random.h"
#include "npzoo/engine/tensor.h"

namespace npzoo {

/// The framework whose defaults a model starts from: published figures depend on them.
/// The last is Flax whose linear layers start from orthogonal matrices, as the later models of dl4bi.
enum class Framework : std::uint8_t { torch, flax, tensorflow, flax_orthogonal };

/// The source of initial weights, and the largest number of them. A model from an untrusted file must not be larger
/// than the file.
struct InitialWeights {
  std::uint64_t seed = 0;
  std::int64_t max_elements = std::numeric_limits<std::int64_t>::max();
  bool drawn =
      true;  // without, their elements are undefined: where shapes are all that matters, or others are assigned
};

/// Draws initial weights, float32, in the order of the calls, and puts them on the default device. Throws Error if
/// there are more than allowed.
class Initializer {
 public:
  Initializer(Framework framework, const InitialWeights& weights)
      : framework_(framework),
        drawn_(weights.drawn),
        elements_left_(weights.max_elements),
        random_(weights.seed, kStream) {}

  Framework framework() const { return framework_; }
  bool drawn() const { return drawn_; }

  /// Weight (out, in) of a linear layer as the framework makes it by default: torch U(±1/√in) (Kaiming uniform with
  /// a = √5), flax the truncated normal of variance 1/in (LeCun), tensorflow `xavier_uniform`, flax_orthogonal
  /// `orthogonal`.
  Tensor linear_weight(std::int64_t out, std::int64_t in);
  /// Its bias (out): torch U(±1/√in), the others zeros.
  Tensor linear_bias(std::int64_t out, std::int64_t in);
  /// Weight of a convolution as the framework makes it by default, the same distributions by the inputs of an output,
  /// taps · in. `shape` is (taps…, in, out) of one group's inputs and all outputs; `fan_in` is what the framework takes
  /// for the inputs where that is something else.
  Tensor convolution_weight(const Shape& shape, std::optional<std::int64_t> fan_in = {});
  /// N(0, 2 / (fan_in + fan_out)) (Glorot and Bengio), of any shape.
  Tensor xavier_normal(const Shape& shape, std::int64_t fan_in, std::int64_t fan_out);
  /// U(±√(6 / (fan_in + fan_out))) of shape (out, in) (Glorot and Bengio). The fans may be those of a larger matrix
  /// that this one is a block of.
  Tensor xavier_uniform(std::int64_t out, std::int64_t in, std::int64_t fan_out, std::int64_t fan_in);
  /// A random matrix (out, in) whose rows, or columns if there are fewer of these, are orthogonal and of length 1
  /// (Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks", 2014).
  Tensor orthogonal(std::int64_t out, std::int64_t in);
  /// U(±bound), whatever the framework.
  Tensor uniform(const Shape& shape, double bound);
  /// N(0, 1), whatever the framework.
  Tensor standard_normal(const Shape& shape);
  /// A random stream of its own, from the same seed, for a module that draws `elements` numbers that count as weights.
  RandomState new_stream(std::int64_t elements);

 private:
  static constexpr std::uint64_t kStream = 0x696e6974;  // apart from the streams that data is drawn from

  template <class Draw>
  Tensor make(const Shape& shape, Draw draw);
  Tensor truncated_normal(const Shape& shape, double deviation);

  Framework framework_;
  bool drawn_;
  std::int64_t elements_left_;
  Random random_;
  std::uint64_t streams_ = 0;  // given away
};

}  // namespace npzoo
