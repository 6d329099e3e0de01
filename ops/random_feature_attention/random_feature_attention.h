#pragma once

#include "npzoo/engine/device_counter.h"
#include "npzoo/engine/random.h"
#include "npzoo/ops/masked_attention/prefix_mask.h"

namespace npzoo {

/// Lengths of the rows of a random projection.
enum class FeatureNorms : std::uint8_t {
  fixed,  // √D each: what the TNP-KR authors' code does; estimates a kernel that differs slightly from exp(q·k)
  chi     // those of Gaussian vectors (χ with D degrees of freedom): estimates exp(q·k) without bias
};

/// Random directions that are orthogonal within each block of D rows (Choromanski et al., "Rethinking attention with
/// performers", ICLR 2021, section 2.4): the Q factor of Gaussian D × D matrices, one block after the other, the last
/// one cut off. (features, width), float64, on the default device. Directions do not depend on `norms`. Error unless
/// there is at least one feature and one channel.
Tensor orthogonal_random_features(std::int64_t features, std::int64_t width, FeatureNorms norms, Random& random);

/// The number subtracted in the exponent of the features so that they neither overflow nor vanish.
enum class Stabiliser : std::uint8_t {
  none,    // nothing (TNP-KR)
  maximum  // of a query its largest exponent; of the keys the largest among the visible ones of a head
};

struct RandomFeatureOptions {
  int heads = 1;
  /// Factor on q·k. 0 stands for 1/√D with D the width of one head.
  double scale = 0;
  Stabiliser stabiliser = Stabiliser::none;
};

/// All that linear attention needs to know of keys and values, in size independent of their number.
struct KeySummary {
  Tensor sums;  // (B, H, M, Dv + 1): Σⱼ φ(kⱼ) [vⱼ, 1], divided by exp(shift)
  Tensor shift;  // (B, H): the stabiliser's; −∞ where no key was visible. A constant: attention does not depend on it
};

/// Sums over the visible keys in one pass.
///
/// k (B, Nk, H·D), v (B, Nk, H·Dv), projection (M, D), all of one dtype, float32 or float64; the projection is a
/// constant, and it is an error for it to be a variable. Features are φ(x) = exp(w·x − ‖x‖²/2 − shift)/√M of x = √scale
/// · k. A visible key whose ‖x‖² overflows makes the sums NaN. The mask must be the same for all rows of a batch
/// element. Invisible keys and values may be NaN; Nk = 0 is legal. Saves k, v and projection; memory is O(B·H·M·Dv) besides.
KeySummary summarise_keys(const Tensor& k, const Tensor& v, const Tensor& projection, const PrefixMask& mask,
                          const RandomFeatureOptions& options);

/// The summary of both sets of keys together: both are brought to the larger shift and added. Associative and
/// commutative up to rounding; differentiable in the sums. Saves both sums.
KeySummary merge(const KeySummary& a, const KeySummary& b);

/// q (B, Nq, H·D) → (B, Nq, H·Dv): φ(q)·Σ φ(k) v / max(φ(q)·Σ φ(k), 10⁻⁶). Where no key was visible the result is
/// 0, and no gradient goes back. A denominator that is limited is a constant to the gradient, as in the authors' code;
/// the stabiliser's shifts always are. Saves q, the summary and projection.
Tensor attend_to_summary(const Tensor& q, const KeySummary& keys, const Tensor& projection,
                         const RandomFeatureOptions& options);

/// FAVOR+ attention, the two steps above: an estimate of softmax(scale · q kᵀ) v in time and memory O(N · (D + M)).
Tensor linear_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& projection,
                        const PrefixMask& mask, const RandomFeatureOptions& options);

/// Counts denominators that were limited to 10⁻⁶ although keys were visible. Many of them mean that the features have
/// collapsed; predictions are then unreliable. A CountScope counts those of one call.
DeviceCounter& clamped_denominator_counter();

}  // namespace npzoo
