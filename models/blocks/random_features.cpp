#include "npzoo/models/blocks/random_features.h"

#include "npzoo/ops/concat/concat.h"

namespace npzoo {

namespace {

constexpr std::uint64_t kBlocksOfADraw = std::uint64_t{1} << 32;  // more than any projection takes

}  // namespace

RandomFeatures::RandomFeatures(const RandomFeatureConfig& config, std::int64_t width, Initializer& init)
    : config_(config), width_(width), start_(init.new_stream(config.count * width)) {
  projection = {init.drawn() ? draw(0).to(DType::float32) : Tensor::empty({config.count, width}), false};
}

void RandomFeatures::begin_step(std::int64_t step) {
  if (config_.redraw_every == 0 || step == 0 || step % config_.redraw_every != 0) return;
  Tensor& now = projection.value;
  Tensor next = draw(step / config_.redraw_every).to(now.dtype()).to(now.device());
  // A captured step reads the projection where it was.
  if (now.device() == Device::cuda)
    copy_slice(next, 0, 0, now);
  else
    now = std::move(next);
}

Tensor RandomFeatures::draw(std::int64_t number) const {
  RandomState state = start_;
  state.offset += static_cast<std::uint64_t>(number) * kBlocksOfADraw;
  Random random(state);
  return orthogonal_random_features(config_.count, width_, config_.norms, random);
}

}  // namespace npzoo
