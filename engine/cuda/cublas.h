#pragma once

#include <cublasLt.h>

#include "engine/cuda/shared_library.h"

namespace npzoo {

/// What npzoo uses of cuBLASLt. The library takes 200 MB of memory and .4 s to load: only who uses a GPU is to pay.
struct CublasLt {
  /// Throws Error where the library that belongs to the toolkit of this build is not found.
  CublasLt();

  SharedLibrary library;

#define NPZOO_FUNCTION(name) decltype(&::name) name = library.function<decltype(&::name)>(#name)
  NPZOO_FUNCTION(cublasLtCreate);
  NPZOO_FUNCTION(cublasLtGetStatusString);
  NPZOO_FUNCTION(cublasLtMatmul);
  NPZOO_FUNCTION(cublasLtMatmulAlgoGetHeuristic);
  NPZOO_FUNCTION(cublasLtMatmulDescCreate);
  NPZOO_FUNCTION(cublasLtMatmulDescSetAttribute);
  NPZOO_FUNCTION(cublasLtMatmulPreferenceCreate);
  NPZOO_FUNCTION(cublasLtMatmulPreferenceDestroy);
  NPZOO_FUNCTION(cublasLtMatmulPreferenceSetAttribute);
  NPZOO_FUNCTION(cublasLtMatrixLayoutCreate);
  NPZOO_FUNCTION(cublasLtMatrixLayoutSetAttribute);
#undef NPZOO_FUNCTION
};

/// The one of this process, loaded by the first call.
const CublasLt& cublas();

}  // namespace npzoo
