#include "tests/engine/tensor_core_probe.h"

#include "npzoo/engine/cuda/launch.h"
#include "npzoo/engine/cuda/tensor_core_matrices.h"

namespace npzoo {

namespace {

using namespace tensor_core;

/// (16, 16) to rows of shared memory that are 16 bytes longer.
template <class Format>
__device__ void load_matrix(const float* from, typename Format::Element* to, int pitch) {
  for (int i = lane_id(); i < 64; i += kWarp) {
    const auto four = round_four(Format{}, from + 4 * i);
    std::memcpy(to + i / 4 * pitch + i % 4 * 4, &four, sizeof(four));
  }
}

__device__ void store_product(const float (&c)[2][4], float* to) {
  for (int n = 0; n < 2; ++n)
    for (int e = 0; e < 4; ++e) to[(lane_id() / 4 + e / 2 * 8) * 16 + n * 8 + lane_id() % 4 * 2 + e % 2] = c[n][e];
}

template <class Format>
__global__ void probe_kernel(TensorCoreProbe p) {
  constexpr int kPitch = 16 + 16 / static_cast<int>(sizeof(typename Format::Element));
  auto* a = shared_memory<typename Format::Element>();
  auto *b = a + 16 * kPitch, *c = b + 16 * kPitch;
  load_matrix<Format>(p.a, a, kPitch);
  load_matrix<Format>(p.b, b, kPitch);
  load_matrix<Format>(p.c, c, kPitch);
  __syncwarp();
  Left<Format> left;
  Right<Format> right[2];
  load_left(left, a, kPitch);
  load_transposed_right(right, b, kPitch);
  float product[2][4] = {}, chained[2][4] = {};
  for (int n = 0; n < 2; ++n) multiply_add(product[n], left, right[n]);
  store_product(product, p.product);
  to_left(left, product[0], product[1]);
  load_right(right, c, kPitch);
  for (int n = 0; n < 2; ++n) multiply_add(chained[n], left, right[n]);
  store_product(chained, p.chained);
  load_transposed_right_of_product(right, c, kPitch);
  float turned[2][4] = {};
  for (int n = 0; n < 2; ++n) multiply_add(turned[n], left, right[n]);
  store_product(turned, p.turned);
  load_right(right, c, kPitch);
  float straight[2][4] = {}, crossed[2][4] = {};
  load_left_of_product(left, a, kPitch);
  for (int n = 0; n < 2; ++n) multiply_add(straight[n], left, right[n]);
  store_product(straight, p.straight);
  load_transposed_left(left, a, kPitch);
  for (int n = 0; n < 2; ++n) multiply_add(crossed[n], left, right[n]);
  store_product(crossed, p.crossed);

  __syncwarp();
  for (int n = 0; n < 2; ++n)
    for (int h = 0; h < 2; ++h)
      store_pair(Format{}, a + (lane_id() / 4 + h * 8) * kPitch + n * 8 + lane_id() % 4 * 2, product[n][2 * h],
                 product[n][2 * h + 1]);
  __syncwarp();
  for (int i = lane_id(); i < 256; i += kWarp) p.stored[i] = to_float(a[i / 16 * kPitch + i % 16]);

  for (int i = lane_id(); i < 64; i += kWarp) p.rounded[i] = rounded(Format{}, p.x[i]);
  for (int i = lane_id(); i < 16; i += kWarp) {
    auto four = round_four(Format{}, p.x + 4 * i);
    for (std::uint32_t& word : four.x) word = finite_part(Format{}, word);
    typename Format::Element elements[4];
    std::memcpy(elements, &four, sizeof(four));
    for (int j = 0; j < 4; ++j) p.finite[4 * i + j] = to_float(elements[j]);
  }
}

}  // namespace

void probe_tensor_cores(Cuda& cuda, const TensorCoreProbe& p) {
  constexpr std::size_t kShared = 3 * 16 * 20 * sizeof(float);
  const auto start = [&](void (*kernel)(TensorCoreProbe)) { launch(cuda, "probe", kernel, 1, kWarp, kShared, p); };
  switch (p.format) {
    case TensorCoreProbe::Format::tf32: return start(probe_kernel<Tf32>);
    case TensorCoreProbe::Format::bf16: return start(probe_kernel<Bf16>);
    case TensorCoreProbe::Format::tf32_pairs: return start(probe_kernel<Tf32Pairs>);
  }
}

}  // namespace npzoo
