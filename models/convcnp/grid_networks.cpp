#include "npzoo/models/convcnp/grid_networks.h"

#include <array>
#include <cmath>

#include "npzoo/models/blocks/convolution.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

constexpr std::int64_t kFive = 5;  // nodes of the kernels in all published networks but the residual one

/// A kernel of the same extent along one axis or two, and the channels that it connects.
struct KernelSize {
  int dims = 1;
  std::int64_t kernel = kFive, in = 1, out = 1, groups = 1;

  ConvolutionExtents extents() const {
    return {std::vector<std::int64_t>(static_cast<std::size_t>(dims), kernel), in, out};
  }
  /// For an odd kernel: the grid stays what it is, or with stride 2 becomes half as large, transposed twice.
  ConvolutionConfig config(std::int64_t stride, bool transposed = false) const {
    ConvolutionConfig c{.groups = groups};
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(dims); ++axis) {
      c.stride[axis] = stride;
      c.padding[axis] = {kernel / 2, kernel / 2};
      c.output_padding[axis] = transposed ? stride - 1 : 0;
    }
    return c;
  }
};

Convolution same(const KernelSize& size, Initializer& init) { return {size.extents(), size.config(1), init}; }

TransposedConvolution doubling(const KernelSize& size, Initializer& init) {
  return {size.extents(), size.config(2, true), init};
}

/// Draws weights as in ConvCNP's code: normal by Glorot and Bengio, biases alike.
template <class Layer>
Layer xavier(const KernelSize& size, const ConvolutionConfig& config, double bias, Initializer& init) {
  const ConvolutionExtents extents = size.extents();
  const std::int64_t taps = extents.tap_count();
  return Layer(init.xavier_normal(extents.weight_shape(1), taps * size.in, taps * size.out),
               Tensor::full({size.out}, bias), config);
}

Convolution xavier_convolution(const KernelSize& size, std::int64_t stride, double bias, Initializer& init) {
  return xavier<Convolution>(size, size.config(stride), bias, init);
}

class SimpleNetwork final : public GridNetwork {
 public:
  SimpleNetwork(int dims, std::int64_t in, std::int64_t out, Initializer& init) : out_(out) {
    const std::array<std::int64_t, 5> widths{in, 16, 32, 16, out};
    for (std::size_t i = 1; i < widths.size(); ++i)
      layers_.push_back(xavier_convolution({dims, kFive, widths[i - 1], widths[i]}, 1, 0, init));
  }

  Tensor operator()(const Tensor& x) const override {
    Tensor h = x;
    for (const Convolution& layer : layers_) h = relu(layer(h));  // (B, G, 16), … (B, G, out)
    return h;
  }
  std::int64_t out_channels() const override { return out_; }
  void visit(ModuleVisitor& visitor) override { visitor("layers", layers_); }

 private:
  std::int64_t out_;
  std::vector<Convolution> layers_;
};

class UNetwork final : public GridNetwork {
 public:
  UNetwork(int dims, std::int64_t in, std::int64_t halvings, Initializer& init) : in_(in) {
    constexpr std::array<std::int64_t, kMostHalvings> kWidths{1, 2, 2, 4, 4, 8};  // of a level, in inputs
    constexpr double kBias = 1e-3;
    const auto width = [&](std::int64_t level) {
      return level < 0 ? in : in * kWidths[static_cast<std::size_t>(level)];
    };
    for (std::int64_t i = 0; i < halvings; ++i)
      down_.push_back(xavier_convolution({dims, kFive, width(i - 1), width(i)}, 2, kBias, init));
    for (std::int64_t i = halvings - 1; i >= 0; --i) {
      const std::int64_t beside = i == halvings - 1 ? 1 : 2;
      const KernelSize size{dims, kFive, beside * width(i), width(i - 1)};
      up_.push_back(xavier<TransposedConvolution>(size, size.config(2, true), kBias, init));
    }
  }

  Tensor operator()(const Tensor& x) const override {
    std::vector<Tensor> before{x};
    for (const Convolution& layer : down_) before.push_back(relu(layer(before.back())));  // (B, G / 2ⁱ, ·)
    Tensor h = before.back();
    for (const TransposedConvolution& layer : up_) {
      before.pop_back();
      h = concat({before.back(), relu(layer(h))}, -1);
    }
    return h;  // (B, G, 2 in)
  }
  std::int64_t out_channels() const override { return 2 * in_; }
  void visit(ModuleVisitor& visitor) override {
    visitor("down", down_);
    visitor("up", up_);
  }

 private:
  std::int64_t in_;
  std::vector<Convolution> down_;
  std::vector<TransposedConvolution> up_;
};

/// Returns the means over 2 nodes along each axis.
Tensor halved(const Tensor& x) {
  const std::int64_t batch = x.dim(0), channels = x.dim(-1);
  if (x.rank() == 3) return mean(reshape(x, {batch, x.dim(1) / 2, 2, channels}), 2);
  const Tensor columns = mean(reshape(x, {batch, x.dim(1), x.dim(2) / 2, 2, channels}), 3);
  return mean(reshape(columns, {batch, x.dim(1) / 2, 2, x.dim(2) / 2, channels}), 2);
}

/// Layer number `layer` of PoolingUNetwork, before its mean if it has one.
Convolution halving(const KernelSize& size, std::int64_t layer, Initializer& init) {
  return {size.extents(), size.config(pools(layer) ? 1 : 2), init};
}

class PoolingUNetwork final : public GridNetwork {
 public:
  PoolingUNetwork(int dims, std::int64_t in, const std::vector<std::int64_t>& channels, std::int64_t out,
                  Initializer& init)
      : last_(same({dims, 1, channels.front(), out}, init)), out_(out) {
    for (std::size_t i = 0; i < channels.size(); ++i)
      down_.push_back(halving({dims, kFive, i == 0 ? in : channels[i - 1], channels[i]}, std::ssize(down_), init));
    for (std::size_t i = 0; i < channels.size(); ++i) {
      const std::int64_t beside = i + 1 == channels.size() ? 1 : 2;
      up_.push_back(doubling({dims, kFive, beside * channels[i], channels[i == 0 ? 0 : i - 1]}, init));
    }
  }

  Tensor operator()(const Tensor& x) const override {
    std::vector<Tensor> before;
    Tensor h = x;
    for (const Convolution& layer : down_) {
      h = layer(h);
      before.push_back(h = relu(pools(std::ssize(before)) ? halved(h) : h));  // (B, G / 2ⁱ, ·)
    }
    for (std::size_t i = up_.size(); i-- > 0;) {
      if (i + 1 < up_.size()) h = concat({before[i], h}, -1);
      h = relu(up_[i](h));
    }
    return last_(h);  // (B, G, out)
  }
  std::int64_t out_channels() const override { return out_; }
  void visit(ModuleVisitor& visitor) override {
    visitor("down", down_);
    visitor("up", up_);
    visitor("last", last_);
  }

 private:
  std::vector<Convolution> down_;  // of each level, from the finest
  std::vector<TransposedConvolution> up_;
  Convolution last_;
  std::int64_t out_;
};

class PlainNetwork final : public GridNetwork {
 public:
  PlainNetwork(int dims, std::int64_t in, std::int64_t channels, std::int64_t count, std::int64_t kernel,
               std::int64_t out, Initializer& init)
      : out_(out) {
    for (std::int64_t i = 0; i < count; ++i)
      layers_.push_back(same({dims, kernel, i == 0 ? in : channels, i + 1 == count ? out : channels}, init));
  }

  Tensor operator()(const Tensor& x) const override {
    Tensor h = layers_.front()(x);
    for (std::size_t i = 1; i < layers_.size(); ++i) h = layers_[i](relu(h));
    return h;  // (B, G, out)
  }
  std::int64_t out_channels() const override { return out_; }
  void visit(ModuleVisitor& visitor) override { visitor("layers", layers_); }

 private:
  std::int64_t out_;
  std::vector<Convolution> layers_;
};

/// The rest of dl4bi's batch normalisation, whose averages stay at mean 0 and variance 1: a gain and a bias.
class GainAndBias {
 public:
  explicit GainAndBias(std::int64_t width) : weight{Tensor::full({width}, 1)}, bias{Tensor::zeros({width})} {}

  Tensor operator()(const Tensor& x) const {
    return add(mul(x, affine(weight.value, 1 / std::sqrt(1 + kEps), 0)), bias.value);
  }
  void visit(ModuleVisitor& visitor) {
    visitor("weight", weight);
    visitor("bias", bias);
  }

  Parameter weight, bias;  // (width)

 private:
  static constexpr double kEps = 1e-5;
};

class ResidualBlock {
 public:
  ResidualBlock(int dims, std::int64_t width, std::int64_t kernel, Initializer& init)
      : norm1_(width),
        depth1_(same({dims, kernel, width, width, width}, init)),
        point1_(same({dims, 1, width, width}, init)),
        norm2_(width),
        depth2_(same({dims, kernel, width, width, width}, init)),
        point2_(same({dims, 1, width, width}, init)) {}

  Tensor operator()(const Tensor& x) const {
    const Tensor h = point1_(depth1_(relu(norm1_(x))));  // (B, G, width)
    return point2_(add(depth2_(relu(norm2_(h))), x));
  }
  void visit(ModuleVisitor& visitor) {
    visitor("norm1", norm1_);
    visitor("depth1", depth1_);
    visitor("point1", point1_);
    visitor("norm2", norm2_);
    visitor("depth2", depth2_);
    visitor("point2", point2_);
  }

 private:
  GainAndBias norm1_;
  Convolution depth1_, point1_;
  GainAndBias norm2_;
  Convolution depth2_, point2_;
};

class ResidualNetwork final : public GridNetwork {
 public:
  ResidualNetwork(int dims, std::int64_t channels, std::int64_t count, std::int64_t kernel, Initializer& init)
      : channels_(channels) {
    for (std::int64_t i = 0; i < count; ++i) blocks_.emplace_back(dims, channels, kernel, init);
  }

  Tensor operator()(const Tensor& x) const override {
    Tensor h = x;
    for (const ResidualBlock& block : blocks_) h = block(h);
    return h;
  }
  std::int64_t out_channels() const override { return channels_; }
  void visit(ModuleVisitor& visitor) override { visitor("blocks", blocks_); }

 private:
  std::int64_t channels_;
  std::vector<ResidualBlock> blocks_;
};

}  // namespace

bool pools(std::int64_t layer) {
  std::int64_t field = 1;
  for (std::int64_t i = 0; i < layer; ++i) field = (field + kFive - 1 + field % 2) / 2;
  return field % 2 == 1;
}

std::unique_ptr<GridNetwork> simple_network(int dims, std::int64_t in, std::int64_t out, Initializer& init) {
  return std::make_unique<SimpleNetwork>(dims, in, out, init);
}

std::unique_ptr<GridNetwork> u_network(int dims, std::int64_t in, std::int64_t halvings, Initializer& init) {
  return std::make_unique<UNetwork>(dims, in, halvings, init);
}

std::unique_ptr<GridNetwork> pooling_u_network(int dims, std::int64_t in, const std::vector<std::int64_t>& channels,
                                               std::int64_t out, Initializer& init) {
  return std::make_unique<PoolingUNetwork>(dims, in, channels, out, init);
}

std::unique_ptr<GridNetwork> plain_network(int dims, std::int64_t in, std::int64_t channels, std::int64_t layers,
                                           std::int64_t kernel, std::int64_t out, Initializer& init) {
  return std::make_unique<PlainNetwork>(dims, in, channels, layers, kernel, out, init);
}

std::unique_ptr<GridNetwork> residual_network(int dims, std::int64_t channels, std::int64_t blocks, std::int64_t kernel,
                                              Initializer& init) {
  return std::make_unique<ResidualNetwork>(dims, channels, blocks, kernel, init);
}

}  // namespace npzoo
