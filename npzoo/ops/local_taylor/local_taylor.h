#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// What a Taylor expansion around the nearest point that came before says of each point (Nivron, Parthipan and
/// Wischik, "Taylorformer: probabilistic modelling for random processes including time series", 2023, section 3.1).
/// With k = Dx neighbours, all (B, n, …), differences those from point minus neighbour:
struct LocalTaylor {
  Tensor y_difference;  // (B, n, k·Dy), of the nearest neighbour first
  Tensor derivative;    // (B, n, Dx·Dy), by each input in turn; 0 where it is not kept
  Tensor kept;          // (B, n, Dx·Dy), 1; 0 where the estimate was beyond 200 or there was none
  Tensor y_near;        // (B, n, k·Dy)
  Tensor x_difference;  // (B, n, k·Dx)
  Tensor x_near;        // (B, n, k·Dx)
  Tensor first_order;   // (B, n, Dy), derivatives at the nearest neighbour times the difference to it
};

/// Of points `first` … of x (B, N, Dx) and y (B, N, Dy), the first `context` of which are a context, with its real ones
/// leading (`lengths` (B), undefined: all). Neighbours of a context point are the others, those of a target are the
/// context and the targets before it; never the point itself, the lower index where two are equally near. A point
/// without neighbours has itself as x_near and zeros else, padding has zeros.
///
/// Dx = 1 divides by 2e-6 + |x_difference|, so a derivative has the sign of y_difference, as the authors have it
/// (github.com/oremnirv/Taylorformer @dfd0e1d); first_order has the right one. Dx = 2 solves for both derivatives, and
/// `noise` (B, N, 4), where it is defined, is added to the neighbours' x, since points of a grid lie on lines. From one
/// neighbour alone, which then is the second one as well, or from two on a line with the point nothing is estimated.
///
/// float32 or float64, distances in it. All of it is data: nothing is recorded. Throws Error for other shapes and Dx.
LocalTaylor local_taylor(const Tensor& x, const Tensor& y, std::int64_t context, const Tensor& lengths = {},
                         std::int64_t first = 0, const Tensor& noise = {});

/// Sines, then cosines, of x / (least · ratio^(2j / width)), j = 0 … width / 2 − 1, for each input in turn, in double:
/// x (B, N, Dx) → (B, N, Dx·width). Nothing is recorded. Throws Error for an odd width.
Tensor input_encoding(const Tensor& x, std::int64_t width, double least, double ratio);

}  // namespace npzoo
