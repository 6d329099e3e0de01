#include "npzoo/ops/encoder_layer/encoder_block.h"

namespace npzoo {

namespace {

template <class Sizes>
__global__ void __launch_bounds__(kEncoderWarps* kWarp, 1)
    encoder_forward_kernel(EncoderLayerForward<float> p, bool vectors) {
  using Block = EncoderBlock<Sizes>;
  using Format = typename Sizes::Format;
  const Block block(p, vectors);
  const TransformerLayerForward<float>& layer = p.layer;
  const bool odd = block.project(reinterpret_cast<int*>(block.room() + 2 * Sizes::kMatrix));

  typename Block::Rows rows;
  typename Block::Factors factors;
  block.load_factors(block.warp_first(), block.rows(), factors);
  rows.load(layer.x + block.start(), block.warp_first(), block.rows(), vectors);
  rows.add(layer.out.bias);
  block.attend(
      factors, odd, rows, [](int, const auto&) {}, [](int, int, const float*, const float*) {});
  if (layer.pre_norm) {
    factors.set_normal(rows, layer.norm2, layer.eps);
  } else {
    rows.normalise(layer.norm1, layer.eps);
    factors.set(rows);
  }
  rows.add(layer.contract.bias);
  feed_forward<Sizes, Format>(layer, vectors, factors, rows, block.room());
  if (!layer.pre_norm) rows.normalise(layer.norm2, layer.eps);
  rows.store(layer.result + block.start(), block.warp_first(), block.rows(), vectors);
}

}  // namespace

template <>
void encoder_layer_forward(Cuda& cuda, const EncoderLayerForward<float>& p) {
  with_encoder_sizes(p.layer.attention.width, [&]<class Sizes>() {
    launch(cuda, "encoder_layer", encoder_forward_kernel<Sizes>, encoder_blocks(p), kEncoderWarps * kWarp,
           Sizes::forward_bytes(p.layer.attention.keys), p, encoder_vectors(p));
  });
}

}  // namespace npzoo
