#include "npzoo/engine/cuda/epilogue.h"

#include "npzoo/engine/cuda/launch.h"

namespace npzoo {

template <class T>
void apply_epilogue(Cuda& cuda, const Epilogue<T>& p) {
  for_each(cuda, "epilogue", p.batch * p.rows * p.width, [p] __device__(std::int64_t i) {
    const std::int64_t column = i % p.width, row = i / p.width;
    T& c = p.c[row / p.rows * p.step + row % p.rows * p.row + column];
    T value = p.zero ? T(0) : c;
    if (p.bias) value += p.bias[column];
    c = p.activation == Activation::relu && value < 0 ? T(0) : value;
  });
}

NPZOO_INSTANTIATE(apply_epilogue, Epilogue);

}  // namespace npzoo
