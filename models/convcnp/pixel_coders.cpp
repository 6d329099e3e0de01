#include "npzoo/models/convcnp/pixel_coders.h"

#include <fmt/format.h>

#include <cmath>

#include "npzoo/models/blocks/convolution.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"

namespace npzoo {

namespace {

constexpr std::int64_t kPixelHeadDepth = 5;

/// A length scale that reaches no neighbour: a set convolution then puts a pixel where it is, with weight 1.
Tensor pixel_scale(const RegularGrid& grid, const Tensor& like) {
  constexpr double kScalesOfAStep = 64;  // exp(−64² / 2) is 0 in float64
  static_assert(kScalesOfAStep > kSetConvolutionReach<double>);
  double step = grid.columns().step;
  if (grid.dims() == 2) step = std::min(step, grid.rows().step);
  return Tensor::full({1}, step / kScalesOfAStep, like.dtype(), like.device());
}

class PixelEncoder final : public GridEncoder {
 public:
  PixelEncoder(int dims, std::int64_t dim_y, std::int64_t kernel, std::int64_t features, Initializer& init)
      : dim_y_(dim_y) {
    const ConvolutionExtents extents{std::vector<std::int64_t>(static_cast<std::size_t>(dims), kernel), dim_y, dim_y};
    kernel_.value = init.convolution_weight(extents.weight_shape(dim_y));
    linear_.emplace(2 * dim_y, features, init);
    for (Padding& axis : same_.padding) axis = {kernel / 2, kernel / 2};
    if (dims == 1) same_.padding[1] = {};
  }

  Tensor sums(const Tensor& x, const Tensor& y, const Tensor& lengths, const RegularGrid& grid) const override {
    return points_to_grid(x, with_ones(y), pixel_scale(grid, x), grid, lengths);
  }
  Tensor encode(const Tensor& sums) const override {
    const auto parts = split(sums, -1, {1, dim_y_});
    const Tensor weight = abs(kernel_.value);  // (taps…, 1, Dy)
    ConvolutionConfig depthwise = same_;
    depthwise.groups = dim_y_;
    const Tensor density = convolution(parts[0], weight, {}, same_);    // (B, G, Dy)
    const Tensor image = convolution(parts[1], weight, {}, depthwise);  // (B, G, Dy)
    const Tensor floored = affine(relu(affine(density, 1, -kFloor)), 1, kFloor);
    return (*linear_)(concat({div(image, floored), density}, -1));  // (B, G, features)
  }
  void visit(ModuleVisitor& visitor) override {
    visitor("kernel", kernel_);
    visitor("linear", *linear_);
  }

 private:
  static constexpr double kFloor = 1e-5;

  std::int64_t dim_y_;
  Parameter kernel_;  // its magnitudes are the kernel
  std::optional<Linear> linear_;
  ConvolutionConfig same_;
};

class PixelDecoder final : public GridDecoder {
 public:
  PixelDecoder(std::int64_t channels, const DecodedValues& values, std::int64_t hidden, double min_std,
               Initializer& init)
      : head_(Mlp::of_depth(channels, hidden, values.outputs(), kPixelHeadDepth, init)),
        min_std_(min_std),
        likelihood_(values.likelihood) {}

  std::unique_ptr<Prediction> operator()(const Tensor& features, const Tensor& xt,
                                         const RegularGrid& grid) const override {
    const Tensor each = grid_to_points(xt, features, pixel_scale(grid, xt), grid);  // (B, Nt, C)
    return output_head(head_(each), {StdForm::Kind::softplus, min_std_}, likelihood_);
  }
  std::optional<double> std_floor() const override { return min_std_; }
  void visit(ModuleVisitor& visitor) override { visitor("head", head_); }

 private:
  Mlp head_;
  double min_std_;
  Likelihood likelihood_;
};

std::string pixels_in_words(const RegularGrid& grid) {
  const GridAxis &rows = grid.rows(), &columns = grid.columns();
  const auto range = [](const GridAxis& a) { return fmt::format("{:g} to {:g}", a.origin, a.node(a.count - 1)); };
  if (grid.dims() == 1) return fmt::format("{} pixels from {}", columns.count, range(columns));
  return fmt::format("{} x {} pixels from {} and from {}", rows.count, columns.count, range(rows), range(columns));
}

}  // namespace

std::unique_ptr<GridEncoder> pixel_encoder(int dims, std::int64_t dim_y, std::int64_t kernel, std::int64_t features,
                                           Initializer& init) {
  return std::make_unique<PixelEncoder>(dims, dim_y, kernel, features, init);
}

std::unique_ptr<GridDecoder> pixel_decoder(std::int64_t channels, const DecodedValues& values, std::int64_t hidden,
                                           double min_std, Initializer& init) {
  return std::make_unique<PixelDecoder>(channels, values, hidden, min_std, init);
}

void check_on_grid(const Tensor& x, const Tensor& lengths, const RegularGrid& grid, const char* model) {
  constexpr double kOff = 1e-3;
  const Tensor here = x.detach().to(Device::cpu).to(DType::float64);
  const std::int64_t batch = x.dim(0), points = x.dim(1), dims = grid.dims();
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t real = lengths.defined() ? lengths.values<std::int64_t>()[static_cast<std::size_t>(b)] : points;
    for (std::int64_t i = 0; i < real * dims; ++i) {
      const int input = static_cast<int>(i % dims);
      const GridAxis& axis = grid.along(input);
      const double place = here.data<double>()[b * points * dims + i], node = axis.nearest(place);
      check(std::abs(place - node) <= kOff * axis.step, "[{}] input {} of point {} is {}, expected one of {}", model,
            input + 1, i / dims + 1, place, pixels_in_words(grid));
    }
  }
}

}  // namespace npzoo
