#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>

#include "npzoo/engine/cuda/shared_library.h"

namespace npzoo {

/// The functions of cuBLASLt that npzoo uses. The library takes 200 MB of memory and 0.4 s to load, so it is loaded
/// where a GPU is used.
struct CublasLt {
  /// Throws Error if the library that belongs to the toolkit of this build is not found.
  CublasLt();

  SharedLibrary library;

#define NPZOO_FUNCTION(name) decltype(&::name) name = library.function<decltype(&::name)>(#name)
  NPZOO_FUNCTION(cublasLtCreate);
  NPZOO_FUNCTION(cublasLtGetStatusString);
  NPZOO_FUNCTION(cublasLtMatmul);
  NPZOO_FUNCTION(cublasLtMatmulAlgoGetHeuristic);
  NPZOO_FUNCTION(cublasLtMatmulDescCreate);
  NPZOO_FUNCTION(cublasLtMatmulDescDestroy);
  NPZOO_FUNCTION(cublasLtMatmulDescSetAttribute);
  NPZOO_FUNCTION(cublasLtMatmulPreferenceCreate);
  NPZOO_FUNCTION(cublasLtMatmulPreferenceDestroy);
  NPZOO_FUNCTION(cublasLtMatmulPreferenceSetAttribute);
  NPZOO_FUNCTION(cublasLtMatrixLayoutCreate);
  NPZOO_FUNCTION(cublasLtMatrixLayoutDestroy);
  NPZOO_FUNCTION(cublasLtMatrixLayoutSetAttribute);
};

/// The functions of cuBLAS that npzoo uses, for products that cuBLASLt has no algorithm for. Loaded when the first such
/// product comes.
struct Cublas {
  Cublas();

  SharedLibrary library;

  NPZOO_FUNCTION(cublasCreate_v2);
  NPZOO_FUNCTION(cublasDestroy_v2);
  NPZOO_FUNCTION(cublasGemmStridedBatchedEx_64);
  NPZOO_FUNCTION(cublasSetStream_v2);
  NPZOO_FUNCTION(cublasSetWorkspace_v2);
#undef NPZOO_FUNCTION
};

/// Return the one of this process, loaded by the first call.
const CublasLt& cublas_lt();
const Cublas& cublas();

}  // namespace npzoo
