#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "npzoo/engine/cuda/cublas.h"

// cuBLAS and cuBLASLt as far as npzoo uses them, computed on the host by naive loops. A test decides for what there is
// an algorithm. Included by one source.

namespace npzoo {

namespace {

namespace fake {

struct Product {
  cublasComputeType_t compute;
  cublasOperation_t first = CUBLAS_OP_N, second = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
};

struct Layout {
  cudaDataType_t type;
  std::int64_t rows, columns, stride, step = 0;
  std::int32_t batch = 1;
};

using Wishes = std::map<int, std::uint64_t>;

/// Records calls of the library and holds the answers that a test sets.
struct Library {
  std::function<bool(const Product&)> has_algorithm = [](const Product&) { return true; };
  cublasStatus_t without_algorithm = CUBLAS_STATUS_NOT_SUPPORTED;
  int searches = 0, lt_products = 0, strided_products = 0;
  Wishes wishes;                // of the last search
  cublasComputeType_t compute;  // of the last product
  std::set<const void*> alive;  // descriptions
  std::string calls;            // of cuBLAS
} library;

template <class Handle, class T>
cublasStatus_t create(Handle* handle, T* made) {
  library.alive.insert(made);
  *handle = reinterpret_cast<Handle>(made);
  return CUBLAS_STATUS_SUCCESS;
}
template <class T, class Handle>
cublasStatus_t destroy(Handle handle) {
  CHECK(library.alive.erase(handle) == 1);
  delete reinterpret_cast<T*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
template <class T>
const T& as(const void* handle) {
  return *static_cast<const T*>(handle);
}
template <class T>
cublasStatus_t read(T& to, const void* from, std::size_t bytes) {
  CHECK(bytes == sizeof(T));
  to = *static_cast<const T*>(from);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t set(cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t attribute, const void* from,
                   std::size_t bytes) {
  Product& p = *reinterpret_cast<Product*>(handle);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return read(p.first, from, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return read(p.second, from, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return read(p.epilogue, from, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return read(p.bias, from, bytes);
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}
cublasStatus_t set(cublasLtMatrixLayout_t handle, cublasLtMatrixLayoutAttribute_t attribute, const void* from,
                   std::size_t bytes) {
  Layout& layout = *reinterpret_cast<Layout*>(handle);
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return read(layout.batch, from, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return read(layout.step, from, bytes);
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}
cublasStatus_t set(cublasLtMatmulPreference_t handle, cublasLtMatmulPreferenceAttributes_t attribute, const void* from,
                   std::size_t bytes) {
  auto& value = (*reinterpret_cast<Wishes*>(handle))[attribute];
  if (bytes == sizeof(std::uint64_t)) return read(value, from, bytes);
  std::uint32_t narrow = 0;
  read(narrow, from, bytes);
  value = narrow;
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
void multiply(const Product& p, const T* alpha, const T* first, const Layout& a, const T* second, const Layout& b,
              const T* beta, T* out, const Layout& c) {
  const auto element = [](const Layout& m, const T* at, std::int64_t batch, bool transposed, std::int64_t i,
                          std::int64_t j) {
    if (transposed) std::swap(i, j);
    REQUIRE((i < m.rows && j < m.columns));
    return static_cast<double>(at[batch * m.step + j * m.stride + i]);
  };
  const bool a_transposed = p.first == CUBLAS_OP_T, b_transposed = p.second == CUBLAS_OP_T;
  const std::int64_t depth = a_transposed ? a.rows : a.columns;
  REQUIRE(depth == (b_transposed ? b.columns : b.rows));
  for (std::int64_t batch = 0; batch < c.batch; ++batch)
    for (std::int64_t j = 0; j < c.columns; ++j)
      for (std::int64_t i = 0; i < c.rows; ++i) {
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k)
          sum += element(a, first, batch, a_transposed, i, k) * element(b, second, batch, b_transposed, k, j);
        T& to = out[batch * c.step + j * c.stride + i];
        double value = *alpha * sum + (*beta != 0 ? *beta * to : 0);
        if (p.epilogue & CUBLASLT_EPILOGUE_BIAS & ~1) value += static_cast<const T*>(p.bias)[i];
        if (p.epilogue & CUBLASLT_EPILOGUE_RELU & ~1) value = value > 0 ? value : 0;  // as max does: drops NaN
        to = static_cast<T>(value);
      }
}

void multiply(const Product& p, const void* alpha, const void* first, const Layout& a, const void* second,
              const Layout& b, const void* beta, void* out, const Layout& c) {
  library.compute = p.compute;
  const auto typed = [&]<class T>(T) {
    multiply(p, static_cast<const T*>(alpha), static_cast<const T*>(first), a, static_cast<const T*>(second), b,
             static_cast<const T*>(beta), static_cast<T*>(out), c);
  };
  c.type == CUDA_R_32F ? typed(float()) : typed(double());
}

}  // namespace fake

/// Has the members of CublasLt that gemm_nvidia.cpp calls.
struct FakeCublasLt {
  cublasStatus_t cublasLtCreate(cublasLtHandle_t*) const { return CUBLAS_STATUS_SUCCESS; }
  const char* cublasLtGetStatusString(cublasStatus_t status) const {
    return status == CUBLAS_STATUS_INTERNAL_ERROR ? "internal error" : "another error";
  }
  cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* to, cublasComputeType_t compute, cudaDataType_t) const {
    return fake::create(to, new fake::Product{compute});
  }
  cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t p) const { return fake::destroy<fake::Product>(p); }
  cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* to, cudaDataType_t type, std::uint64_t rows,
                                            std::uint64_t columns, std::int64_t stride) const {
    CHECK(stride >= static_cast<std::int64_t>(rows));
    return fake::create(
        to, new fake::Layout{type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), stride});
  }
  cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t p) const { return fake::destroy<fake::Layout>(p); }
  cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* to) const {
    return fake::create(to, new fake::Wishes);
  }
  cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) const {
    return fake::destroy<fake::Wishes>(p);
  }
  template <class... A>
  cublasStatus_t cublasLtMatmulDescSetAttribute(A... a) const {
    return fake::set(a...);
  }
  template <class... A>
  cublasStatus_t cublasLtMatrixLayoutSetAttribute(A... a) const {
    return fake::set(a...);
  }
  template <class... A>
  cublasStatus_t cublasLtMatmulPreferenceSetAttribute(A... a) const {
    return fake::set(a...);
  }

  cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t,
                                                cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                cublasLtMatmulPreference_t wishes, int,
                                                cublasLtMatmulHeuristicResult_t* found, int* count) const {
    ++fake::library.searches;
    fake::library.wishes = fake::as<fake::Wishes>(wishes);
    const bool has = fake::library.has_algorithm(fake::as<fake::Product>(product));
    *count = has ? 1 : 0;
    found->state = CUBLAS_STATUS_SUCCESS;
    return has ? CUBLAS_STATUS_SUCCESS : fake::library.without_algorithm;
  }
  cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void* alpha, const void* first,
                                cublasLtMatrixLayout_t a, const void* second, cublasLtMatrixLayout_t b,
                                const void* beta, const void* c, cublasLtMatrixLayout_t, void* out,
                                cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t*, void*, std::size_t,
                                cudaStream_t) const {
    CHECK(c == out);
    ++fake::library.lt_products;
    fake::multiply(fake::as<fake::Product>(product), alpha, first, fake::as<fake::Layout>(a), second,
                   fake::as<fake::Layout>(b), beta, out, fake::as<fake::Layout>(d));
    return CUBLAS_STATUS_SUCCESS;
  }
};

struct FakeCublas {
  cublasStatus_t cublasCreate_v2(cublasHandle_t*) const { return note("create "); }
  cublasStatus_t cublasDestroy_v2(cublasHandle_t) const { return note("destroy "); }
  cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t) const { return note("stream "); }
  cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, std::size_t) const { return note("workspace "); }
  cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t, cublasOperation_t of_a, cublasOperation_t of_b,
                                               std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha,
                                               const void* a, cudaDataType_t type, std::int64_t lda, long long step_a,
                                               const void* b, cudaDataType_t, std::int64_t ldb, long long step_b,
                                               const void* beta, void* c, cudaDataType_t, std::int64_t ldc,
                                               long long step_c, std::int64_t batch, cublasComputeType_t compute,
                                               cublasGemmAlgo_t) const {
    ++fake::library.strided_products;
    const bool a_transposed = of_a == CUBLAS_OP_T, b_transposed = of_b == CUBLAS_OP_T;
    const fake::Layout of_first{type, a_transposed ? k : m, a_transposed ? m : k, lda, step_a};
    const fake::Layout of_second{type, b_transposed ? n : k, b_transposed ? k : n, ldb, step_b};
    fake::multiply({compute, of_a, of_b}, alpha, a, of_first, b, of_second, beta, c,
                   {type, m, n, ldc, step_c, static_cast<std::int32_t>(batch)});
    return CUBLAS_STATUS_SUCCESS;
  }

 private:
  static cublasStatus_t note(const char* call) {
    fake::library.calls += call;
    return CUBLAS_STATUS_SUCCESS;
  }
};

const FakeCublasLt& fake_cublas_lt() {
  static const FakeCublasLt instance;
  return instance;
}
const FakeCublas& fake_cublas() {
  static const FakeCublas instance;
  return instance;
}

}  // namespace

}  // namespace npzoo
