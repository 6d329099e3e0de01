#include <memory>
#include <tuple>
#include <type_traits>

#include "npzoo/engine/cuda/cublas.h"
#include "npzoo/engine/cuda/epilogue.h"
#include "npzoo/engine/cuda/gemm_plan.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/memory.h"
#include "npzoo/engine/precision.h"
#include "npzoo/engine/recent.h"

namespace npzoo {

using Cuda = CudaContext<Gpu::nvidia>;
using KernelContext = Cuda;

namespace {

void check_blas(cublasStatus_t status, const char* what) {
  check(status == CUBLAS_STATUS_SUCCESS, "[cublas] {}: {}", what, cublas_lt().cublasLtGetStatusString(status));
}

template <class T>
constexpr cudaDataType_t kType = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;

template <class T>
cublasComputeType_t compute_type() {
  if (std::is_same_v<T, double>) return CUBLAS_COMPUTE_64F;
  switch (matmul_precision()) {
    case Precision::float32: return CUBLAS_COMPUTE_32F;
    case Precision::tf32: return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Precision::bf16: break;
  }
  return CUBLAS_COMPUTE_32F_FAST_16BF;
}

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;  // what NVIDIA advises for sm_90
// A plan is a kilobyte on the host. A model uses tens of them at each size of its tasks.
constexpr std::size_t kMostPlans = 1024;

/// Working memory of both libraries, whose work is done in the order of one stream.
const Buffer& workspace() {
  static const auto* const memory = new Buffer(kWorkspaceBytes, Device::cuda);  // lives as long as the runtime
  return *memory;
}

cublasLtHandle_t lt_handle() {
  static const cublasLtHandle_t handle = [] {
    cublasLtHandle_t created = nullptr;
    check_blas(cublas_lt().cublasLtCreate(&created), "starting");
    return created;
  }();
  return handle;
}

/// The least alignments, in bytes, of first, second and out.
using Alignments = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

struct Destroy {
  void operator()(cublasHandle_t handle) const { cublas().cublasDestroy_v2(handle); }
  void operator()(cublasLtMatmulDesc_t product) const { cublas_lt().cublasLtMatmulDescDestroy(product); }
  void operator()(cublasLtMatrixLayout_t layout) const { cublas_lt().cublasLtMatrixLayoutDestroy(layout); }
  void operator()(cublasLtMatmulPreference_t wishes) const { cublas_lt().cublasLtMatmulPreferenceDestroy(wishes); }
};
template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy>;

cublasHandle_t blas_handle(cudaStream_t stream) {
  static const cublasHandle_t handle = [stream] {
    cublasHandle_t created = nullptr;
    check_blas(cublas().cublasCreate_v2(&created), "starting");
    Owned<cublasHandle_t> owned(created);
    check_blas(cublas().cublasSetStream_v2(created, stream), "choosing the stream");  // forgets a workspace
    check_blas(cublas().cublasSetWorkspace_v2(created, workspace().data(), kWorkspaceBytes), "setting the workspace");
    return owned.release();  // lives as long as the runtime
  }();
  return handle;
}

/// A product as it is described to cuBLASLt, and the algorithm that the library proposed.
class LtProduct {
 public:
  LtProduct(cudaDataType_t type, cublasComputeType_t compute, const BlasProduct& p, bool with_bias) {
    cublasLtMatmulDesc_t product = nullptr;
    check_blas(cublas_lt().cublasLtMatmulDescCreate(&product, compute, type), "describing a product");
    product_.reset(product);
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.first.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.second.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, with_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT);
    first_ = describe(type, p.first, p.batch);
    second_ = describe(type, p.second, p.batch);
    out_ = describe(type, p.out, p.batch);
  }

  /// Returns whether the library has an algorithm for arrays of these alignments.
  bool find_algorithm(const Alignments& alignments) {
    cublasLtMatmulPreference_t created = nullptr;
    check_blas(cublas_lt().cublasLtMatmulPreferenceCreate(&created), "choosing an algorithm");
    const Owned<cublasLtMatmulPreference_t> wishes(created);
    const auto wish = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      check_blas(cublas_lt().cublasLtMatmulPreferenceSetAttribute(wishes.get(), attribute, &value, sizeof(value)),
                 "choosing an algorithm");
    };
    const auto [first, second, out] = alignments;
    wish(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, first);
    wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, second);
    wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, out);
    wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, out);
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status =
        cublas_lt().cublasLtMatmulAlgoGetHeuristic(lt_handle(), product_.get(), first_.get(), second_.get(), out_.get(),
                                                   out_.get(), wishes.get(), 1, &found, &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return false;
    check_blas(status, "choosing an algorithm");
    algorithm_ = found.algo;
    return count > 0 && found.state == CUBLAS_STATUS_SUCCESS;
  }

  template <class T>
  void run(const Gemm<T>& p, cudaStream_t stream) const {
    if (p.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    const T beta = p.accumulate ? T(1) : T(0);
    check_blas(cublas_lt().cublasLtMatmul(lt_handle(), product_.get(), &p.alpha, p.b, first_.get(), p.a, second_.get(),
                                          &beta, p.c, out_.get(), p.c, out_.get(), &algorithm_, workspace().data(),
                                          kWorkspaceBytes, stream),
               "multiplying");
  }

 private:
  template <class V>
  void set(cublasLtMatmulDescAttributes_t attribute, const V& value) const {
    check_blas(cublas_lt().cublasLtMatmulDescSetAttribute(product_.get(), attribute, &value, sizeof(value)),
               "describing a product");
  }

  static Owned<cublasLtMatrixLayout_t> describe(cudaDataType_t type, const BlasMatrix& m, std::int64_t batch) {
    cublasLtMatrixLayout_t created = nullptr;
    check_blas(cublas_lt().cublasLtMatrixLayoutCreate(&created, type, static_cast<std::uint64_t>(m.rows),
                                                      static_cast<std::uint64_t>(m.columns), m.stride),
               "describing a matrix");
    Owned<cublasLtMatrixLayout_t> layout(created);
    const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
      check_blas(cublas_lt().cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof(value)),
                 "describing a batch");
    };
    if (batch > 1) {
      set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
      set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, m.step);
    }
    return layout;
  }

  Owned<cublasLtMatmulDesc_t> product_;
  Owned<cublasLtMatrixLayout_t> first_, second_, out_;
  cublasLtMatmulAlgo_t algorithm_{};
};

template <class T>
void multiply_strided(const BlasProduct& p, const Gemm<T>& one, cublasComputeType_t compute, cudaStream_t stream) {
  const T beta = one.accumulate ? T(1) : T(0);
  const auto operation = [](const BlasMatrix& m) { return m.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  check_blas(cublas().cublasGemmStridedBatchedEx_64(
                 blas_handle(stream), operation(p.first), operation(p.second), p.m, p.n, p.k, &one.alpha, one.b,
                 kType<T>, p.first.stride, p.first.step, one.a, kType<T>, p.second.stride, p.second.step, &beta, one.c,
                 kType<T>, p.out.stride, p.out.step, p.batch, compute, CUBLAS_GEMM_DEFAULT),
             "multiplying");
}

/// How products of one kind are computed.
struct Plan {
  GemmRoute route = GemmRoute::strided;
  std::unique_ptr<LtProduct> lt;  // null on the route `strided`
};

template <class T>
Plan make_plan(const BlasProduct& product, bool library_bias, cublasComputeType_t compute,
               const Alignments& alignments) {
  Plan plan;
  plan.route = choose_route(library_bias, product.batch, [&](GemmRoute route) {
    plan.lt = std::make_unique<LtProduct>(kType<T>, compute, product, route == GemmRoute::lt_with_bias);
    if (!plan.lt->find_algorithm(alignments)) plan.lt.reset();
    return plan.lt != nullptr;
  });
  return plan;
}

/// Computes the product, with the bias if the route says so. Needs a GpuTurn, as all kernels do, since it changes the
/// plans.
template <class T>
GemmRoute multiply(const BatchedGemm<T>& p, cudaStream_t stream) {
  const Gemm<T>& one = p.one;
  const BlasProduct product = blas_product(p);
  const bool library_bias = wants_library_bias(one);
  const cublasComputeType_t compute = compute_type<T>();
  const Alignments alignments(alignment_of(one.b), alignment_of(one.a), alignment_of(one.c));
  const auto key = std::tuple(product.key(), library_bias, compute, alignments);
  static auto* const plans = new Recent<std::remove_const_t<decltype(key)>, Plan>(kMostPlans);
  const Plan& plan = plans->find_or_make(key, [&] { return make_plan<T>(product, library_bias, compute, alignments); });
  Gemm<T> bare = one;
  if (plan.route != GemmRoute::lt_with_bias) bare.bias = nullptr;
  plan.lt ? plan.lt->run(bare, stream) : multiply_strided(product, bare, compute, stream);
  return plan.route;
}

}  // namespace

template <class T>
void batched_gemm(Cuda& cuda, const BatchedGemm<T>& p) {
  const Gemm<T>& one = p.one;
  if (p.batch == 0 || one.m == 0 || one.n == 0) return;
  GemmRoute route = GemmRoute::strided;
  if (one.k > 0) {
    route = multiply(p, cuda.stream);
    if (cuda.blocking && !gpu_runtime().capturing()) gpu_runtime().synchronise();
  }
  if (needs_epilogue(one, route))
    apply_epilogue(cuda, Epilogue<T>{p.batch, one.m, one.n, p.c_step, one.c_row, one.bias, one.activation,
                                     one.k == 0 && !one.accumulate, one.c});
}

template <class T>
void gemm(Cuda& cuda, const Gemm<T>& p) {
  batched_gemm(cuda, BatchedGemm<T>{1, 0, 0, 0, p});
}

NPZOO_INSTANTIATE(batched_gemm, BatchedGemm);
NPZOO_INSTANTIATE(gemm, Gemm);

}  // namespace npzoo
