#pragma once

#include <memory>
#include <optional>

#include "npzoo/models/blocks/linear.h"
#include "npzoo/models/blocks/mlp.h"
#include "npzoo/models/likelihoods/output_head.h"
#include "npzoo/ops/set_convolution/set_convolution.h"

// From points to features on a grid, and from there to Gaussians at points.

namespace npzoo {

/// A set convolution with learned length scales.
class SetConvolution {
 public:
  /// `scales` of them, one for each channel or one for all.
  SetConvolution(std::int64_t scales, double initial_log_scale)
      : log_scales{Tensor::full({scales}, initial_log_scale)} {}

  Tensor onto(const Tensor& x, const Tensor& values, const RegularGrid& grid, const Tensor& lengths) const;
  Tensor at(const Tensor& x, const Tensor& nodes, const RegularGrid& grid) const;
  void visit(ModuleVisitor& visitor) { visitor("log_scales", log_scales); }

  Parameter log_scales;
};

/// The first channel, which is a density, and the others divided by it and `floor`.
Tensor over_density(const Tensor& sums, double floor);

/// x with a channel of ones in front.
Tensor with_ones(const Tensor& x);

/// A density and the values at the points of a context, on a grid.
class GridEncoder {
 public:
  virtual ~GridEncoder() = default;

  /// Sums, to which those of further points may be added: (B, G, 1 + Dy).
  virtual Tensor sums(const Tensor& x, const Tensor& y, const Tensor& lengths, const RegularGrid& grid) const = 0;
  /// (B, G, features)
  virtual Tensor encode(const Tensor& sums) const = 0;
  virtual void visit(ModuleVisitor& visitor) = 0;
};

/// A set convolution from points anywhere, with one length scale for each channel or for all of them; `linear` makes
/// the features of density and values, which themselves are the features if there is none.
std::unique_ptr<GridEncoder> set_convolution_encoder(std::int64_t scales, double initial_log_scale, double floor,
                                                     std::optional<Linear> linear);

/// The values that a decoder predicts.
struct DecodedValues {
  std::int64_t dim_y = 1;
  Likelihood likelihood{};

  std::int64_t outputs() const { return likelihood.outputs(dim_y); }
};

/// From features on a grid to a prediction of each channel of each target, Gaussian or by another likelihood.
class GridDecoder {
 public:
  virtual ~GridDecoder() = default;

  virtual std::unique_ptr<Prediction> operator()(const Tensor& features, const Tensor& xt,
                                                 const RegularGrid& grid) const = 0;
  virtual std::optional<double> std_floor() const { return {}; }
  virtual void visit(ModuleVisitor& visitor) = 0;
};

/// ConvCNP's code: a set convolution and a linear layer for means, others for deviations and other parameters.
std::unique_ptr<GridDecoder> separate_decoder(std::int64_t channels, const DecodedValues& values,
                                              double initial_log_scale, Initializer& init);
/// dl4bi: a set convolution with a density, a linear layer and a network of 5 layers.
std::unique_ptr<GridDecoder> dense_decoder(std::int64_t channels, const DecodedValues& values, double initial_log_scale,
                                           std::int64_t hidden, double min_std, Initializer& init);
/// neuralprocesses: a set convolution alone; features are means, then numbers that become variances.
std::unique_ptr<GridDecoder> variance_decoder(const DecodedValues& values, double initial_log_scale);

/// A linear layer with normal weights of variance 2 / (in + out), without bias at first.
Linear xavier_linear(std::int64_t in, std::int64_t out, Initializer& init);

}  // namespace npzoo
