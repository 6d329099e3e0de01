#include "npzoo/engine/cuda/cublas.h"

#define NPZOO_TEXT_OF(x) #x
#define NPZOO_TEXT(x) NPZOO_TEXT_OF(x)

namespace npzoo {

CublasLt::CublasLt() : library("libcublasLt.so." NPZOO_TEXT(CUBLAS_VER_MAJOR), NPZOO_CUDA_LIBRARIES) {}

Cublas::Cublas() : library("libcublas.so." NPZOO_TEXT(CUBLAS_VER_MAJOR), NPZOO_CUDA_LIBRARIES) {}

// Both live as long as the runtime.

const CublasLt& cublas_lt() {
  static const auto* const instance = new CublasLt;
  return *instance;
}

const Cublas& cublas() {
  static const auto* const instance = new Cublas;
  return *instance;
}

}  // namespace npzoo
