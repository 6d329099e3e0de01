#include "models/blocks/random_features.h"

namespace npzoo {

namespace {

constexpr std::uint64_t kBlocksOfADraw = std::uint64_t{1} << 32;  // more than any projection takes

}  // namespace

RandomFeatures::RandomFeatures(const RandomFeatureConfig& config, std::int64_t width, Initializer& init)
    : config_(config), width_(width), start_(init.new_stream(config.count * width)) {
  projection = {draw(0).to(DType::float32), false};
}

void RandomFeatures::begin_step(std::int64_t step) {
  if (config_.redraw_every > 0 && step > 0 && step % config_.redraw_every == 0)
    projection.value = draw(step / config_.redraw_every).to(projection.value.dtype());
}

Tensor RandomFeatures::draw(std::int64_t number) const {
  RandomState state = start_;
  state.offset += static_cast<std::uint64_t>(number) * kBlocksOfADraw;
  Random random(state);
  return orthogonal_random_features(config_.count, width_, config_.norms, random);
}

}  // namespace npzoo
