#include "npzoo/models/convcnp/sconvcnp.h"

#include <doctest/doctest.h>

#include <complex>
#include <numbers>

#include "npzoo/models/convcnp/fourier_network.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

using Complex = std::complex<double>;

/// exp(2πi turns)
Complex unit_root(double turns) { return std::polar(1.0, 2 * std::numbers::pi * turns); }

std::string sconvcnp_error(const char* changes, std::int64_t dim_x = 1) {
  ModelConfig config = small_model("sconvcnp").config;
  for (const auto& [key, value] : model_config_from_json(changes, "changes")) config[key] = value;
  config["dim_x"] = dim_x;
  return error_of([&] { make_model({"sconvcnp", config}); });
}

SpectralConvolution spectral_layer(const FourierExtents& extents, std::int64_t modes) {
  Initializer init(Framework::torch, {.seed = 4});
  SpectralConvolution layer(extents, modes, init);
  layer.real.value = normal<double>({modes, extents.in, extents.out}, 5);
  layer.imaginary.value = normal<double>({modes, extents.in, extents.out}, 6);
  return layer;
}

/// A spectral convolution by its definition: sums over all nodes and all nodes / 2 + 1 modes, of which only those that
/// the layer has are not 0.
std::vector<double> by_definition(const SpectralConvolution& layer, const Tensor& x, const FourierExtents& e) {
  const std::int64_t batch = x.dim(1), modes = layer.real.value.dim(0);
  const std::vector<double> values = doubles(x), re = doubles(layer.real.value), im = doubles(layer.imaginary.value);
  std::vector<double> y(static_cast<std::size_t>(e.nodes_after * batch * e.out));
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t o = 0; o < e.out; ++o) {
      std::vector<Complex> spectrum(static_cast<std::size_t>(e.nodes_after / 2 + 1));
      for (std::int64_t k = 0; k < modes; ++k)
        for (std::int64_t c = 0; c < e.in; ++c) {
          Complex coefficient = 0;
          for (std::int64_t t = 0; t < e.nodes; ++t)
            coefficient += values[(t * batch + b) * e.in + c] *
                           unit_root(-static_cast<double>(k * t) / static_cast<double>(e.nodes));
          const std::size_t w = (k * e.in + c) * e.out + o;
          spectrum[k] += coefficient * Complex(re[w], im[w]);
        }
      for (std::int64_t t = 0; t < e.nodes_after; ++t) {
        double sum = 0;
        for (std::int64_t k = 0; k < e.nodes_after; ++k) {  // the upper half are conjugates of the lower half
          const bool lower = 2 * k <= e.nodes_after;
          const Complex c = lower ? spectrum[k] : std::conj(spectrum[e.nodes_after - k]);
          const bool is_real = k == 0 || 2 * k == e.nodes_after;
          sum += ((is_real ? Complex(c.real()) : c) *
                  unit_root(static_cast<double>(k * t) / static_cast<double>(e.nodes_after)))
                     .real();
        }
        y[(t * batch + b) * e.out + o] = sum / static_cast<double>(e.nodes_after);
      }
    }
  return y;
}

/// Functions without frequencies above `highest` on (nodes, 2, channels), the same on each number of nodes.
Tensor band_limited(std::int64_t nodes, std::int64_t channels, std::int64_t highest) {
  constexpr std::int64_t kBatch = 2;
  Tensor x = Tensor::zeros({nodes, kBatch, channels}, DType::float64, Device::cpu);
  const std::vector<double> c = doubles(normal<double>({highest + 1, kBatch * channels, 2}, 9));
  for (std::int64_t t = 0; t < nodes; ++t)
    for (std::int64_t row = 0; row < kBatch * channels; ++row)
      for (std::int64_t k = 0; k <= highest; ++k) {
        const Complex wave = unit_root(static_cast<double>(k * t) / static_cast<double>(nodes));
        const std::size_t at = (k * kBatch * channels + row) * 2;
        x.data<double>()[t * kBatch * channels + row] += c[at] * wave.real() + c[at + 1] * wave.imag();
      }
  return x.to(default_device());
}

}  // namespace

TEST_CASE("sconvcnp: a spectral convolution is what the sums over all nodes and modes say") {
  for (const auto& [extents, modes] : {std::pair(FourierExtents{16, 3, 8, 2}, 4),
                                       {FourierExtents{16, 2, 16, 3}, 5},
                                       {FourierExtents{8, 2, 16, 2}, 3},
                                       {FourierExtents{16, 1, 8, 2}, 5},
                                       {FourierExtents{8, 2, 16, 1}, 5},
                                       {FourierExtents{10, 2, 5, 2}, 3}}) {
    const SpectralConvolution layer = spectral_layer(extents, modes);
    const Tensor x = normal<double>({extents.nodes, 3, extents.in}, 7);
    const Tensor y = layer(x);
    CHECK(y.shape() == Shape{extents.nodes_after, 3, extents.out});
    CHECK(largest_difference(y, by_definition(layer, x, extents)) <= 1e-12);
  }
}

TEST_CASE("sconvcnp: of an input without high frequencies, a spectral convolution makes the same on twice the nodes") {
  constexpr std::int64_t kModes = 5;
  for (const std::int64_t after : {12, 24, 48}) {
    const FourierExtents coarse{24, 2, after, 3}, fine{48, 2, 2 * after, 3};
    const SpectralConvolution on_coarse = spectral_layer(coarse, kModes), on_fine = spectral_layer(fine, kModes);
    for (const std::int64_t highest : {3, 9}) {  // fewer frequencies than modes, and more
      const Tensor a = on_coarse(band_limited(24, 2, highest)), b = on_fine(band_limited(48, 2, highest));
      const Tensor every_second = slice(reshape(b, {after, 2, 6}), 1, 0, 1);
      CHECK(difference(reshape(every_second, a.shape()), a) <= 1e-13);
    }
    // A frequency that the coarse grid takes for a lower one makes a difference.
    CHECK(difference(reshape(slice(reshape(on_fine(band_limited(48, 2, 22)), {after, 2, 6}), 1, 0, 1), {after, 2, 3}),
                     on_coarse(band_limited(24, 2, 22))) > 1e-2);
  }
}

TEST_CASE("sconvcnp: resampling is linear interpolation, which keeps the first and the last node") {
  for (const auto& [before, after] : {std::pair(16, 8), {8, 16}, {9, 4}, {2, 8}, {8, 8}}) {
    const Tensor x = normal<double>({before, 2, 3}, 3);
    const std::vector<double> from = doubles(x);
    std::vector<double> expected;
    for (int i = 0; i < after; ++i) {
      const double place = static_cast<double>(i) / (after - 1) * (before - 1);
      const int left = std::min(static_cast<int>(place + 1e-9), before - 2);
      for (int c = 0; c < 6; ++c)
        expected.push_back(from[left * 6 + c] + (place - left) * (from[(left + 1) * 6 + c] - from[left * 6 + c]));
    }
    const Tensor y = GridResampling(before, after)(x);
    CHECK(largest_difference(y, expected) <= 1e-13);
    CHECK(difference(slice(y, 0, 0, 1), slice(x, 0, 0, 1)) == 0);
    CHECK(difference(slice(y, 0, after - 1, after), slice(x, 0, before - 1, before)) == 0);
  }
}

TEST_CASE("sconvcnp: a block is the sum of its two ways, whichever comes first on the way beside") {
  for (const FourierExtents& extents : {FourierExtents{16, 3, 8, 2}, FourierExtents{8, 2, 16, 3}}) {
    Initializer init(Framework::torch, {.seed = 4});
    FourierBlock block(extents, 3, init);
    for (const auto& [name, parameter] : named_parameters(block))
      parameter->value = normal<double>(parameter->value.shape(), 8);
    const Tensor x = normal<double>({extents.nodes, 2, extents.in}, 7);
    const Tensor beside = GridResampling(extents.nodes, extents.nodes_after)(block.skip(x));
    CHECK(difference(block(x), gelu(gelu(add(block.spectral(x), beside)))) <= 1e-13);
  }
}

TEST_CASE("sconvcnp: parameters of the code's sizes") {
  std::int64_t layers = 0, weights = 0;
  for (const auto& [in, out] : {std::pair(64, 64), {64, 128}, {128, 256}, {256, 128}, {192, 64}}) {
    layers += in * out + out;
    weights += 32 * in * out;
  }
  const std::int64_t coders = 2 + (2 * 16 + 16) + 2 * (16 + 16 + 1),
                     linear = (17 * 32 + 32) + (32 * 64 + 64) + (128 * 32 + 32) + (32 * 16 + 16);
  const auto model = make_model(model_spec(load_protocol("sconvcnp/rbf"), "sconvcnp"), {.drawn = false});
  CHECK(count_elements(named_parameters(*model)) == coders + linear + layers + 2 * weights);
  CHECK(coders + linear + layers + weights == 2'981'796);  // which counts a complex number once
}

TEST_CASE("sconvcnp: complex weights begin as normal numbers over the channels that they connect") {
  Initializer init(Framework::torch, {.seed = 2});
  const SpectralConvolution layer({16, 20, 16, 10}, 9, init);
  for (const Tensor& part : {layer.real.value, layer.imaginary.value}) {
    double squares = 0;
    for (const double w : doubles(part)) squares += w * w;
    // Each part of a complex number of variance 1 has a half. 1800 squares have a relative error of 3.3 %.
    CHECK(std::abs(squares / 1800 * 200 * 200 - 0.5) <= 0.05);
  }
  CHECK(difference(layer.real.value, layer.imaginary.value) > 1e-4);
}

TEST_CASE("sconvcnp: predictions depend on the place, unlike those of a ConvCNP") {
  ModelSpec spec = small_model("sconvcnp");
  const auto here = varied_model(spec);
  constexpr double kShift = 0.75;
  for (const char* key : {"grid_low", "grid_high"}) std::get<double>(spec.config.at(key)) += kShift;
  const auto there = varied_model(spec);
  Task task = random_task(*here, {});
  const Moments before = predict(*here, task);
  task.xc = affine(task.xc, 1, kShift);
  task.xt = affine(task.xt, 1, kShift);
  CHECK(difference(predict(*there, task), before) > 1e-4);
}

TEST_CASE("sconvcnp: the loss is a mean over targets and channels") {
  for (const ModelCase& c : small_models()) {
    if (c.spec.name != "sconvcnp") continue;
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task task = random_task(*model, {});
    const double expected = target_nll(*model, task).item() / static_cast<double>(model->dim_y());
    CHECK(std::abs(loss(*model, task).item() - expected) <= 1e-12 * std::abs(expected));
  }
}

TEST_CASE("sconvcnp: errors") {
  CHECK(sconvcnp_error("{}", 2) == "[sconvcnp] dim_x is 2, expected 1: its Fourier transforms are over one input");
  CHECK(sconvcnp_error(R"({"width": 5})") == "[sconvcnp] width is 5, expected an even number");
  CHECK(sconvcnp_error(R"({"modes": 4})") == "[sconvcnp] modes is 4, expected at most 3 on a grid of 16 nodes");
  CHECK(sconvcnp_error(R"({"grid_high": -3.0})") == "[sconvcnp] grid_low is -3 and grid_high -3, expected a range");
  CHECK(sconvcnp_error(R"({"points_per_unit": 2e5})") ==
        "[sconvcnp] a grid of 1240000 nodes and 2 modes found, expected a product of at most 2097152");
  CHECK(sconvcnp_error(R"({"kernel": 3})").starts_with("[sconvcnp] "));
  const auto model = varied_model(small_model("sconvcnp"));
  const Task one = random_task(*model, {1, 3, 2}), two = random_task(*model, {2, 3, 2});
  const auto state = condition(*model, context_of(one));
  CHECK(error_of([&] { model->update(*state, context_of(two)); }) ==
        "[sconvcnp] 2 batch elements found, expected 1 as in the state");
}
