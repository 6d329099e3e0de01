#pragma once

#include "npzoo/engine/gemm.h"
#include "npzoo/engine/kernel.h"

namespace npzoo {

/// Adds bias and activation after a product whose library call could not: c = activation(c + bias) for the rows of c
/// (rows, width), which are `row` elements apart. In a batch, the c of each product starts `step` elements after the
/// previous one.
template <class T>
struct Epilogue {
  std::int64_t batch, rows, width, step, row;
  const T* bias;  // (width), or null
  Activation activation;
  bool zero;  // starts from 0 instead of c
  T* c;
};

NPZOO_CUDA_KERNEL(apply_epilogue, Epilogue);

}  // namespace npzoo
