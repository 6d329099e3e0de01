#include "npzoo/ops/convolution/convolution.h"

#include <algorithm>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/measure/flops.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/convolution/kernels.h"
#include "npzoo/ops/reduce/reduce.h"

namespace npzoo {

namespace {

constexpr const char* kConvolution = "convolution";
constexpr const char* kTransposedConvolution = "transposed_convolution";

/// One axis of space. `wide` is the input of a convolution and the output of a transposed one. `narrow` has a position
/// for each window.
struct ConvolvedAxis {
  std::int64_t wide, narrow, kernel, stride, before, after;

  std::int64_t padded() const { return wide + before + after; }

  /// A single window does not use the stride: returns the axis with one that is no longer than the padded input.
  ConvolvedAxis within_padding() const {
    ConvolvedAxis axis = *this;
    if (narrow == 1) axis.stride = std::min(stride, padded());
    return axis;
  }
};

/// Sizes of both directions, seen from the wide side. With one axis of space, images are rows: their height is 1.
struct ConvolutionGeometry {
  const char* where;  // the operation that errors name
  std::int64_t batch, groups;
  ConvolvedAxis rows, columns;
  std::int64_t wide_channels, narrow_channels;
};

// Kernels compute 64-bit offsets within images. The limits keep them, and what a block of windows reads, far from
// overflow.
constexpr std::int64_t kMostPositions = std::int64_t{1} << 31;  // of strides and padding
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;   // of a padded image

void check_convolution_config(const char* where, const ConvolutionConfig& config, int axes) {
  check(config.groups >= 1, "[{}] {} groups found, expected 1 or more", where, config.groups);
  for (std::size_t i = 0; i < static_cast<std::size_t>(axes); ++i) {
    check(config.stride[i] >= 1, "[{}] stride {} found, expected 1 or more", where, config.stride[i]);
    check(config.padding[i].before >= 0 && config.padding[i].after >= 0,
          "[{}] padding {} and {} found, expected 0 or more", where, config.padding[i].before, config.padding[i].after);
    for (const std::int64_t number : {config.stride[i], config.padding[i].before, config.padding[i].after})
      check(number <= kMostPositions, "[{}] stride or padding {} found, expected at most {}", where, number,
            kMostPositions);
    check(config.output_padding[i] >= 0 && config.output_padding[i] < (where == kConvolution ? 1 : config.stride[i]),
          "[{}] output padding {} found, expected {}", where, config.output_padding[i],
          where == kConvolution ? "0" : "less than the stride");
  }
}

void check_convolution_tensors(const char* where, const Tensor& x, const Tensor& weight, const Tensor& bias,
                               std::int64_t groups) {
  check((x.rank() == 3 || x.rank() == 4) && weight.rank() == x.rank(),
        "[{}] x {} and weight {} must be (B, L, C) and (K, C, O), or (B, H, W, C) and (KH, KW, C, O)", where, x.shape(),
        weight.shape());
  check(weight.dtype() == x.dtype(), "[{}] x is {}, weight {}", where, to_string(x.dtype()), to_string(weight.dtype()));
  check(!bias.defined() || bias.dtype() == x.dtype(), "[{}] x is {}, bias {}", where, to_string(x.dtype()),
        to_string(bias.dtype()));
  check(x.dim(-1) % groups == 0 && weight.dim(-1) % groups == 0,
        "[{}] {} channels to {} cannot be cut into {} equal groups", where, x.dim(-1), weight.dim(-1), groups);
  check(weight.dim(-2) == x.dim(-1) / groups, "[{}] weight {} has {} channels in a group, expected {} of x {}", where,
        weight.shape(), weight.dim(-2), x.dim(-1) / groups, x.shape());
  check(!bias.defined() || bias.shape() == Shape{weight.dim(-1)}, "[{}] bias {} must be ({}) for weight {}", where,
        bias.shape(), weight.dim(-1), weight.shape());
  for (int i = 0; i + 2 < weight.rank(); ++i)
    check(weight.dim(i) >= 1, "[{}] weight {} has no taps, expected 1 or more along each axis", where, weight.shape());
}

ConvolvedAxis direct_axis(std::int64_t extent, std::int64_t kernel, std::int64_t stride, Padding padding) {
  const std::int64_t padded = extent + padding.before + padding.after;
  check(padded >= kernel, "[{}] {} taps found, expected at most the {} positions of the padded input", kConvolution,
        kernel, padded);
  return {extent, (padded - kernel) / stride + 1, kernel, stride, padding.before, padding.after};
}

ConvolvedAxis transposed_axis(std::int64_t extent, std::int64_t kernel, std::int64_t stride, Padding padding,
                              std::int64_t more) {
  const std::int64_t wide = (extent - 1) * stride - padding.before - padding.after + kernel + more;
  check(wide >= 1 && extent >= 1, "[{}] {} positions and {} taps with padding {} and {} give no output",
        kTransposedConvolution, extent, kernel, padding.before, padding.after);
  return {wide, extent, kernel, stride, padding.before, padding.after};
}

/// Checks the wide side with its padding.
void check_padded_image(const char* where, const ConvolutionGeometry& g) {
  std::int64_t elements = 0;
  const bool fits = !__builtin_mul_overflow(g.rows.padded(), g.columns.padded(), &elements) &&
                    !__builtin_mul_overflow(elements, std::max<std::int64_t>(g.wide_channels, 1), &elements) &&
                    elements <= kMostElements;
  check(fits, "[{}] padded images are ({}, {}, {}), expected at most {} elements", where, g.rows.padded(),
        g.columns.padded(), g.wide_channels, kMostElements);
}

ConvolutionGeometry convolution_geometry(const char* where, const Tensor& x, const Tensor& weight, const Tensor& bias,
                                         const ConvolutionConfig& c) {
  const int axes = x.rank() - 2;
  check_convolution_config(where, c, axes);
  check_convolution_tensors(where, x, weight, bias, c.groups);
  const bool direct = where == kConvolution;
  const auto axis = [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t extent = x.dim(1 + i), kernel = weight.dim(i);
    return direct ? direct_axis(extent, kernel, c.stride[at], c.padding[at]).within_padding()
                  : transposed_axis(extent, kernel, c.stride[at], c.padding[at], c.output_padding[at]).within_padding();
  };
  ConvolutionGeometry g{.where = where,
                        .batch = x.dim(0),
                        .groups = c.groups,
                        .rows = axes == 2 ? axis(0) : ConvolvedAxis{1, 1, 1, 1, 0, 0},
                        .columns = axis(axes - 1),
                        .wide_channels = x.dim(-1),
                        .narrow_channels = weight.dim(-1)};
  if (!direct) std::swap(g.wide_channels, g.narrow_channels);
  check_padded_image(where, g);
  return g;
}

/// Returns the windows of the wide side that the positions of the narrow one read.
Windows windows_of(const ConvolutionGeometry& g) {
  return {g.batch,           g.groups,         g.rows.wide,      g.columns.wide,   g.wide_channels,
          g.rows.kernel,     g.columns.kernel, g.rows.stride,    g.columns.stride, -g.rows.before,
          -g.columns.before, g.rows.narrow,    g.columns.narrow, g.narrow_channels};
}

void count_products(const ConvolutionGeometry& g) {
  count_flops(2 * g.batch * g.rows.narrow * g.columns.narrow * g.rows.kernel * g.columns.kernel *
              (g.wide_channels / g.groups) * g.narrow_channels);
}

/// Computes the narrow side from the wide one.
void wide_to_narrow(const ConvolutionGeometry& g, const Tensor& wide, const Tensor& weight, const Tensor& bias,
                    Tensor& narrow) {
  count_products(g);
  const std::int64_t row = g.columns.narrow * g.narrow_channels;
  run(g.where, wide, [&]<class T>(const Backend& device) {
    correlate<T>(device, {windows_of(g), wide.data<T>(), weight.data<T>(), bias.data<T>(), narrow.data<T>(),
                          g.rows.narrow * row, row, g.narrow_channels});
  });
}

/// Returns the weight with input and output channels exchanged within each group.
Tensor exchange_channels(const ConvolutionGeometry& g, const Tensor& weight) {
  const std::int64_t groups = g.groups;
  const std::int64_t in = weight.dim(-2), out = weight.dim(-1) / groups;
  Tensor exchanged = Tensor::empty(weight.shape().with(-2, out).with(-1, groups * in), weight.dtype(), weight.device());
  const std::int64_t columns = weight.dim(-3), rows = weight.rank() == 4 ? weight.dim(0) : 1;
  run(g.where, weight, [&]<class T>(const Backend& device) {
    kernel_taps<T>(device,
                   {groups, in, out, columns, rows, columns, 0, 0, 1, 1, true, weight.data<T>(), exchanged.data<T>()});
  });
  return exchanged;
}

/// The positions of the wide side that the taps residue, residue + stride, … reach: every stride-th from `first` on.
/// The taps of such a position read neighbouring positions of the narrow side, from `narrow` on, in reverse order.
struct ConvolutionPhase {
  std::int64_t first, count, taps, last_tap, narrow;

  ConvolutionPhase(const ConvolvedAxis& a, std::int64_t residue)
      : first(((residue - a.before) % a.stride + a.stride) % a.stride),
        count(first < a.wide ? (a.wide - first - 1) / a.stride + 1 : 0),
        taps(residue < a.kernel ? (a.kernel - residue - 1) / a.stride + 1 : 0),
        last_tap(residue + (taps - 1) * a.stride),
        narrow((first + a.before - residue) / a.stride - (taps - 1)) {}
};

/// Computes the wide side from the narrow one by convolutions of stride 1, one for each phase of the stride. The weight
/// is that of a convolution (kernel, wide channels / groups, narrow channels) if `exchanged`, else of a transposed one.
void narrow_to_wide(const ConvolutionGeometry& g, const Tensor& narrow, const Tensor& weight, bool exchanged,
                    const Tensor& bias, Tensor& wide) {
  count_products(g);
  const std::int64_t row = g.columns.wide * g.wide_channels;
  const std::int64_t in = weight.dim(-2), out = weight.dim(-1) / g.groups;
  Tensor taps = Tensor::empty({weight.numel()}, weight.dtype(), weight.device());
  for (std::int64_t i = 0; i < g.rows.stride; ++i)
    for (std::int64_t j = 0; j < g.columns.stride; ++j) {
      const ConvolutionPhase rows(g.rows, i), columns(g.columns, j);
      if (rows.count == 0 || columns.count == 0) continue;
      const Windows phase{
          g.batch, g.groups, g.rows.narrow, g.columns.narrow, g.narrow_channels, rows.taps,     columns.taps,
          1,       1,        rows.narrow,   columns.narrow,   rows.count,        columns.count, g.wide_channels};
      run(g.where, wide, [&]<class T>(const Backend& device) {
        kernel_taps<T>(device,
                       {g.groups, in, out, g.columns.kernel, rows.taps, columns.taps, rows.last_tap, columns.last_tap,
                        -g.rows.stride, -g.columns.stride, exchanged, weight.data<T>(), taps.data<T>()});
        correlate<T>(device, {phase, narrow.data<T>(), taps.data<T>(), bias.data<T>(),
                              wide.data<T>() + rows.first * row + columns.first * g.wide_channels, g.rows.wide * row,
                              g.rows.stride * row, g.columns.stride * g.wide_channels});
      });
    }
}

/// Returns the gradient of a weight of `shape` that maps the wide side to the narrow one.
Tensor weight_gradient(const ConvolutionGeometry& g, const Tensor& wide, const Tensor& narrow, const Shape& shape) {
  count_products(g);
  Tensor d_weight = Tensor::empty(shape, wide.dtype(), wide.device());
  run(g.where, wide, [&]<class T>(const Backend& device) {
    correlate_weights<T>(device, {windows_of(g), wide.data<T>(), narrow.data<T>(), d_weight.data<T>()});
  });
  return d_weight;
}

void add_bias_gradient(const Tensor& bias, const Tensor& d_y, Grads& grads) {
  if (grads.wants(bias)) grads.add(bias, sum(d_y.view({d_y.shape().rows(), d_y.dim(-1)}), 0));
}

Tensor convolution_output(const Tensor& x, const ConvolvedAxis& rows, const ConvolvedAxis& columns,
                          std::int64_t ConvolvedAxis::*extent, std::int64_t channels) {
  const Shape shape = x.rank() == 4 ? Shape{x.dim(0), rows.*extent, columns.*extent, channels}
                                    : Shape{x.dim(0), columns.*extent, channels};
  return Tensor::empty(shape, x.dtype(), x.device());
}

}  // namespace

Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvolutionConfig& config) {
  const ConvolutionGeometry g = convolution_geometry(kConvolution, x, weight, bias, config);
  Tensor y = convolution_output(x, g.rows, g.columns, &ConvolvedAxis::narrow, g.narrow_channels);
  wide_to_narrow(g, x, weight, bias, y);
  record("convolution", y, {x, weight, bias}, [g, x, weight, bias = bias.symbol()](const Tensor& d_y, Grads& grads) {
    add_bias_gradient(bias, d_y, grads);
    if (grads.wants(weight)) grads.add(weight, weight_gradient(g, x, d_y, weight.shape()));
    if (!grads.wants(x)) return;
    Tensor d_x = Tensor::empty_like(x);
    narrow_to_wide(g, d_y, weight, true, {}, d_x);
    grads.add(x, std::move(d_x));
  });
  return y;
}

Tensor transposed_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const ConvolutionConfig& config) {
  const ConvolutionGeometry g = convolution_geometry(kTransposedConvolution, x, weight, bias, config);
  Tensor y = convolution_output(x, g.rows, g.columns, &ConvolvedAxis::wide, g.wide_channels);
  narrow_to_wide(g, x, weight, false, bias, y);
  record("transposed_convolution", y, {x, weight, bias},
         [g, x, weight, bias = bias.symbol()](const Tensor& d_y, Grads& grads) {
           add_bias_gradient(bias, d_y, grads);
           if (grads.wants(weight)) {
             const Shape exchanged = weight.shape().with(-2, g.wide_channels / g.groups).with(-1, g.narrow_channels);
             grads.add(weight, exchange_channels(g, weight_gradient(g, d_y, x, exchanged)));
           }
           if (!grads.wants(x)) return;
           Tensor d_x = Tensor::empty_like(x);
           wide_to_narrow(g, d_y, exchange_channels(g, weight), {}, d_x);
           grads.add(x, std::move(d_x));
         });
  return y;
}

}  // namespace npzoo
