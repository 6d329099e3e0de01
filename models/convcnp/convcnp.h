#pragma once

#include "npzoo/models/convcnp/grid_coders.h"
#include "npzoo/models/convcnp/grid_networks.h"
#include "npzoo/models/convcnp/grids.h"
#include "npzoo/models/model.h"

namespace npzoo {

/// The state of a context: its sums on a grid.
struct GriddedContext final : ContextState {
  explicit GriddedContext(const RegularGrid& over) : grid(over) {}

  RegularGrid grid;
  Tensor sums;      // density and values (B, G, 1 + Dy)
  Tensor encoding;  // what the network reads, before its activation (B, G, C)
  Tensor features;  // what it makes of that (B, G, C′)
};

enum class ConvCnpArchitecture : std::uint8_t {
  simple,        // github.com/cambridge-mlg/convcnp, SimpleConv
  unet,          // the same, UNet
  dl4bi,         // github.com/MLGlobalHealth/dl4bi
  convgnp_conv,  // construct_convgnp(likelihood="het") of github.com/wesselb/neuralprocesses, plain
  convgnp_unet,  // the same, U-Net
  on_grid,       // for images: GridConvCNP of github.com/YannDubs/Neural-Process-Family, batch normalisation left out
  fourier        // SConvCNP, a model of its own: github.com/peiman-m/SpecConvCNP
};

struct ConvCnpConfig {
  const char* name = "convcnp";  // with which messages begin
  ConvCnpArchitecture architecture = ConvCnpArchitecture::simple;
  std::int64_t dim_x = 1, dim_y = 1;
  RegularGrid grid = RegularGrid::over(GridAxis{});
  double points_per_unit = 64;
  std::int64_t in_channels = 8, out_channels = 8;  // of simple; the first also of unet and fourier
  std::int64_t halvings = 6;                       // of unet
  std::int64_t width = 128, kernel = 19, blocks = 5, head_hidden = 128;  // of dl4bi and on-grid; the first of fourier
  double min_std = 0;
  Likelihood likelihood{};
  std::vector<std::int64_t> channels{};  // of convgnp-unet; of convgnp-conv one
  std::int64_t layers = 6;               // of convgnp-conv, which has a kernel as well
  std::int64_t density_kernel = 11;      // of on-grid
  std::int64_t modes = 32;               // of fourier
};

/// Convolutional conditional neural process (Gordon et al., "Convolutional conditional neural processes", ICLR 2020),
/// over one input or two. A set convolution brings the context and its density onto a grid, a convolutional network
/// follows, and another set convolution reads the targets. Predictions move with the points and the grid.
///
/// The grid is a parameter of the model (see grids.h). The state keeps the sums on the grid, so `update` takes the time
/// of the new points and of one pass of the network.
///
/// on_grid accepts only points at nodes of its grid. It throws Error for other points, except in a captured training
/// step, which ignores their values.
class ConvCnp final : public Model {
 public:
  ConvCnp(const ConvCnpConfig& config, Initializer& init);

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws, std::int64_t samples) const override;
  std::unique_ptr<Prediction> do_query(const ContextState& state, const Tensor& xt) const override;
  std::unique_ptr<ContextState> do_update(const ContextState& state, const Context& more) const override;
  bool streams() const override { return true; }
  Tensor loss(const Task& task, Draws& draws) const override;
  void visit(ModuleVisitor& visitor) override;

  std::optional<double> std_floor() const override {
    return config_.likelihood.gaussian() ? decoder_->std_floor() : std::nullopt;
  }
  Likelihood likelihood() const override { return config_.likelihood; }
  std::optional<RegularGrid> places() const override;
  std::int64_t dim_x() const override { return config_.dim_x; }
  std::int64_t dim_y() const override { return config_.dim_y; }

 private:
  /// The state of a context with these sums.
  std::unique_ptr<ContextState> from_sums(Tensor sums) const;
  Tensor sums_of(const Context& context) const;
  std::unique_ptr<Prediction> predict(const GriddedContext& state, const Tensor& xt) const;
  void check_places(const Tensor& x, const Tensor& lengths) const;

  ConvCnpConfig config_;
  std::unique_ptr<GridEncoder> encoder_;
  std::unique_ptr<GridNetwork> network_;
  std::unique_ptr<GridDecoder> decoder_;
};

}  // namespace npzoo
