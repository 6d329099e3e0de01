#pragma once

#include "npzoo/engine/gemm.h"
#include "npzoo/engine/kernel.h"

namespace npzoo {

/// c = activation(c + bias) for the rows of c (rows, width), `row` elements apart; no library does this. In a batch,
/// the c of each product starts `step` elements after the one before.
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
