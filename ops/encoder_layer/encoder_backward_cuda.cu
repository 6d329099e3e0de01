#include "npzoo/engine/cuda/kernel_step.h"
#include "npzoo/engine/memory.h"
#include "npzoo/ops/encoder_layer/attention_gradient.h"

namespace npzoo {

namespace {

struct EncoderBackwardArguments {
  EncoderLayerBackward<float> b;
  EncoderParts parts;
  bool vectors;
};

// The steps of the kernel. They leave their results in memory and are not inlined, so that the compiler keeps nothing
// of one step in registers during another: all of them have too few.

template <class Sizes, class F>
__device__ void with_gradient(const EncoderBackwardArguments& a, const F& f) {
  const EncoderBlock<Sizes> block(a.b.forward, a.vectors);
  f(AttentionGradient<Sizes>{{a.b, block, a.parts}});
}
template <class Sizes>
NPZOO_KERNEL_STEP void attend_step(const EncoderBackwardArguments& a) {
  with_gradient<Sizes>(a, [](const auto& gradient) {
    gradient.clear_vectors();
    gradient.attend(gradient.block.project(gradient.notes()));
  });
}
template <class Sizes>
NPZOO_KERNEL_STEP void network_step(const EncoderBackwardArguments& a) {
  with_gradient<Sizes>(a, [](const auto& gradient) { gradient.network(); });
}
template <class Sizes>
NPZOO_KERNEL_STEP void attention_step(const EncoderBackwardArguments& a) {
  with_gradient<Sizes>(a, [](const auto& gradient) { gradient.attention(noted(gradient.notes())); });
}
template <class Sizes>
NPZOO_KERNEL_STEP void projections_step(const EncoderBackwardArguments& a) {
  with_gradient<Sizes>(a, [](const auto& gradient) { gradient.projections(); });
}

template <class Sizes>
__global__ void __launch_bounds__(kEncoderWarps* kWarp, 1)
    encoder_backward_kernel(NPZOO_KERNEL_ARGUMENT EncoderBackwardArguments a) {
  attend_step<Sizes>(a);
  network_step<Sizes>(a);
  attention_step<Sizes>(a);
  projections_step<Sizes>(a);
}

/// Returns Σ of `count` numbers that are `stride` apart, in their order.
__device__ inline double sum_of_parts(const float* from, std::int64_t count, std::int64_t stride) {
  double sum = 0;
#pragma unroll 8
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(from[i * stride]);
  return sum;
}

/// Sums the parts of blocks and warps, which are of gradients of parameters, and adds the gradients of points as keys.
void sum_encoder_parts(Cuda& cuda, const EncoderLayerBackward<float>& b, const EncoderParts& parts) {
  const AttentionForward<float>& attention = b.forward.layer.attention;
  const EncoderGradients places{kEncoderWidth, b.forward.layer.hidden};
  const std::int64_t parameters = places.matrices() + places.vectors(), blocks = encoder_blocks(b.forward);
  const std::int64_t points = attention.batch * attention.keys * kEncoderWidth;
  for_each(cuda, "encoder_sum_parts", parameters + points,
           [b, parts, places, parameters, blocks] __device__(std::int64_t i) {
             const AttentionForward<float>& attention = b.forward.layer.attention;
             if (i >= parameters) {
               const std::int64_t size = attention.keys * kEncoderWidth, batch = (i - parameters) / size;
               const std::int64_t slices = blocks / attention.batch, at = (i - parameters) % size;
               float& to = b.d_x[batch * attention.queries * kEncoderWidth + at];
               to = static_cast<float>(to + sum_of_parts(parts.d_keys + batch * slices * size + at, slices, size));
               return;
             }
             const bool of_vector = i >= places.matrices();
             const std::int64_t at = of_vector ? i - places.matrices() : i;
             int number = of_vector ? kEncoderMatrices : 0;
             const int last = of_vector ? kEncoderParameters : kEncoderMatrices;
             while (number + 1 < last && places.before(number + 1) <= at) ++number;
             float* to = b.d_parameters[number];
             if (!to) return;
             const double sum = of_vector ? sum_of_parts(parts.vectors + at, blocks * kEncoderWarps, places.vectors())
                                          : sum_of_parts(parts.matrices + at, blocks, places.matrices());
             to += at - places.before(number);
             *to = static_cast<float>(b.accumulate[number] ? *to + sum : sum);
           });
}

}  // namespace

template <>
void encoder_layer_room(Cuda& cuda, const EncoderLayerRoom<float>& p) {
  with_encoder_sizes(p.head_width, [&]<class Sizes>() {
    *p.enough = BackwardPlaces<Sizes>::bytes(p.keys) <= static_cast<std::size_t>(cuda.shared_bytes);
  });
}

template <>
void encoder_layer_backward(Cuda& cuda, const EncoderLayerBackward<float>& b) {
  const std::int64_t blocks = encoder_blocks(b.forward), keys = b.forward.layer.attention.keys;
  const EncoderGradients places{kEncoderWidth, b.forward.layer.hidden};
  const std::int64_t matrices = blocks * places.matrices(), of_vectors = blocks * kEncoderWarps * places.vectors();
  const Buffer memory(static_cast<std::size_t>(matrices + of_vectors + blocks * keys * kEncoderWidth) * sizeof(float),
                      Device::cuda);
  auto* room = reinterpret_cast<float*>(memory.data());
  const EncoderParts parts{room, room + matrices, room + matrices + of_vectors};
  const bool vectors = encoder_vectors(b.forward) && aligned_to_16(b.d_result) && aligned_to_16(b.d_x);
  with_encoder_sizes(b.forward.layer.attention.width, [&]<class Sizes>() {
    launch(cuda, "encoder_layer_backward", encoder_backward_kernel<Sizes>, blocks, kEncoderWarps * kWarp,
           BackwardPlaces<Sizes>::bytes(keys), EncoderBackwardArguments{b, parts, vectors});
  });
  sum_encoder_parts(cuda, b, parts);
}

}  // namespace npzoo
