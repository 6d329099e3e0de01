#include "engine/cuda/cublas.h"

#define NPZOO_TEXT_OF(x) #x
#define NPZOO_TEXT(x) NPZOO_TEXT_OF(x)

namespace npzoo {

CublasLt::CublasLt() : library("libcublasLt.so." NPZOO_TEXT(CUBLAS_VER_MAJOR), NPZOO_CUDA_LIBRARIES) {}

const CublasLt& cublas() {
  static const auto* const instance = new CublasLt;  // lives as long as the runtime
  return *instance;
}

}  // namespace npzoo
