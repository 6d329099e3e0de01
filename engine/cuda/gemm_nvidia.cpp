#include <map>
#include <memory>
#include <tuple>
#include <type_traits>

#include "engine/cuda/cublas.h"
#include "engine/cuda/epilogue.h"
#include "engine/error.h"
#include "engine/gemm.h"
#include "engine/memory.h"
#include "engine/precision.h"

namespace npzoo {

namespace {

void check_blas(cublasStatus_t status, const char* what) {
  check(status == CUBLAS_STATUS_SUCCESS, "[cublas] {}: {}", what, cublas().cublasLtGetStatusString(status));
}

/// A matrix as cuBLAS sees it, column by column.
struct Layout {
  std::int64_t rows, columns, stride, step;
  bool transposed;

  auto key() const { return std::tuple(rows, columns, stride, step, transposed); }
};

/// One of A and B, rows × columns as multiplied. Row-major is cuBLAS's transpose, so C = A B is asked for as
/// Cᵀ = Bᵀ Aᵀ, and a matrix whose columns are next to each other is already what is wanted.
Layout operand(std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column, std::int64_t step) {
  if (column == 1) return {columns, rows, std::max(row, std::max<std::int64_t>(columns, 1)), step, false};
  return {rows, columns, std::max(column, std::max<std::int64_t>(rows, 1)), step, true};
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

/// The library's handle and its working memory.
struct Library {
  Library() : workspace(kWorkspaceBytes, Device::cuda) { check_blas(cublas().cublasLtCreate(&handle), "starting"); }

  cublasLtHandle_t handle = nullptr;
  Buffer workspace;
};

Library& library() {
  static auto* const instance = new Library;  // lives as long as the runtime
  return *instance;
}

/// How to compute products of one kind: what describes them to the library, and the algorithm that it proposed.
class Plan {
 public:
  Plan(cudaDataType_t type, cublasComputeType_t compute, const Layout& a, const Layout& b, const Layout& c,
       std::int64_t batch, cublasLtEpilogue_t epilogue) {
    check_blas(cublas().cublasLtMatmulDescCreate(&product_, compute, type), "describing a product");
    const cublasOperation_t of_a = a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t of_b = b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    set(CUBLASLT_MATMUL_DESC_TRANSA, of_b);
    set(CUBLASLT_MATMUL_DESC_TRANSB, of_a);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    a_ = describe(type, a, batch);
    b_ = describe(type, b, batch);
    c_ = describe(type, c, batch);
    choose_algorithm();
  }

  template <class T>
  void run(const Gemm<T>& p, cudaStream_t stream) {
    if (p.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    const T beta = p.accumulate ? T(1) : T(0);
    check_blas(cublas().cublasLtMatmul(library().handle, product_, &p.alpha, p.b, b_, p.a, a_, &beta, p.c, c_, p.c, c_,
                                       &algorithm_, library().workspace.data(), kWorkspaceBytes, stream),
               "multiplying");
  }

 private:
  template <class V>
  void set(cublasLtMatmulDescAttributes_t attribute, const V& value) {
    check_blas(cublas().cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof(value)),
               "describing a product");
  }

  static cublasLtMatrixLayout_t describe(cudaDataType_t type, const Layout& m, std::int64_t batch) {
    cublasLtMatrixLayout_t layout = nullptr;
    check_blas(cublas().cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(m.rows),
                                                   static_cast<std::uint64_t>(m.columns), m.stride),
               "describing a matrix");
    if (batch > 1) {
      const auto count = static_cast<std::int32_t>(batch);
      check_blas(
          cublas().cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
          "describing a batch");
      check_blas(cublas().cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &m.step,
                                                           sizeof(m.step)),
                 "describing a batch");
    }
    return layout;
  }

  void choose_algorithm() {
    cublasLtMatmulPreference_t wishes = nullptr;
    check_blas(cublas().cublasLtMatmulPreferenceCreate(&wishes), "choosing an algorithm");
    const std::size_t workspace = kWorkspaceBytes;
    const std::uint32_t alignment = 64;
    const auto wish = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      check_blas(cublas().cublasLtMatmulPreferenceSetAttribute(wishes, attribute, &value, sizeof(value)),
                 "choosing an algorithm");
    };
    wish(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      wish(attribute, alignment);
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    check_blas(
        cublas().cublasLtMatmulAlgoGetHeuristic(library().handle, product_, b_, a_, c_, c_, wishes, 1, &found, &count),
        "choosing an algorithm");
    check(count > 0, "[cublas] there is no algorithm for a product");
    algorithm_ = found.algo;
    cublas().cublasLtMatmulPreferenceDestroy(wishes);
  }

  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

template <class T>
Plan& plan_for(const BatchedGemm<T>& p, cublasLtEpilogue_t epilogue) {
  const Gemm<T>& one = p.one;
  const Layout a = operand(one.m, one.k, one.a_row, one.a_col, p.a_step);
  const Layout b = operand(one.k, one.n, one.b_row, one.b_col, p.b_step);
  const Layout c{one.n, one.m, one.c_row, p.c_step, false};
  const auto compute = compute_type<T>();
  using Key = decltype(std::tuple(a.key(), b.key(), c.key(), p.batch, epilogue, compute));
  static auto* const plans = new std::map<Key, Plan>;  // as many as there are shapes in use
  const Key key(a.key(), b.key(), c.key(), p.batch, epilogue, compute);
  const auto found = plans->find(key);
  if (found != plans->end()) return found->second;
  return plans->try_emplace(key, kType<T>, compute, a, b, c, p.batch, epilogue).first->second;
}

template <class T>
cublasLtEpilogue_t library_epilogue(const Gemm<T>& p) {
  const bool relu = p.activation == Activation::relu;
  if (p.bias) return relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  return relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

}  // namespace

template <class T, Gpu gpu>
void batched_gemm(CudaContext<gpu>& cuda, const BatchedGemm<T>& p) {
  const Gemm<T>& one = p.one;
  if (p.batch == 0 || one.m == 0 || one.n == 0) return;
  // The library adds a bias in float32 alone, and before what is in C; an empty sum is not its business.
  const bool by_library = std::is_same_v<T, float> && one.k > 0 && !one.accumulate;
  if (one.k > 0) {
    BatchedGemm<T> product = p;
    if (!by_library) product.one.bias = nullptr;
    plan_for(product, by_library ? library_epilogue(one) : CUBLASLT_EPILOGUE_DEFAULT).run(product.one, cuda.stream);
    if (cuda.blocking && !gpu_runtime().capturing()) gpu_runtime().synchronise();
  }
  const bool more = one.bias || one.activation != Activation::none || (one.k == 0 && !one.accumulate);
  if (!by_library && more)
    apply_epilogue(cuda, Epilogue<T>{p.batch, one.m, one.n, p.c_step, one.c_row, one.bias, one.activation,
                                     one.k == 0 && !one.accumulate, one.c});
}

using KernelContext = CudaContext<Gpu::nvidia>;
NPZOO_INSTANTIATE(batched_gemm, BatchedGemm);

}  // namespace npzoo
