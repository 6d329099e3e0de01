#include "npzoo/engine/cuda/cufft.h"

#define NPZOO_TEXT_OF(x) #x
#define NPZOO_TEXT(x) NPZOO_TEXT_OF(x)

namespace npzoo {

CuFft::CuFft() : library("libcufft.so." NPZOO_TEXT(CUFFT_VER_MAJOR), NPZOO_CUDA_LIBRARIES) {}

const CuFft& cufft() {
  static const auto* const instance = new CuFft;  // lives as long as the runtime
  return *instance;
}

}  // namespace npzoo
