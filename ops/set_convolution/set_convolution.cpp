#include "npzoo/ops/set_convolution/set_convolution.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/mask_points/lengths.h"
#include "npzoo/ops/mask_points/mask_points.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"
#include "npzoo/ops/set_convolution/kernels.h"

namespace npzoo {

namespace {

/// Arguments of both directions. `lengths` count the points of each set.
struct Places {
  const char* operation;
  Tensor x, scales;
  RegularGrid grid;
  Tensor lengths{};
};

template <class T>
PointsAndGrid<T> sizes(const Places& p, std::int64_t channels) {
  const std::int64_t* lengths = p.lengths.defined() ? p.lengths.data<std::int64_t>() : nullptr;
  return {p.x.dim(0), p.x.dim(1), channels, p.grid, lengths, p.x.data<T>(), p.scales.data<T>(), p.scales.numel() > 1};
}

Shape shape_on(const RegularGrid& grid, std::int64_t batch, std::int64_t channels) {
  const std::int64_t rows = grid.rows().count, columns = grid.columns().count;
  return grid.dims() == 1 ? Shape{batch, columns, channels} : Shape{batch, rows, columns, channels};
}

void check_arguments(const char* op, const Tensor& x, const Tensor& values, const Tensor& scales,
                     const RegularGrid& grid) {
  check(x.rank() == 3 && x.dim(-1) == grid.dims(), "[{}] x is {}, expected (B, N, {})", op, x.shape(), grid.dims());
  const std::int64_t channels = values.rank() ? values.dim(-1) : 0;
  check(scales.rank() == 1 && (scales.dim(0) == 1 || (scales.dim(0) == channels && channels > 0)),
        "[{}] scales are {}, expected (1) or ({})", op, scales.shape(), channels);
  check(x.dtype() == values.dtype() && x.dtype() == scales.dtype(), "[{}] x is {}, values {}, scales {}", op,
        to_string(x.dtype()), to_string(values.dtype()), to_string(scales.dtype()));
}

Tensor onto_grid(const Places& places, const Tensor& values) {
  const std::int64_t channels = values.dim(-1);
  Tensor nodes = Tensor::empty(shape_on(places.grid, values.dim(0), channels), values.dtype(), values.device());
  run(places.operation, values, [&]<class T>(const Backend& device) {
    points_to_grid<T>(device, {sizes<T>(places, channels), values.data<T>(), nodes.data<T>()});
  });
  return nodes;
}

/// Computes the requested sums over nodes: values, moments or both.
void at_points(const Places& places, const Tensor& nodes, Tensor* values, Tensor* moments) {
  const std::int64_t channels = nodes.dim(-1);
  for (Tensor* out : {values, moments})
    if (out) *out = Tensor::empty({nodes.dim(0), places.x.dim(1), channels}, nodes.dtype(), nodes.device());
  run(places.operation, nodes, [&]<class T>(const Backend& device) {
    grid_to_points<T>(device, {sizes<T>(places, channels), nodes.data<T>(), values ? values->data<T>() : nullptr,
                               moments ? moments->data<T>() : nullptr});
  });
}

/// Returns the gradient of the scales: ∂w/∂l = w d² / l³. Divides three times, since the cube of a small scale is 0.
Tensor scale_gradient(const Tensor& scales, const Tensor& values, const Tensor& moments) {
  const Tensor each = mul(values, moments);                                                 // (B, N, C)
  const Tensor channels = sum(reshape(each, {each.dim(0) * each.dim(1), each.dim(2)}), 0);  // (C)
  const bool one = scales.dim(0) == 1;
  return div(div(div(one ? reshape(sum(channels), {1}) : channels, scales), scales), scales);
}

/// Returns the gradient of the points' places: ∂w/∂x = w (node − x) / l², summed over nodes and channels. `factors`
/// (B, N, C) belong to the points.
Tensor place_gradient(const Places& places, const Tensor& nodes, const Tensor& factors) {
  Tensor d_x = Tensor::empty(places.x.shape(), nodes.dtype(), nodes.device());
  run(places.operation, nodes, [&]<class T>(const Backend& device) {
    place_slopes<T>(device, {sizes<T>(places, factors.dim(-1)), nodes.data<T>(), factors.data<T>(), d_x.data<T>()});
  });
  return d_x;
}

}  // namespace

Tensor points_to_grid(const Tensor& x, const Tensor& values, const Tensor& scales, const RegularGrid& grid,
                      const Tensor& lengths) {
  check_arguments("points_to_grid", x, values, scales, grid);
  check(values.rank() == 3 && values.dim(0) == x.dim(0) && values.dim(1) == x.dim(1),
        "[points_to_grid] values are {}, expected ({}, {}, C)", values.shape(), x.dim(0), x.dim(1));
  if (lengths.defined()) check_lengths("points_to_grid", x, lengths);
  const Places places{"points_to_grid", x.detach(), scales.detach(), grid, lengths.to(x.device())};
  Tensor nodes = onto_grid(places, values);
  record("points_to_grid", nodes, {x, values, scales},
         [places, at = x.symbol(), values, scales, lengths](const Tensor& d_nodes, Grads& grads) {
           if (grads.wants(at)) grads.add(at, place_gradient(places, d_nodes, values.detach()));
           if (!grads.wants(values) && !grads.wants(scales)) return;
           Tensor d_values, moments;
           const bool of_scales = grads.wants(scales);
           at_points(places, d_nodes, &d_values, of_scales ? &moments : nullptr);
           if (of_scales) {
             const Tensor real = lengths.defined() ? mask_points(values.detach(), lengths) : values.detach();
             grads.add(scales, scale_gradient(places.scales, real, moments));
           }
           grads.add(values, std::move(d_values));
         });
  return nodes;
}

Tensor grid_to_points(const Tensor& x, const Tensor& values, const Tensor& scales, const RegularGrid& grid) {
  check_arguments("grid_to_points", x, values, scales, grid);
  const std::int64_t channels = values.dim(-1);
  check(values.shape() == shape_on(grid, x.dim(0), channels), "[grid_to_points] values are {}, expected {}",
        values.shape(), shape_on(grid, x.dim(0), channels));
  const Places places{"grid_to_points", x.detach(), scales.detach(), grid};
  Tensor out;
  at_points(places, values, &out, nullptr);
  record("grid_to_points", out, {x, values, scales},
         [places, at = x.symbol(), values, scales](const Tensor& d_out, Grads& grads) {
           if (grads.wants(at)) grads.add(at, place_gradient(places, values.detach(), d_out));
           if (grads.wants(scales)) {
             Tensor moments;
             at_points(places, values, nullptr, &moments);
             grads.add(scales, scale_gradient(places.scales, d_out, moments));
           }
           if (grads.wants(values)) grads.add(values, onto_grid(places, d_out));
         });
  return out;
}

}  // namespace npzoo
