#include "npzoo/models/convcnp/sconvcnp.h"

#include "npzoo/models/convcnp/authors.h"
#include "npzoo/models/convcnp/config.h"
#include "npzoo/models/convcnp/fourier_network.h"
#include "npzoo/models/registry.h"

namespace npzoo {

ConvCnpConfig read_sconvcnp_config(const ModelConfig& config) {
  constexpr const char* kModel = "sconvcnp";
  // The matrices of the transforms then take less than 300 MB.
  constexpr std::int64_t kMostElements = std::int64_t{1} << 21;
  ConfigReader reader(config, kModel);
  ConvCnpConfig c;
  c.name = kModel;
  c.architecture = ConvCnpArchitecture::fourier;
  c.dim_x = reader.size("dim_x", kGivenByData);
  c.dim_y = reader.size("dim_y", kGivenByData);
  reader.expect(c.dim_x == 1, "[sconvcnp] dim_x is {}, expected 1: its Fourier transforms are over one input", c.dim_x);
  c.points_per_unit = read_points_per_unit(reader);
  const Extent extent = read_extents(reader, 1, kModel).front();
  c.in_channels = reader.size("channels", "channels on the grid before and after the network");
  c.width = reader.size("width", "width of the network on the finest grid; an even number");
  reader.expect(c.width % 2 == 0, "[sconvcnp] width is {}, expected an even number", c.width);
  c.modes = reader.size("modes", "frequencies that the Fourier transforms keep, the lowest ones");
  c.likelihood = read_likelihood(reader);
  reader.finish();
  const GridAxis axis = convcnp_axis(extent, c.points_per_unit, kFourierMultiple);
  c.grid = checked_grid(1, axis, axis, kModel);
  reader.expect(c.modes <= most_modes(axis.count), "[sconvcnp] modes is {}, expected at most {} on a grid of {} nodes",
                c.modes, most_modes(axis.count), axis.count);
  reader.expect(axis.count * c.modes <= kMostElements,
                "[sconvcnp] a grid of {} nodes and {} modes found, expected a product of at most {}", axis.count,
                c.modes, kMostElements);
  return c;
}

namespace {

std::unique_ptr<Model> make_sconvcnp(const ModelConfig& config, const InitialWeights& weights) {
  const ConvCnpConfig c = read_sconvcnp_config(config);
  Initializer init(Framework::torch, weights);
  return std::make_unique<ConvCnp>(c, init);
}

constexpr const char* kSmallSConvCnps[] = {
    R"({"channels": 3, "width": 4, "modes": 2, "grid_low": -3.0, "grid_high": 3.0, "points_per_unit": 2.5})",
    R"({"channels": 2, "width": 2, "modes": 3, "grid_low": -2.0, "grid_high": 3.0, "points_per_unit": 3.0, "likelihood": "student-t"})",
};

constexpr PublishedSize kSConvCnpSizes[] = {{"sconvcnp/rbf", 5'865'380}};

}  // namespace

ModelInfo sconvcnp_info() {
  return {
      .name = "sconvcnp",
      .title = "Spectral convolutional conditional neural process",
      .paper = "Mohseni and Duffield, Spectral convolutional conditional neural processes, ICLR workshop 2024",
      .make = make_sconvcnp,
      .small_forms = kSmallSConvCnps,
      .sizes = kSConvCnpSizes,
      .authors = sconvcnp_authors(),
      .traits = {.counts_points = true, .most_inputs = 1},
      .likelihoods = true,
  };
}

}  // namespace npzoo
