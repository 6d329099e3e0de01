#include "npzoo/engine/cpu/simd.h"
#include "npzoo/engine/gemm.h"

namespace npzoo {

template <class T>
void batched_gemm(Cpu& cpu, const BatchedGemm<T>& p) {
  if (p.batch == 1) return gemm(cpu, p.one);
  cpu.parallel_for(p.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Gemm<T> product = p.one;
      product.a += i * p.a_step;
      product.b += i * p.b_step;
      product.c += i * p.c_step;
      gemm_serial(cpu, product);
    }
  });
}

NPZOO_INSTANTIATE(batched_gemm, BatchedGemm);

}  // namespace npzoo
