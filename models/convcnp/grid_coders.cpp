#include "npzoo/models/convcnp/grid_coders.h"

#include <cmath>

#include "npzoo/models/predictions/independent.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"

namespace npzoo {

namespace {

constexpr double kDensityFloor = 1e-8;

class SetConvolutionEncoder final : public GridEncoder {
 public:
  SetConvolutionEncoder(std::int64_t scales, double initial_log_scale, double floor, std::optional<Linear> linear)
      : points_(scales, initial_log_scale), linear_(std::move(linear)), floor_(floor) {}

  Tensor sums(const Tensor& x, const Tensor& y, const Tensor& lengths, const RegularGrid& grid) const override {
    return points_.onto(x, with_ones(y), grid, lengths);
  }
  Tensor encode(const Tensor& sums) const override {
    const Tensor each = over_density(sums, floor_);
    return linear_ ? (*linear_)(each) : each;
  }
  void visit(ModuleVisitor& visitor) override {
    visitor("points", points_);
    if (linear_) visitor("linear", *linear_);
  }

 private:
  SetConvolution points_;
  std::optional<Linear> linear_;
  double floor_;
};

/// A set convolution and a linear layer.
struct Readout {
  SetConvolution points;
  Linear linear;

  Tensor operator()(const Tensor& features, const Tensor& xt, const RegularGrid& grid) const {
    return linear(points.at(xt, features, grid));
  }
  void visit(ModuleVisitor& visitor) {
    visitor("points", points);
    visitor("linear", linear);
  }
};

class SeparateDecoder final : public GridDecoder {
 public:
  SeparateDecoder(std::int64_t channels, const DecodedValues& values, double initial_log_scale, Initializer& init)
      : mean_{{channels, initial_log_scale}, xavier_linear(channels, values.dim_y, init)},
        likelihood_(values.likelihood) {
    if (const std::int64_t others = values.outputs() - values.dim_y; others > 0)
      deviation_ = Readout{{channels, initial_log_scale}, xavier_linear(channels, others, init)};
  }

  std::unique_ptr<Prediction> operator()(const Tensor& features, const Tensor& xt,
                                         const RegularGrid& grid) const override {
    const Tensor mean = mean_(features, xt, grid);                                    // (B, Nt, Dy)
    const Tensor others = deviation_ ? (*deviation_)(features, xt, grid) : Tensor();  // (B, Nt, …)
    if (likelihood_.gaussian()) return std::make_unique<Independent>(Moments{mean, softplus(others)});
    return output_head(others.defined() ? concat({mean, others}, -1) : mean, {StdForm::Kind::softplus}, likelihood_);
  }
  void visit(ModuleVisitor& visitor) override {
    visitor("mean", mean_);
    if (deviation_) visitor("deviation", *deviation_);
  }

 private:
  Readout mean_;
  std::optional<Readout> deviation_;
  Likelihood likelihood_;
};

class DenseDecoder final : public GridDecoder {
 public:
  DenseDecoder(std::int64_t channels, const DecodedValues& values, double initial_log_scale, std::int64_t hidden,
               double min_std, Initializer& init)
      : points_(channels + 1, initial_log_scale),
        linear_(channels + 1, channels, init),
        head_(Mlp::of_depth(channels, hidden, values.outputs(), kHeadDepth, init)),
        min_std_(min_std),
        likelihood_(values.likelihood) {}

  std::unique_ptr<Prediction> operator()(const Tensor& features, const Tensor& xt,
                                         const RegularGrid& grid) const override {
    const Tensor sums = points_.at(xt, with_ones(features), grid);         // (B, Nt, 1 + C)
    const Tensor raw = head_(linear_(over_density(sums, kDensityFloor)));  // (B, Nt, 2 Dy)
    return output_head(raw, {StdForm::Kind::softplus, min_std_}, likelihood_);
  }
  std::optional<double> std_floor() const override { return min_std_; }
  void visit(ModuleVisitor& visitor) override {
    visitor("points", points_);
    visitor("linear", linear_);
    visitor("head", head_);
  }

 private:
  static constexpr std::int64_t kHeadDepth = 5;

  SetConvolution points_;
  Linear linear_;
  Mlp head_;
  double min_std_;
  Likelihood likelihood_;
};

class VarianceDecoder final : public GridDecoder {
 public:
  VarianceDecoder(const DecodedValues& values, double initial_log_scale)
      : points_(1, initial_log_scale), likelihood_(values.likelihood) {}

  std::unique_ptr<Prediction> operator()(const Tensor& features, const Tensor& xt,
                                         const RegularGrid& grid) const override {
    const Tensor raw = points_.at(xt, features, grid);  // (B, Nt, 2 Dy)
    if (!likelihood_.gaussian()) return output_head(raw, {StdForm::Kind::root_softplus}, likelihood_);
    const std::int64_t dim_y = raw.dim(-1) / 2;
    const auto parts = split(raw, -1, {dim_y, dim_y});
    return std::make_unique<Independent>(Moments{parts[0], sqrt(affine(softplus(parts[1]), 1, kLeastVariance))});
  }
  std::optional<double> std_floor() const override { return std::sqrt(kLeastVariance); }
  void visit(ModuleVisitor& visitor) override { visitor("points", points_); }

 private:
  static constexpr double kLeastVariance = 1e-6;

  SetConvolution points_;
  Likelihood likelihood_;
};

}  // namespace

Tensor SetConvolution::onto(const Tensor& x, const Tensor& values, const RegularGrid& grid,
                            const Tensor& lengths) const {
  return points_to_grid(x, values, exp(log_scales.value), grid, lengths);
}

Tensor SetConvolution::at(const Tensor& x, const Tensor& nodes, const RegularGrid& grid) const {
  return grid_to_points(x, nodes, exp(log_scales.value), grid);
}

Tensor over_density(const Tensor& sums, double floor) {
  const auto parts = split(sums, -1, {1, sums.dim(-1) - 1});
  return concat({parts[0], div(parts[1], affine(parts[0], 1, floor))}, -1);
}

Tensor with_ones(const Tensor& x) {
  return concat({Tensor::full(x.shape().with(x.rank() - 1, 1), 1, x.dtype(), x.device()), x}, -1);
}

std::unique_ptr<GridEncoder> set_convolution_encoder(std::int64_t scales, double initial_log_scale, double floor,
                                                     std::optional<Linear> linear) {
  return std::make_unique<SetConvolutionEncoder>(scales, initial_log_scale, floor, std::move(linear));
}

std::unique_ptr<GridDecoder> separate_decoder(std::int64_t channels, const DecodedValues& values,
                                              double initial_log_scale, Initializer& init) {
  return std::make_unique<SeparateDecoder>(channels, values, initial_log_scale, init);
}

std::unique_ptr<GridDecoder> dense_decoder(std::int64_t channels, const DecodedValues& values, double initial_log_scale,
                                           std::int64_t hidden, double min_std, Initializer& init) {
  return std::make_unique<DenseDecoder>(channels, values, initial_log_scale, hidden, min_std, init);
}

std::unique_ptr<GridDecoder> variance_decoder(const DecodedValues& values, double initial_log_scale) {
  return std::make_unique<VarianceDecoder>(values, initial_log_scale);
}

Linear xavier_linear(std::int64_t in, std::int64_t out, Initializer& init) {
  return Linear(init.xavier_normal({out, in}, in, out), Tensor::zeros({out}));
}

}  // namespace npzoo
