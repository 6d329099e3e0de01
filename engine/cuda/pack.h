#pragma once

// Sixteen bytes at a time, for kernels whose speed is that of the memory. Included by kernel sources only.

#include "npzoo/engine/cuda/launch.h"

namespace npzoo {

namespace {

/// Neighbouring elements that are loaded and stored as one.
template <class T, int size = 16 / static_cast<int>(sizeof(T))>
struct alignas(size * sizeof(T)) Pack {
  static constexpr int kSize = size;
  T lane[size];
};

template <int size, class T>
__device__ Pack<T, size> load(const T* p) {
  return *reinterpret_cast<const Pack<T, size>*>(p);
}

template <class T, int size>
__device__ void store(T* p, const Pack<T, size>& pack) {
  *reinterpret_cast<Pack<T, size>*>(p) = pack;
}

template <int size, class T>
__device__ Pack<T, size> splat(T value) {
  Pack<T, size> pack;
  for (T& x : pack.lane) x = value;
  return pack;
}

template <class T>
constexpr int kPack = Pack<T>::kSize;

/// True where an array can be read in packs from its start; null can.
template <class... T>
bool starts_packs(const T*... p) {
  return ((reinterpret_cast<std::uintptr_t>(p) % 16 == 0) && ...);
}

/// True where runs of so many elements are whole packs.
template <class T>
bool whole_packs(std::int64_t elements) {
  return elements % kPack<T> == 0;
}

/// One pack of `for_elements`.
template <class T, int inputs, class F>
struct ElementsOfPack {
  std::int64_t n;
  bool packed;
  T* y;
  const T* x[inputs];
  F f;

  __device__ T at(const T (&values)[inputs]) const {
    if constexpr (inputs == 1)
      return f(values[0]);
    else
      return f(values[0], values[1]);
  }

  __device__ void operator()(std::int64_t i) const {
    constexpr int kSize = kPack<T>;
    const std::int64_t first = i * kSize;
    if (packed && first + kSize <= n) {
      Pack<T> in[inputs], out;
      for (int k = 0; k < inputs; ++k) in[k] = load<kSize>(x[k] + first);
      for (int lane = 0; lane < kSize; ++lane) {
        T values[inputs];
        for (int k = 0; k < inputs; ++k) values[k] = in[k].lane[lane];
        out.lane[lane] = at(values);
      }
      return store(y + first, out);
    }
    for (std::int64_t j = first; j < n && j < first + kSize; ++j) {
      T values[inputs];
      for (int k = 0; k < inputs; ++k) values[k] = x[k][j];
      y[j] = at(values);
    }
  }
};

/// y[i] = f(x[i]), or f(a[i], b[i]), for every i in [0, n).
template <class T, class F, class... X>
void for_elements(Cuda& cuda, const char* name, std::int64_t n, T* y, const F& f, const X*... x) {
  for_each(cuda, name, divide_up(n, kPack<T>),
           ElementsOfPack<T, sizeof...(X), F>{n, starts_packs(y, x...), y, {x...}, f});
}

/// The start of row `row` of the leading axes of a strided array; the last of its `rank` axes is the row itself.
template <class Extents, class Strides>
__device__ std::int64_t row_offset(int rank, const Extents& extent, const Strides& stride, std::int64_t row) {
  std::int64_t offset = 0;
  for (int axis = rank - 2; axis >= 0; --axis) {
    offset += row % extent[axis] * stride[axis];
    row /= extent[axis];
  }
  return offset;
}

}  // namespace

}  // namespace npzoo
