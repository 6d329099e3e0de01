#pragma once

#include <cufft.h>

#include "npzoo/engine/cuda/shared_library.h"

namespace npzoo {

/// The functions of cuFFT that npzoo uses. Few models need cuFFT, so it is loaded at its first use.
struct CuFft {
  /// Throws Error if the library that belongs to the toolkit of this build is not found.
  CuFft();

  SharedLibrary library;

#define NPZOO_FUNCTION(name) decltype(&::name) name = library.function<decltype(&::name)>(#name)
  NPZOO_FUNCTION(cufftCreate);
  NPZOO_FUNCTION(cufftDestroy);
  NPZOO_FUNCTION(cufftExecC2R);
  NPZOO_FUNCTION(cufftExecD2Z);
  NPZOO_FUNCTION(cufftExecR2C);
  NPZOO_FUNCTION(cufftExecZ2D);
  NPZOO_FUNCTION(cufftMakePlanMany64);
  NPZOO_FUNCTION(cufftSetAutoAllocation);
  NPZOO_FUNCTION(cufftSetStream);
  NPZOO_FUNCTION(cufftSetWorkArea);
#undef NPZOO_FUNCTION
};

/// Returns the one of this process, loaded by the first call.
const CuFft& cufft();

}  // namespace npzoo
