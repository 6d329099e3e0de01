#include "npzoo/engine/cpu/normal_distribution.h"
#include "npzoo/ops/elementwise/binet_series.h"
#include "npzoo/ops/elementwise/gelu_tanh.h"
#include "npzoo/ops/elementwise/kernels.h"
#include "npzoo/ops/elementwise/normal_tail.h"

namespace npzoo {

namespace {

using namespace simd;

constexpr std::int64_t kGrain = 1 << 14;  // elements that are worth handing to another thread

/// f over [0, n) in vectors: `at(i, lanes)` loads there and returns what is stored to y.
template <class T, class F>
void for_vectors(Cpu& cpu, std::int64_t n, T* y, F at) {
  constexpr int kLanes = Simd<T>::kLanes;
  cpu.parallel_for(n, kGrain, [y, at](std::int64_t begin, std::int64_t end) {
    std::int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) store(y + i, at([i](const T* x) { return load(x + i); }));
    if (const int rest = static_cast<int>(end - i); rest > 0)
      store_first(y + i, at([i, rest](const T* x) { return load_first(x + i, rest); }), rest);
  });
}

}  // namespace

template <class T>
void unary_forward(Cpu& cpu, const UnaryForward<T>& p) {
  const auto c = [](double value) { return splat<T>(static_cast<T>(value)); };
  switch (p.function) {
#define NPZOO_UNARY(name, value, saved, slope)        \
  case Unary::name:                                   \
    return for_vectors(cpu, p.n, p.y, [=](auto get) { \
      const Vec<T> x = get(p.x);                      \
      static_cast<void>(c);                           \
      return value;                                   \
    });
#include "npzoo/ops/elementwise/table.def"
#undef NPZOO_UNARY
  }
}

template <class T>
void unary_backward(Cpu& cpu, const UnaryBackward<T>& p) {
  const auto c = [](double value) { return splat<T>(static_cast<T>(value)); };
  switch (p.function) {
#define NPZOO_UNARY(name, value, kept, slope)           \
  case Unary::name:                                     \
    return for_vectors(cpu, p.n, p.d_x, [=](auto get) { \
      const Vec<T> kept = get(p.saved);                 \
      static_cast<void>(c);                             \
      return get(p.d_y) * (slope);                      \
    });
#include "npzoo/ops/elementwise/table.def"
#undef NPZOO_UNARY
  }
}

template <class T>
void affine(Cpu& cpu, const Affine<T>& p) {
  for_vectors(cpu, p.n, p.y, [=](auto get) { return get(p.x) * splat<T>(p.scale) + splat<T>(p.shift); });
}

template <class T>
void clamp(Cpu& cpu, const Clamp<T>& p) {
  const Vec<T> low = splat<T>(p.low), high = splat<T>(p.high);
  if (!p.d_y) return for_vectors(cpu, p.n, p.y, [=](auto get) { return min(high, max(low, get(p.x))); });
  for_vectors(cpu, p.n, p.y, [=](auto get) {
    const Vec<T> x = get(p.x);
    return select(x < low, Vec<T>{}, select(x > high, Vec<T>{}, get(p.d_y)));
  });
}

namespace {

/// One stretch of the last axis; a step is 0 or 1.
template <class T, class F>
void combine(const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, T* out, std::int64_t n, F f) {
  constexpr int kLanes = Simd<T>::kLanes;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    store(out + i, f(a_step ? load(a + i) : splat<T>(*a), b_step ? load(b + i) : splat<T>(*b)));
  if (const int rest = static_cast<int>(n - i); rest > 0)
    store_first(out + i,
                f(a_step ? load_first(a + i, rest) : splat<T>(*a), b_step ? load_first(b + i, rest) : splat<T>(*b)),
                rest);
}

template <class T, class F>
void broadcast_combine(Cpu& cpu, const BinaryForward<T>& p, F f) {
  if (p.rank == 0) return combine(p.a, 0, p.b, 0, p.out, 1, f);
  const int last = p.rank - 1;
  const std::int64_t n = p.extent[last], a_step = p.a_stride[last], b_step = p.b_stride[last];
  if (p.rank == 1) {
    cpu.parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
      combine(p.a + begin * a_step, a_step, p.b + begin * b_step, b_step, p.out + begin, end - begin, f);
    });
    return;
  }
  std::int64_t rows = 1;
  for (int axis = 0; axis < last; ++axis) rows *= p.extent[axis];
  cpu.parallel_for(rows, kGrain / n + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t rest = row, a = 0, b = 0;
      for (int axis = last - 1; axis >= 0; --axis) {
        const std::int64_t index = rest % p.extent[axis];
        rest /= p.extent[axis];
        a += index * p.a_stride[axis];
        b += index * p.b_stride[axis];
      }
      combine(p.a + a, a_step, p.b + b, b_step, p.out + row * n, n, f);
    }
  });
}

}  // namespace

template <class T>
void binary_forward(Cpu& cpu, const BinaryForward<T>& p) {
  switch (p.function) {
    case Binary::add: return broadcast_combine(cpu, p, [](Vec<T> a, Vec<T> b) { return a + b; });
    case Binary::sub: return broadcast_combine(cpu, p, [](Vec<T> a, Vec<T> b) { return a - b; });
    case Binary::mul: return broadcast_combine(cpu, p, [](Vec<T> a, Vec<T> b) { return a * b; });
    case Binary::div: return broadcast_combine(cpu, p, [](Vec<T> a, Vec<T> b) { return a / b; });
  }
}

NPZOO_INSTANTIATE(unary_forward, UnaryForward);
NPZOO_INSTANTIATE(unary_backward, UnaryBackward);
NPZOO_INSTANTIATE(affine, Affine);
NPZOO_INSTANTIATE(clamp, Clamp);
NPZOO_INSTANTIATE(binary_forward, BinaryForward);

}  // namespace npzoo
