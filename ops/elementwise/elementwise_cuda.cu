#include "npzoo/engine/cuda/normal_distribution.h"
#include "npzoo/engine/cuda/pack.h"
#include "npzoo/ops/elementwise/binet_series.h"
#include "npzoo/ops/elementwise/gelu_tanh.h"
#include "npzoo/ops/elementwise/kernels.h"
#include "npzoo/ops/elementwise/normal_tail.h"

namespace npzoo {

namespace {

// The vocabulary of table.def for one number. Hides the functions of the C library, which do not follow the type.

template <class T>
struct Constant {
  NPZOO_DEVICE constexpr T operator()(double value) const { return static_cast<T>(value); }
};

template <class T>
__device__ T select(bool condition, T a, T b) {
  return condition ? a : b;
}
/// b where either is NaN, as on the CPU.
template <class T>
__device__ T max(T a, T b) {
  return a > b ? a : b;
}
template <class T>
__device__ T min(T a, T b) {
  return a < b ? a : b;
}
template <class T>
__device__ T exp(T x) {
  return exponential(x);
}
template <class T>
__device__ T expm1(T x) {
  return exponential_minus_one(x);
}
template <class T>
__device__ T log(T x) {
  return logarithm(x);
}
template <class T>
__device__ T sqrt(T x) {
  return square_root(x);
}
template <class T>
__device__ T abs(T x) {
  return absolute(x);
}
template <class T>
__device__ T tanh(T x) {
  return hyperbolic_tangent(x);
}
template <class T>
__device__ T sigmoid(T x) {
  return T(1) / (T(1) + exponential(-x));
}
template <class T>
__device__ T softplus(T x) {
  return max(T(0), x) + log_one_plus(exponential(-absolute(x)));
}

}  // namespace

template <class T>
void unary_forward(Cuda& cuda, const UnaryForward<T>& p) {
  switch (p.function) {
#define NPZOO_UNARY(name, value, saved, slope) \
  case Unary::name:                            \
    return for_elements(                       \
        cuda, #name, p.n, p.y,                 \
        [] __device__(T x) {                   \
          const Constant<T> c{};               \
          static_cast<void>(c);                \
          return T(value);                     \
        },                                     \
        p.x);
#include "npzoo/ops/elementwise/table.def"
#undef NPZOO_UNARY
  }
}

template <class T>
void unary_backward(Cuda& cuda, const UnaryBackward<T>& p) {
  switch (p.function) {
#define NPZOO_UNARY(name, value, kept, slope) \
  case Unary::name:                           \
    return for_elements(                      \
        cuda, #name "_backward", p.n, p.d_x,  \
        [] __device__(T kept, T d_y) {        \
          const Constant<T> c{};              \
          static_cast<void>(c);               \
          return d_y * T(slope);              \
        },                                    \
        p.saved, p.d_y);
#include "npzoo/ops/elementwise/table.def"
#undef NPZOO_UNARY
  }
}

template <class T>
void affine(Cuda& cuda, const Affine<T>& p) {
  const T scale = p.scale, shift = p.shift;
  for_elements(
      cuda, "affine", p.n, p.y, [scale, shift] __device__(T x) { return x * scale + shift; }, p.x);
}

template <class T>
void clamp(Cuda& cuda, const Clamp<T>& p) {
  const T low = p.low, high = p.high;
  if (!p.d_y)
    return for_elements(
        cuda, "clamp", p.n, p.y, [low, high] __device__(T x) { return min(high, max(low, x)); }, p.x);
  for_elements(
      cuda, "clamp_backward", p.n, p.y, [low, high] __device__(T x, T d_y) { return x < low || x > high ? T(0) : d_y; },
      p.x, p.d_y);
}

namespace {

/// One stretch of the last axis, broadcast or not.
template <int size, class T>
__device__ Pack<T, size> load_or_repeat(const T* p, std::int64_t step, std::int64_t column) {
  return step ? load<size>(p + column) : splat<size>(*p);
}

template <int size, class T, class F>
void combine_packs(Cuda& cuda, const char* name, const BinaryForward<T>& p, const F& f) {
  const int last = p.rank - 1;
  const std::int64_t packs = p.extent[last] / size;
  std::int64_t rows = 1;
  for (int axis = 0; axis < last; ++axis) rows *= p.extent[axis];
  for_each(cuda, name, rows * packs, [p, last, packs, f] __device__(std::int64_t i) {
    const std::int64_t row = last == 0 ? 0 : i / packs, column = (i - row * packs) * size;
    const auto a = load_or_repeat<size>(p.a + row_offset(p.rank, p.extent, p.a_stride, row), p.a_stride[last], column);
    const auto b = load_or_repeat<size>(p.b + row_offset(p.rank, p.extent, p.b_stride, row), p.b_stride[last], column);
    Pack<T, size> out;
    for (int lane = 0; lane < size; ++lane) out.lane[lane] = f(a.lane[lane], b.lane[lane]);
    store(p.out + row * p.extent[last] + column, out);
  });
}

template <class T, class F>
void combine(Cuda& cuda, const char* name, BinaryForward<T> p, const F& f) {
  if (p.rank == 0) {
    p.rank = 1;
    p.extent[0] = 1;
    p.a_stride[0] = p.b_stride[0] = 0;
  }
  if (p.rank == 1 && p.a_stride[0] == 1 && p.b_stride[0] == 1)
    return for_elements(cuda, name, p.extent[0], p.out, f, p.a, p.b);
  const int last = p.rank - 1;
  bool packed = starts_packs(p.a, p.b, p.out) && whole_packs<T>(p.extent[last]);
  for (int axis = 0; axis < last; ++axis) {
    if (p.a_stride[last] == 1) packed = packed && whole_packs<T>(p.a_stride[axis]);
    if (p.b_stride[last] == 1) packed = packed && whole_packs<T>(p.b_stride[axis]);
  }
  packed ? combine_packs<kPack<T>>(cuda, name, p, f) : combine_packs<1>(cuda, name, p, f);
}

}  // namespace

template <class T>
void binary_forward(Cuda& cuda, const BinaryForward<T>& p) {
  switch (p.function) {
    case Binary::add: return combine(cuda, "add", p, [] __device__(T a, T b) { return a + b; });
    case Binary::sub: return combine(cuda, "sub", p, [] __device__(T a, T b) { return a - b; });
    case Binary::mul: return combine(cuda, "mul", p, [] __device__(T a, T b) { return a * b; });
    case Binary::div: return combine(cuda, "div", p, [] __device__(T a, T b) { return a / b; });
  }
}

NPZOO_INSTANTIATE(unary_forward, UnaryForward);
NPZOO_INSTANTIATE(unary_backward, UnaryBackward);
NPZOO_INSTANTIATE(affine, Affine);
NPZOO_INSTANTIATE(clamp, Clamp);
NPZOO_INSTANTIATE(binary_forward, BinaryForward);

}  // namespace npzoo
