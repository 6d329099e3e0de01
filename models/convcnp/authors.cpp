#include "npzoo/models/convcnp/authors.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "npzoo/models/convcnp/config.h"
#include "npzoo/models/convcnp/convcnp.h"
#include "npzoo/models/convcnp/sconvcnp.h"

namespace npzoo {

namespace {

AuthorsPlace convolution_of(const std::string& name, const std::string& kind,
                            AuthorsLayout layout = AuthorsLayout::convolution) {
  return {.name = name + "." + kind, .layout = kind == "weight" ? layout : AuthorsLayout::same};
}

/// A set convolution with a linear layer, which they call `layer`, `words` being the names within.
AuthorsPlace deep_set(const std::string& name, Words words, const char* layer = ".g.0.") {
  return {words[0] == "points" ? name + ".sigma" : name + layer + words[1]};
}

AuthorsPlace authors_convcnp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] == "encoder") return deep_set("l0", Words(words).subspan(1));
  if (words[0] == "decoder")
    return deep_set(words[1] == "mean" ? "mean_layer" : "sigma_layer", Words(words).subspan(2));
  if (words[1] == "layers") return convolution_of("conv_net.conv_net." + in_sequence(words[2]), words[3]);
  const bool up = words[1] == "up";
  return convolution_of(fmt::format("conv_net.l{}", std::stoi(words[2]) + (up ? 1 + kMostHalvings : 1)), words[3],
                        up ? AuthorsLayout::transposed_convolution : AuthorsLayout::convolution);
}

AuthorsPlace authors_sconvcnp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] == "encoder") return deep_set("encoder", Words(words).subspan(1), ".fc.");
  if (words[0] == "decoder")
    return deep_set(words[1] == "mean" ? "mean_layer" : "sigma_layer", Words(words).subspan(2), ".fc.");
  const std::int64_t number = std::stoll(words[2]);  // network.lift.0.weight, network.blocks.0.spectral.real
  if (words[1] != "blocks") return {fmt::format("rho.fc{}.{}", number + (words[1] == "lift" ? 1 : 3), words[3])};
  const std::string block = fmt::format("rho.l{}.", number + 1);
  if (words[3] == "skip") return {.name = block + "skip_path.conv." + words[4], .layout = AuthorsLayout::pointwise};
  return {.name = block + "sconv.weights1",
          .part = words[4] == "real" ? 0 : 1,
          .parts = 2,
          .layout = AuthorsLayout::complex_modes};
}

AuthorsPlace authors_convgnp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] == "encoder") return {"encoder.coder.links.2.elements.0.log_scale"};
  if (words[0] == "decoder") return {"decoder.links.1.coder.links.0.log_scale"};
  const std::string start = "decoder.links.0.";
  const std::string& part = words[1];
  if (part == "last") return convolution_of(start + "final_linear", words[2]);
  const std::string &number = words[2], &kind = words[3];
  if (part == "layers")
    return convolution_of(fmt::format("{}conv_net.{}.net.{}", start, number, number == "0" ? 0 : 1), kind);
  if (part == "down") {
    const char* in_sequence_with_mean = pools(std::stoll(number)) ? ".0" : "";
    return convolution_of(fmt::format("{}before_turn_layers.{}{}", start, number, in_sequence_with_mean), kind);
  }
  return convolution_of(fmt::format("{}after_turn_layers.{}", start, number), kind,
                        AuthorsLayout::transposed_convolution);
}

AuthorsPlace dl4bi_convcnp(const std::string& name) {
  const auto words = split_name(name);
  const std::string& kind = words.back();
  if (words[0] == "network") {
    const std::string block = "conv_net.ConvCNPBlock_" + words[2];
    const std::string& part = words[3];  // norm1, depth1, point1, norm2, depth2, point2
    const bool second = part.back() == '2';
    if (part.starts_with("norm")) return {flax_name(fmt::format("{}.BatchNorm_{}", block, second ? 1 : 0), kind)};
    const int number = (second ? 2 : 0) + (part.starts_with("point") ? 1 : 0);
    return flax_dense(fmt::format("{}.Conv_{}", block, number), kind);
  }
  if (words[1] == "head") return flax_mlp("head", Words(words).subspan(2));
  const char* coder = words[0] == "encoder" ? "enc" : "dec";
  if (words[1] == "points") return {fmt::format("{}.log_lengthscale", coder)};
  return flax_dense(fmt::format("{}.Dense_0", coder), kind);
}

ModelConfig convcnp_config(ModelConfig theirs) {
  const bool unet = theirs["architecture"] == ModelConfig::mapped_type("UNet");
  theirs["architecture"] = std::string(unet ? "unet" : "simple");
  return theirs;
}

ModelConfig sconvcnp_config(ModelConfig theirs) {
  rename(theirs, {{"in_channels", "channels"}});
  return theirs;
}

ModelConfig convgnp_config(ModelConfig theirs) {
  const bool unet = theirs["arch"] == ModelConfig::mapped_type("unet");
  theirs.erase("arch");
  theirs["architecture"] = std::string(unet ? "convgnp-unet" : "convgnp-conv");
  rename(theirs, {{"channels", unet ? "unet_channels" : "conv_channels"},
                  {"layers", "conv_layers"},
                  {"receptive_field", "conv_receptive_field"}});
  return theirs;
}

ModelConfig dl4bi_config(ModelConfig theirs) {
  return dl4bi_architecture(std::move(theirs),
                            {{"head", "head_hidden"}, {"s_min", "grid_low"}, {"s_max", "grid_high"}});
}

/// The range of all points of the recording, which their grid covers.
Extent extent_of(const Task& task, std::int64_t input) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double low = kInfinity, high = -kInfinity;
  for (const Tensor* x : {&task.xc, &task.xt})
    for (std::int64_t i = input; i < x->numel(); i += x->dim(2)) {
      low = std::min(low, x->data<double>()[i]);
      high = std::max(high, x->data<double>()[i]);
    }
  return {low, high};
}

ModelConfig with_dimensions(ModelConfig config, const Task& task) {
  config["dim_x"] = task.xc.dim(2);
  config["dim_y"] = task.yc.dim(2);
  return config;
}

ModelConfig convcnp_task(ModelConfig ours, const Task& task) {
  const Extent points = extent_of(task, 0);
  ours["grid_low"] = std::min(points.low, -2.0);
  ours["grid_high"] = std::max(points.high, 2.0);
  return with_dimensions(std::move(ours), task);
}

ModelConfig convgnp_task(ModelConfig ours, const Task& task) {
  check(task.xc.dim(2) == 2, "[parity] {} inputs recorded of convcnp2d, expected 2", task.xc.dim(2));
  const Extent first = extent_of(task, 0), second = extent_of(task, 1);
  ours["grid_low"] = first.low;
  ours["grid_high"] = first.high;
  ours["grid_low_2"] = second.low;
  ours["grid_high_2"] = second.high;
  return with_dimensions(std::move(ours), task);
}

/// (B, G, C) or (B, G1, G2, C) in double, channels before the grid.
Tensor channels_first(const Tensor& x) {
  const Tensor from = x.detach().to(Device::cpu).to(DType::float64);
  const std::int64_t channels = x.dim(-1), batch = x.dim(0), nodes = x.numel() / (batch * channels);
  std::vector<std::int64_t> extents{batch, channels};
  extents.insert(extents.end(), x.shape().begin() + 1, x.shape().begin() + x.rank() - 1);
  Tensor to = Tensor::empty(Shape(extents), DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < x.numel(); ++i)
    to.data<double>()[(i / (nodes * channels) * channels + i % channels) * nodes + i / channels % nodes] =
        from.data<double>()[i];
  return to;
}

std::int64_t nodes_of_grid(const ModelConfig& ours) { return read_convcnp_config(ours).grid.nodes(); }
std::int64_t nodes_of_fourier_grid(const ModelConfig& ours) { return read_sconvcnp_config(ours).grid.nodes(); }

Tensor nodes_of(const GridAxis& axis) {
  Tensor nodes = Tensor::empty({axis.count}, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < axis.count; ++i) nodes.data<double>()[i] = axis.node(i);
  return nodes;
}

std::map<std::string, Tensor> convcnp_state(const ContextState& state) {
  const auto& gridded = state_as<GriddedContext>(state, "convcnp");
  return {{"grid", nodes_of(gridded.grid.columns())},
          {"encoding", gridded.encoding},
          {"features", channels_first(gridded.features)}};
}

std::map<std::string, Tensor> sconvcnp_state(const ContextState& state) {
  const auto& gridded = state_as<GriddedContext>(state, "sconvcnp");
  return {{"grid", nodes_of(gridded.grid.columns())}, {"encoding", gridded.encoding}, {"features", gridded.features}};
}

std::map<std::string, Tensor> convgnp_state(const ContextState& state) {
  const auto& gridded = state_as<GriddedContext>(state, "convcnp");
  return {{"grid.0", nodes_of(gridded.grid.rows())},
          {"grid.1", nodes_of(gridded.grid.columns())},
          {"encoding", channels_first(gridded.encoding)},
          {"features", channels_first(gridded.features)}};
}

std::map<std::string, Tensor> dl4bi_state(const ContextState& state) {
  return {{"layer.enc.0", state_as<GriddedContext>(state, "convcnp").encoding}};
}

}  // namespace

std::span<const AuthorsCode> convcnp_authors() {
  static constexpr AuthorsCode kCodes[] = {
      {.recorded_as = "convcnp",
       .place = authors_convcnp,
       .config = convcnp_config,
       .state = convcnp_state,
       .of_task = convcnp_task,
       .adam = {.lr = 1e-3, .weight_decay = 1e-5},
       .nodes = nodes_of_grid},
      {.recorded_as = "convcnp2d",
       .place = authors_convgnp,
       .config = convgnp_config,
       .list = "channels",
       .state = convgnp_state,
       .of_task = convgnp_task,
       .nodes = nodes_of_grid},
      {.recorded_as = "dl4bi-convcnp",
       .place = dl4bi_convcnp,
       .config = dl4bi_config,
       .state = dl4bi_state,
       .nodes = nodes_of_grid},
  };
  return kCodes;
}

std::span<const AuthorsCode> sconvcnp_authors() {
  static constexpr AuthorsCode kCodes[] = {{.recorded_as = "sconvcnp",
                                            .place = authors_sconvcnp,
                                            .config = sconvcnp_config,
                                            .state = sconvcnp_state,
                                            .of_task = convcnp_task,
                                            .nodes = nodes_of_fourier_grid}};
  return kCodes;
}

}  // namespace npzoo
