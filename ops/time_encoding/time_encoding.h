#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Times of events from the gaps before them: time(b, i) = start(b) + gap(b, 0) + … + gap(b, i), added in double.
///
/// gaps (B, N) float32 or float64, start (B) float64 → (B, N) float64. Gaps are data: nothing is recorded. Throws Error
/// for other shapes.
Tensor event_times(const Tensor& gaps, const Tensor& start);

/// Sines and cosines of times (Zuo et al., "Transformer Hawkes process", ICML 2020, section 3.2): channel d of `width`
/// is the sine, for odd d the cosine, of t / 10000^(2⌊d/2⌋ / width), in double.
///
/// times (B, N) float64 → (B, N, width) of `dtype`. Nothing is recorded.
Tensor time_encoding(const Tensor& times, std::int64_t width, DType dtype);

}  // namespace npzoo
