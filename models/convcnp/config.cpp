#include "npzoo/models/convcnp/config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <string_view>
#include <vector>

#include "npzoo/models/blocks/min_std.h"

namespace npzoo {

namespace {

constexpr const char* kModel = "convcnp";

using Architecture = ConvCnpArchitecture;

Architecture read_architecture(ConfigReader& reader) {
  static const std::vector<std::string_view> names{"simple",       "unet",         "dl4bi",
                                                   "convgnp-conv", "convgnp-unet", "on-grid"};
  const std::string name = reader.choice("architecture", "authors' code that the architecture follows", names);
  return static_cast<Architecture>(std::ranges::find(names, name) - names.begin());
}

/// Pixels along each input: grid_size of all, unless there is a grid_size_2 for the second.
std::array<std::int64_t, 2> read_grid_sizes(ConfigReader& reader, std::int64_t dim_x) {
  const auto read = [&](const char* key, KeyLine line) {
    const std::int64_t size = reader.size(key, line);
    reader.expect(size >= 2, "[convcnp] {} is {}, expected 2 or more", key, size);
    return size;
  };
  const std::int64_t first = read("grid_size", "pixels along each input");
  const bool has_second = dim_x == 2 && reader.has("grid_size_2");
  return {first, has_second ? read("grid_size_2", "pixels along the second input") : first};
}

/// "64 64 64"
std::vector<std::int64_t> read_widths(ConfigReader& reader, const std::string& key, KeyLine line) {
  constexpr std::int64_t kMost = 65536;
  const auto text = reader.get<std::string>(key, line);
  std::istringstream words(text);
  std::vector<std::int64_t> widths;
  for (std::int64_t width = 0; words >> width;) widths.push_back(width);
  const bool in_range = std::ranges::all_of(widths, [](std::int64_t w) { return 1 <= w && w <= kMost; });
  reader.expect(words.eof() && in_range && !widths.empty() && widths.size() <= 16,
                "[convcnp] {} is '{}', expected 1 to 16 numbers from 1 to {}", key, text, kMost);
  return widths;
}

/// Returns the kernel of each layer of convgnp-conv, so that all layers together see `field`.
std::int64_t kernel_of_field(double field, double points_per_unit, std::int64_t layers) {
  const double nodes = std::ceil(1 + (field * points_per_unit - 1) / static_cast<double>(layers));
  check(nodes >= 1 && nodes <= 4096, "[convcnp] conv_receptive_field is {}, expected layers of 1 to 4096 nodes", field);
  const auto kernel = static_cast<std::int64_t>(nodes);
  return kernel % 2 == 0 ? kernel + 1 : kernel;
}

std::int64_t read_kernel(ConfigReader& reader, const char* key, KeyLine line) {
  const std::int64_t kernel = reader.size(key, line);
  check(kernel % 2 == 1, "[convcnp] {} is {}, expected an odd number", key, kernel);
  return kernel;
}

/// Reads the keys that dl4bi and on-grid share.
void read_residual(ConfigReader& reader, ConvCnpConfig& c) {
  c.width = reader.size("width", "channels of convolutions");
  c.kernel = read_kernel(reader, "kernel", "points of a convolution's kernel; an odd number");
  c.blocks = reader.depth("blocks", "residual blocks");
  c.head_hidden = reader.size("head_hidden", "width of the hidden layer of the predicting network");
  c.min_std = read_min_std(reader);
}

/// Returns how many nodes the grid is to be a multiple of.
std::int64_t read_network(ConfigReader& reader, ConvCnpConfig& c) {
  switch (c.architecture) {
    case Architecture::simple:
      c.in_channels = reader.size("in_channels", "channels of the first convolution");
      if (reader.has("out_channels")) c.out_channels = reader.size("out_channels", "channels of the last convolution");
      return 1;
    case Architecture::unet:
      c.in_channels = reader.size("in_channels", "channels of the first convolution");
      c.halvings = reader.integer("halvings", "levels of the U-Net, each with half the resolution", 1, kMostHalvings,
                                  kMostHalvings);
      return std::int64_t{1} << c.halvings;
    case Architecture::dl4bi: read_residual(reader, c); return 1;
    case Architecture::on_grid:
      read_residual(reader, c);
      c.density_kernel =
          read_kernel(reader, "density_kernel", "points of the first convolution's kernel; an odd number");
      return 1;
    case Architecture::convgnp_conv:
      c.channels = {reader.size("conv_channels", "channels of convolutions")};
      c.layers = reader.depth("conv_layers", "convolutions");
      c.kernel =
          kernel_of_field(reader.number("conv_receptive_field",
                                        "receptive field of all convolutions, in units of the inputs", kPositive),
                          c.points_per_unit, c.layers);
      return 1;
    case Architecture::fourier: break;  // a model of its own reads its keys
    case Architecture::convgnp_unet:
      c.channels = read_widths(reader, "unet_channels", "channels of each level of the U-Net, such as \"64 64 128\"");
      return std::int64_t{1} << c.channels.size();
  }
  fail("[convcnp] unknown architecture");
}

}  // namespace

double read_points_per_unit(ConfigReader& reader) {
  constexpr NumberRule kDensity{[](double x) { return x >= 1e-6 && x <= kLargestNumber; },
                                "a number from 1e-6 to 1e15"};
  return reader.number("points_per_unit", "points of the grid per unit of the inputs", kDensity);
}

ConvCnpConfig read_convcnp_config(const ModelConfig& config) {
  ConfigReader reader(config, kModel);
  ConvCnpConfig c;
  c.architecture = read_architecture(reader);
  c.dim_x = reader.size("dim_x", kGivenByData);
  c.dim_y = reader.size("dim_y", kGivenByData);
  const bool on_grid = c.architecture == Architecture::on_grid;
  if (!on_grid) c.points_per_unit = read_points_per_unit(reader);
  const std::array<Extent, 2> extents = read_extents(reader, c.dim_x, kModel);
  const std::int64_t multiple = read_network(reader, c);
  const bool convgnp = !c.channels.empty();
  const double margin =
      convgnp ? reader.number("margin", "margin of the grid around the data, in units of the inputs", kNonNegative) : 0;
  const std::array<std::int64_t, 2> sizes = on_grid ? read_grid_sizes(reader, c.dim_x) : std::array<std::int64_t, 2>{};
  c.likelihood = read_likelihood(reader);
  reader.finish();
  const auto axis = [&](std::size_t input) {
    const Extent& extent = extents[input];
    if (on_grid) return pixel_axis(extent, sizes[input]);
    if (c.architecture == Architecture::dl4bi) return dl4bi_axis(extent, c.points_per_unit);
    if (convgnp) return convgnp_axis(extent, c.points_per_unit, multiple, margin);
    return convcnp_axis(extent, c.points_per_unit, multiple);
  };
  // Over one input the grid's axis is the last one.
  c.grid = checked_grid(c.dim_x, axis(0), axis(c.dim_x == 1 ? 0 : 1), kModel);
  return c;
}

}  // namespace npzoo
