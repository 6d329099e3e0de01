#include <doctest/doctest.h>

#include <algorithm>

#include "npzoo/models/convcnp/authors.h"
#include "npzoo/models/convcnp/grid_networks.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

using Channels = std::vector<std::int64_t>;
using Weights = std::map<std::string, Tensor>;

/// One batch element on a grid of height · width nodes. Over one input the height is 1.
struct Nodes {
  std::int64_t height, width, channels;
  std::vector<double> values = std::vector<double>(static_cast<std::size_t>(height * width * channels));

  double& at(std::int64_t i, std::int64_t j, std::int64_t c) { return values[(i * width + j) * channels + c]; }
  bool has(std::int64_t i, std::int64_t j) const { return 0 <= i && i < height && 0 <= j && j < width; }
};

/// A kernel of 5 nodes, or 1, along every input.
struct Layer {
  Layer(const Weights& weights, const std::string& name, int dims)
      : weight(weights.at(name + ".weight")),
        bias(weights.at(name + ".bias")),
        taps(weight.dim(0)),
        rows(dims == 1 ? 1 : taps),
        in(weight.dim(-2)),
        out(weight.dim(-1)) {}

  /// Calls f(row of the tap, its column, input, output, weight).
  void for_each(const auto& f) const {
    for (std::int64_t k = 0; k < rows; ++k)
      for (std::int64_t l = 0; l < taps; ++l)
        for (std::int64_t a = 0; a < in; ++a)
          for (std::int64_t b = 0; b < out; ++b)
            f(k - rows / 2, l - taps / 2, a, b, weight.data<double>()[((k * taps + l) * in + a) * out + b]);
  }

  Tensor weight, bias;
  std::int64_t taps, rows, in, out;
};

Nodes biased(std::int64_t height, std::int64_t width, const Layer& layer) {
  Nodes y{height, width, layer.out};
  for (std::size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = layer.bias.data<double>()[i % static_cast<std::size_t>(layer.out)];
  return y;
}

Nodes convolved(Nodes x, const Layer& layer, std::int64_t stride) {
  const std::int64_t down = layer.rows == 1 && x.height == 1 ? 1 : stride;
  Nodes y = biased(x.height / down, x.width / stride, layer);
  for (std::int64_t i = 0; i < y.height; ++i)
    for (std::int64_t j = 0; j < y.width; ++j)
      layer.for_each([&](std::int64_t k, std::int64_t l, std::int64_t a, std::int64_t b, double weight) {
        if (x.has(down * i + k, stride * j + l)) y.at(i, j, b) += weight * x.at(down * i + k, stride * j + l, a);
      });
  return y;
}

Nodes doubled(Nodes x, const Layer& layer) {
  const std::int64_t down = layer.rows == 1 ? 1 : 2;
  Nodes y = biased(down * x.height, 2 * x.width, layer);
  for (std::int64_t i = 0; i < x.height; ++i)
    for (std::int64_t j = 0; j < x.width; ++j)
      layer.for_each([&](std::int64_t k, std::int64_t l, std::int64_t a, std::int64_t b, double weight) {
        if (y.has(down * i + k, 2 * j + l)) y.at(down * i + k, 2 * j + l, b) += weight * x.at(i, j, a);
      });
  return y;
}

Nodes pooled(Nodes x) {
  const std::int64_t down = x.height == 1 ? 1 : 2;
  Nodes y{x.height / down, x.width / 2, x.channels};
  for (std::int64_t i = 0; i < x.height; ++i)
    for (std::int64_t j = 0; j < x.width; ++j)
      for (std::int64_t c = 0; c < x.channels; ++c)
        y.at(i / down, j / 2, c) += x.at(i, j, c) / static_cast<double>(2 * down);
  return y;
}

Nodes without_negatives(Nodes x) {
  for (double& value : x.values) value = std::max(value, 0.0);
  return x;
}

Nodes beside(Nodes first, Nodes second) {
  Nodes y{first.height, first.width, first.channels + second.channels};
  for (std::int64_t i = 0; i < y.height; ++i)
    for (std::int64_t j = 0; j < y.width; ++j)
      for (std::int64_t c = 0; c < y.channels; ++c)
        y.at(i, j, c) = c < first.channels ? first.at(i, j, c) : second.at(i, j, c - first.channels);
  return y;
}

/// The rule of neuralprocesses, node by node.
Nodes by_the_rule(const Nodes& x, std::int64_t layers, int dims, const Weights& weights) {
  std::vector<Nodes> before;
  Nodes h = x;
  std::int64_t field = 1;
  for (std::int64_t i = 0; i < layers; ++i) {
    const Layer layer(weights, fmt::format("down.{}", i), dims);
    const bool odd = field % 2 == 1;
    field += layer.taps - 1;
    field = odd ? (field + 1) / 2 : field / 2;
    h = without_negatives(odd ? pooled(convolved(h, layer, 1)) : convolved(h, layer, 2));
    before.push_back(h);
  }
  for (std::int64_t i = layers; i-- > 0;) {
    if (i + 1 < layers) h = beside(before[static_cast<std::size_t>(i)], h);
    h = without_negatives(doubled(h, Layer(weights, fmt::format("up.{}", i), dims)));
  }
  return convolved(h, Layer(weights, "last", dims), 1);
}

struct Network {
  std::unique_ptr<GridNetwork> network;
  Weights weights;  // in double on the CPU
};

/// A network whose weights come from `value(name, shape)`.
Network network_of(int dims, std::int64_t in, const Channels& channels, std::int64_t out, const auto& value) {
  Initializer init(Framework::torch, {});
  Network made{pooling_u_network(dims, in, channels, out, init), {}};
  for (const NamedParameter& p : named_tensors(*made.network)) {
    made.weights[p.name] = value(p.name, p.parameter->value.shape());
    p.parameter->value = made.weights[p.name].to(default_device());
  }
  return made;
}

Network random_network(int dims, std::int64_t in, const Channels& channels, std::int64_t out) {
  std::uint64_t seed = 1;
  return network_of(dims, in, channels, out, [&](const std::string&, const Shape& shape) {
    return normal<double>(shape, seed++, 0.4).to(Device::cpu);
  });
}

}  // namespace

TEST_CASE("convcnp: layers of the neuralprocesses U-Net pool while the receptive field before them is odd") {
  // Fields before the layers: 1, 3, 4, 4, 4, 4.
  const bool expected[] = {true, true, false, false, false, false};
  for (std::int64_t layer = 0; layer < 6; ++layer) CHECK(pools(layer) == expected[layer]);
}

TEST_CASE("convcnp: neuralprocesses has convolutions that pool in a sequence with their mean") {
  const auto codes = convcnp_authors();
  const auto code = std::ranges::find(codes, std::string("convcnp2d"), &AuthorsCode::recorded_as);
  REQUIRE(code != codes.end());
  const auto name = [&](const char* ours) { return code->place(ours).name; };
  CHECK(name("network.down.1.weight") == "decoder.links.0.before_turn_layers.1.0.weight");
  CHECK(name("network.down.2.weight") == "decoder.links.0.before_turn_layers.2.weight");
  CHECK(name("network.down.5.bias") == "decoder.links.0.before_turn_layers.5.bias");
  CHECK(name("network.up.2.weight") == "decoder.links.0.after_turn_layers.2.weight");
}

TEST_CASE("convcnp: a ramp through the neuralprocesses U-Net, by hand") {
  // Kernels that copy their middle node, and in transposed ones repeat it over two; skipped inputs count 0.
  const Network made = network_of(1, 1, {1, 1, 1}, 1, [](const std::string& name, const Shape& shape) {
    Tensor value = Tensor::zeros(shape, DType::float64, Device::cpu);
    if (name == "last.weight") value.data<double>()[0] = 1;
    if (name.starts_with("down.") && shape.rank() == 3) value.data<double>()[2] = 1;
    if (name.starts_with("up.") && shape.rank() == 3)
      for (const std::int64_t tap : {2, 3}) value.data<double>()[tap * shape[1] + shape[1] - 1] = 1;
    return value;
  });
  std::vector<double> ramp(16);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<double>(i + 1);
  const Tensor x = Tensor::from<double>({1, 16, 1}, ramp).to(default_device());
  // Means of 2: 1.5 3.5 … 15.5. Means of 2: 2.5 6.5 10.5 14.5. Every second node: 2.5 10.5.
  std::vector<double> expected(16, 2.5);
  std::fill_n(expected.begin() + 8, 8, 10.5);
  CHECK(largest_difference((*made.network)(x), expected) == 0);
}

TEST_CASE("convcnp: the neuralprocesses U-Net follows its rule, node by node") {
  struct Case {
    int dims;
    Channels channels;
    std::int64_t height, width;
  };
  const Case cases[] = {{1, {3, 2}, 1, 12},
                        {1, {2, 3, 4}, 1, 24},
                        {1, {2, 3, 2, 1, 2, 3}, 1, 128},
                        {2, {2, 3, 2}, 8, 16},
                        {2, {2, 1, 2, 1, 2, 1}, 64, 64}};
  for (const Case& c : cases) {
    CAPTURE(c.dims);
    CAPTURE(c.channels.size());
    const Network made = random_network(c.dims, 2, c.channels, 3);
    for (std::size_t i = 0; i < c.channels.size(); ++i) {
      const Shape& down = made.weights.at(fmt::format("down.{}.weight", i)).shape();
      CHECK(down.rank() == c.dims + 2);
      CHECK(down[-1] == c.channels[i]);
      CHECK(down[-2] == (i == 0 ? 2 : c.channels[i - 1]));
    }
    const Shape shape = c.dims == 1 ? Shape{1, c.width, 2} : Shape{1, c.height, c.width, 2};
    const Tensor x = normal<double>(shape, 50).to(Device::cpu);
    const auto values = x.values<double>();
    const Nodes expected = by_the_rule({c.height, c.width, 2, {values.begin(), values.end()}}, std::ssize(c.channels),
                                       c.dims, made.weights);
    const Tensor ours = (*made.network)(x.to(default_device()));
    CHECK(ours.shape() == shape.with(c.dims + 1, 3));
    CHECK(largest_difference(ours, expected.values) <= 1e-12);
  }
}
