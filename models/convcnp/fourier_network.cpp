#include "npzoo/models/convcnp/fourier_network.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "npzoo/models/convcnp/grid_coders.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/matmul/matmul.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

/// cos and sin of 2π turn / nodes, exact where they are 0: mode 0 and the mode at half the nodes have no imaginary
/// part.
struct UnitRoot {
  UnitRoot(std::int64_t turn, std::int64_t nodes) {
    const std::int64_t rest = turn % nodes;
    const double angle = 2 * std::numbers::pi * static_cast<double>(rest) / static_cast<double>(nodes);
    cosine = std::cos(angle);
    sine = 2 * rest % nodes == 0 ? 0 : std::sin(angle);
  }

  double cosine, sine;
};

/// Rows are the real and the imaginary part of each mode in turn.
FixedMatrix real_transform(std::int64_t modes, std::int64_t nodes) {
  return {2 * modes, nodes, [&](std::int64_t row, std::int64_t node) {
            const UnitRoot root(row / 2 * node, nodes);
            return row % 2 == 0 ? root.cosine : -root.sine;
          }};
}

FixedMatrix inverse_real_transform(std::int64_t nodes, std::int64_t modes) {
  return {nodes, 2 * modes, [&](std::int64_t node, std::int64_t column) {
            const std::int64_t mode = column / 2;
            const UnitRoot root(mode * node, nodes);
            const bool alone = mode == 0 || 2 * mode == nodes;  // the others stand for their conjugates, too
            const double weight = (alone ? 1.0 : 2.0) / static_cast<double>(nodes);
            return weight * (column % 2 == 0 ? root.cosine : -root.sine);
          }};
}

/// The real or the imaginary part of complex N(0, 1) / (in · out).
Tensor spectral_weight(const FourierExtents& extents, std::int64_t modes, Initializer& init) {
  const Tensor standard = init.standard_normal({modes, extents.in, extents.out});
  const double deviation = std::numbers::sqrt2 / 2 / static_cast<double>(extents.in * extents.out);
  return init.drawn() ? affine(standard, deviation, 0) : standard;
}

/// Numbers of nodes on the CPU, from where a captured step on a GPU can copy them.
Tensor node_numbers(std::int64_t count) {
  return default_device() == Device::cuda ? Tensor::pinned({1, count}, DType::int64)
                                          : Tensor::empty({1, count}, DType::int64, Device::cpu);
}

/// Place of sample i of `after`, in steps between `before` nodes.
double place_of_sample(std::int64_t i, std::int64_t before, std::int64_t after) {
  return static_cast<double>(i * (before - 1)) / static_cast<double>(std::max<std::int64_t>(after - 1, 1));
}

/// (A, B, C) → (B, A, C), by the slices of the shorter axis.
Tensor axes_exchanged(const Tensor& x) {
  const std::int64_t a = x.dim(0), b = x.dim(1), c = x.dim(2);
  if (a == 1 || b == 1) return reshape(x, {b, a, c});
  const bool by_first = a < b;
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < std::min(a, b); ++i)
    parts.push_back(by_first ? reshape(slice(x, 0, i, i + 1), {b, 1, c}) : reshape(slice(x, 1, i, i + 1), {1, a, c}));
  return parts.empty() ? reshape(x, {b, a, c}) : concat(parts, by_first ? 1 : 0);
}

class FourierNetwork final : public GridNetwork {
 public:
  FourierNetwork(const FourierNetworkConfig& c, const GridAxis& axis, Initializer& init)
      : channels_(c.channels), places_(axis.count, 1, [&](std::int64_t i, std::int64_t) { return axis.node(i); }) {
    const std::int64_t nodes = axis.count, w = c.width;
    lift_.push_back(xavier_linear(c.channels + 1, w / 2, init));
    lift_.push_back(xavier_linear(w / 2, w, init));
    const FourierExtents extents[] = {{nodes, w, nodes / 2, w},
                                      {nodes / 2, w, nodes / 4, 2 * w},
                                      {nodes / 4, 2 * w, nodes / 4, 4 * w},
                                      {nodes / 4, 4 * w, nodes / 2, 2 * w},
                                      {nodes / 2, 3 * w, nodes, w}};
    for (const FourierExtents& each : extents) blocks_.emplace_back(each, c.modes, init);
    project_.push_back(xavier_linear(2 * w, w / 2, init));
    project_.push_back(xavier_linear(w / 2, c.channels, init));
  }

  Tensor operator()(const Tensor& x) const override {
    const std::int64_t nodes = x.dim(1), batch = x.dim(0);
    const Tensor place = broadcast_to(reshape(places_.as(x.dtype()), {nodes, 1, 1}), {nodes, batch, 1});
    const Tensor read = concat({axes_exchanged(x), place}, -1);        // (G, B, C + 1)
    const Tensor all = gelu(lift_[1](gelu(lift_[0](read))));           // (G, B, W)
    const Tensor half = blocks_[0](all);                               // (G / 2, B, W)
    const Tensor deep = blocks_[3](blocks_[2](blocks_[1](half)));      // (G / 2, B, 2 W)
    const Tensor fine = blocks_[4](concat({deep, half}, -1));          // (G, B, W)
    const Tensor hidden = gelu(project_[0](concat({fine, all}, -1)));  // (G, B, W / 2)
    return axes_exchanged(project_[1](hidden));                        // (B, G, C)
  }
  std::int64_t out_channels() const override { return channels_; }
  void visit(ModuleVisitor& visitor) override {
    visitor("lift", lift_);
    visitor("blocks", blocks_);
    visitor("project", project_);
  }

 private:
  std::int64_t channels_;
  FixedMatrix places_;  // (G, 1)
  std::vector<Linear> lift_;
  std::vector<FourierBlock> blocks_;
  std::vector<Linear> project_;
};

}  // namespace

FixedMatrix::FixedMatrix(std::int64_t rows, std::int64_t columns,
                         const std::function<double(std::int64_t, std::int64_t)>& element) {
  Tensor values = Tensor::empty({rows, columns}, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < values.numel(); ++i) values.data<double>()[i] = element(i / columns, i % columns);
  double_ = values.to(default_device());
  single_ = values.to(DType::float32).to(default_device());
}

Tensor FixedMatrix::operator()(const Tensor& x) const {
  const Tensor& matrix = as(x.dtype());
  const Tensor product = matmul(matrix, reshape(x, {x.dim(0), x.dim(1) * x.dim(2)}));
  return reshape(product, {matrix.dim(0), x.dim(1), x.dim(2)});
}

SpectralConvolution::SpectralConvolution(const FourierExtents& extents, std::int64_t modes, Initializer& init)
    : real{spectral_weight(extents, modes, init)},
      imaginary{spectral_weight(extents, modes, init)},
      transform_(real_transform(modes, extents.nodes)),
      inverse_(inverse_real_transform(extents.nodes_after, modes)) {}

Tensor SpectralConvolution::operator()(const Tensor& x) const {
  const std::int64_t modes = real.value.dim(0), in = real.value.dim(1), out = real.value.dim(2), batch = x.dim(1);
  const Tensor spectrum = reshape(transform_(x), {modes, 2 * batch, in});                 // real parts, then imaginary
  const auto by_real = split(matmul(spectrum, real.value), 1, {batch, batch});            // (M, B, C′) each
  const auto by_imaginary = split(matmul(spectrum, imaginary.value), 1, {batch, batch});  // (M, B, C′) each
  const Tensor product =
      concat({sub(by_real[0], by_imaginary[1]), add(by_real[1], by_imaginary[0])}, 1);  // (M, 2 B, C′)
  return inverse_(reshape(product, {2 * modes, batch, out}));                           // (G′, B, C′)
}

void SpectralConvolution::visit(ModuleVisitor& visitor) {
  visitor("real", real);
  visitor("imaginary", imaginary);
}

GridResampling::GridResampling(std::int64_t nodes, std::int64_t nodes_after)
    : same_(nodes == nodes_after),
      below_(node_numbers(nodes_after)),
      above_(node_numbers(nodes_after)),
      share_(nodes_after, 1, [&](std::int64_t i, std::int64_t) {
        const double place = place_of_sample(i, nodes, nodes_after);
        return place - std::floor(place);
      }) {
  for (std::int64_t i = 0; i < nodes_after; ++i) {
    const auto node = static_cast<std::int64_t>(place_of_sample(i, nodes, nodes_after));
    below_.data<std::int64_t>()[i] = node;
    above_.data<std::int64_t>()[i] = std::min(node + 1, nodes - 1);
  }
}

Tensor GridResampling::operator()(const Tensor& x) const {
  if (same_) return x;
  const std::int64_t batch = x.dim(1), channels = x.dim(2);
  const Tensor nodes = reshape(x, {1, x.dim(0), batch * channels});
  const Tensor below = gather(nodes, below_), above = gather(nodes, above_);        // (1, G′, B C)
  const Tensor between = add(below, mul(sub(above, below), share_.as(x.dtype())));  // (1, G′, B C)
  return reshape(between, {below_.dim(1), batch, channels});
}

FourierBlock::FourierBlock(const FourierExtents& extents, std::int64_t modes, Initializer& init)
    : spectral(extents, modes, init),
      skip(extents.in, extents.out, init),
      coarser_(extents.nodes_after < extents.nodes),
      resampled_(extents.nodes, extents.nodes_after) {}

Tensor FourierBlock::operator()(const Tensor& x) const {
  // Weights of an interpolation add up to 1, so a linear layer may come before or after it: on the fewer nodes.
  const Tensor beside = coarser_ ? skip(resampled_(x)) : resampled_(skip(x));  // (G′, B, C′)
  return gelu(gelu(add(spectral(x), beside)));                                 // (G′, B, C′)
}

void FourierBlock::visit(ModuleVisitor& visitor) {
  visitor("spectral", spectral);
  visitor("skip", skip);
}

std::unique_ptr<GridNetwork> fourier_network(const FourierNetworkConfig& config, const GridAxis& axis,
                                             Initializer& init) {
  return std::make_unique<FourierNetwork>(config, axis, init);
}

}  // namespace npzoo
