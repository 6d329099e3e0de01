#include "npzoo/engine/backend.h"
#include "npzoo/engine/cuda/emulated_runtime.h"
#include "npzoo/engine/gemm.h"

namespace npzoo {

template <class T, Gpu gpu>
void batched_gemm(CudaContext<gpu>& /*cuda*/, const BatchedGemm<T>& p) {
  emulator::submit([p] {
    with_cpu([&p](auto& cpu) {
      for (std::int64_t i = 0; i < p.batch; ++i) {
        Gemm<T> product = p.one;
        product.a += i * p.a_step;
        product.b += i * p.b_step;
        product.c += i * p.c_step;
        gemm(cpu, product);
      }
    });
  });
}

using KernelContext = CudaContext<Gpu::emulated>;
NPZOO_INSTANTIATE(batched_gemm, BatchedGemm);

}  // namespace npzoo
