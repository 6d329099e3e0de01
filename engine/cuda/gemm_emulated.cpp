#include "npzoo/engine/backend.h"
#include "npzoo/engine/cuda/emulated_runtime.h"
#include "npzoo/engine/gemm.h"

namespace npzoo {

using Cuda = CudaContext<Gpu::emulated>;
using KernelContext = Cuda;

template <class T>
void batched_gemm(Cuda& /*cuda*/, const BatchedGemm<T>& p) {
  emulator::submit([p] {
    with_cpu([&p](const Backend& cpu) {
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

template <class T>
void gemm(Cuda& cuda, const Gemm<T>& p) {
  batched_gemm(cuda, BatchedGemm<T>{1, 0, 0, 0, p});
}

NPZOO_INSTANTIATE(batched_gemm, BatchedGemm);
NPZOO_INSTANTIATE(gemm, Gemm);

}  // namespace npzoo
