#include "npzoo/ops/local_taylor/local_taylor.h"

#include <algorithm>

#include "npzoo/engine/backend.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/local_taylor/kernels.h"
#include "npzoo/ops/mask_points/lengths.h"

namespace npzoo {

LocalTaylor local_taylor(const Tensor& x, const Tensor& y, std::int64_t context, const Tensor& lengths,
                         std::int64_t first, const Tensor& noise) {
  check(x.rank() == 3 && x.dim(2) >= 1 && x.dim(2) <= kMostTaylorInputs,
        "[local_taylor] x {} found, expected (B, N, 1) or (B, N, 2)", x.shape());
  const std::int64_t batch = x.dim(0), points = x.dim(1), k = x.dim(2);
  check(y.rank() == 3 && y.dim(0) == batch && y.dim(1) == points && y.dtype() == x.dtype(),
        "[local_taylor] y {} {} found, expected {} ({}, {}, Dy)", to_string(y.dtype()), y.shape(), to_string(x.dtype()),
        batch, points);
  check(0 <= context && context <= points && 0 <= first && first <= points,
        "[local_taylor] a context of {} points and a first point {} found, expected 0 to {}", context, first, points);
  if (lengths.defined()) check_lengths("local_taylor", x, lengths, context);
  const Shape perturbed{batch, points, k * k};
  check(!noise.defined() || (noise.shape() == perturbed && noise.dtype() == x.dtype()),
        "[local_taylor] noise {} {} found, expected {} {}", to_string(noise.dtype()), noise.shape(),
        to_string(x.dtype()), perturbed);
  const std::int64_t dy = y.dim(2), n = points - first;
  const Tensor there = lengths.defined() ? lengths.to(x.device()) : Tensor();
  Tensor out = Tensor::empty({batch, n, taylor_width(k, dy)}, x.dtype(), x.device());
  run("local_taylor", x, [&]<class T>(const Backend& device) {
    local_taylor_points<T>(
        device, {batch, points, context, first, k, dy, there.defined() ? there.data<std::int64_t>() : nullptr,
                 x.data<T>(), y.data<T>(), noise.defined() ? noise.data<T>() : nullptr, out.data<T>()});
  });
  const std::vector<Tensor> parts = split(out, 2, {k * dy, k * dy, k * dy, k * dy, k * k, k * k, dy});
  return {parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6]};
}

Tensor input_encoding(const Tensor& x, std::int64_t width, double least, double ratio) {
  check(x.rank() == 3, "[input_encoding] x {} found, expected (B, N, Dx)", x.shape());
  check(width >= 2 && width % 2 == 0, "[input_encoding] width {} found, expected an even number", width);
  constexpr std::int64_t kMostChannels = std::int64_t{1} << 31;
  check(width <= kMostChannels / std::max<std::int64_t>(x.dim(2), 1),
        "[input_encoding] width {} of {} inputs found, expected at most {} channels", width, x.dim(2), kMostChannels);
  Tensor out = Tensor::empty({x.dim(0), x.dim(1), x.dim(2) * width}, x.dtype(), x.device());
  run("input_encoding", x, [&]<class T>(const Backend& device) {
    input_encoding<T>(device, {x.dim(0) * x.dim(1), x.dim(2), width, least, ratio, x.data<T>(), out.data<T>()});
  });
  return out;
}

}  // namespace npzoo
