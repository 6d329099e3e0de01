#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Features of each point from a Taylor expansion around the nearest earlier point (Nivron, Parthipan and Wischik,
/// "Taylorformer: probabilistic modelling for random processes including time series", 2023, section 3.1). With k = Dx
/// neighbours, all (B, n, …); differences are point minus neighbour:
struct LocalTaylor {
  Tensor y_difference;  // (B, n, k·Dy), of the nearest neighbour first
  Tensor derivative;    // (B, n, Dx·Dy), by each input in turn; 0 if it is not kept
  Tensor kept;          // (B, n, Dx·Dy), 1; 0 if the estimate was beyond 200 or there was none
  Tensor y_near;        // (B, n, k·Dy)
  Tensor x_difference;  // (B, n, k·Dx)
  Tensor x_near;        // (B, n, k·Dx)
  Tensor first_order;   // (B, n, Dy), derivatives at the nearest neighbour times the difference to it
};

/// Computes the features of points `first` … of x (B, N, Dx) and y (B, N, Dy). The first `context` points are a
/// context, with its real ones leading (`lengths` (B), undefined: all). Neighbours of a context point are the other
/// context points; those of a target are the context and the earlier targets; never the point itself. Of two equally
/// near points the one with the lower index counts. A point without neighbours has itself as x_near and zeros else;
/// padding has zeros.
///
/// Dx = 1 divides by 2e-6 + |x_difference|, so a derivative has the sign of y_difference, as in the authors' code
/// (github.com/oremnirv/Taylorformer @dfd0e1d); first_order has the right one. Dx = 2 solves for both derivatives, and
/// adds `noise` (B, N, 4), if defined, to the neighbours' x, since points of a grid lie on lines. Nothing is estimated
/// from a single neighbour, which then is the second one as well, or from two on a line with the point.
///
/// float32 or float64; distances are computed in the same type. All of it is data: records nothing. Throws Error for
/// other shapes and Dx.
LocalTaylor local_taylor(const Tensor& x, const Tensor& y, std::int64_t context, const Tensor& lengths = {},
                         std::int64_t first = 0, const Tensor& noise = {});

/// Sines, then cosines, of x / (least · ratio^(2j / width)), j = 0 … width / 2 − 1, for each input in turn, in double:
/// x (B, N, Dx) → (B, N, Dx·width). Nothing is recorded. Throws Error for an odd width.
Tensor input_encoding(const Tensor& x, std::int64_t width, double least, double ratio);

}  // namespace npzoo
