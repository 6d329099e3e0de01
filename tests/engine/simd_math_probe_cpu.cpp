#include "npzoo/engine/cpu/simd_math.h"
#include "tests/engine/simd_math_probe.h"

namespace npzoo {

[[gnu::noinline]] inline std::int64_t shared_by_name(std::int64_t bytes) { return bytes / kVectorBytes; }

namespace {

using namespace simd;

template <class T, class F>
void map(const Probe<T>& p, F f) {
  constexpr int kLanes = Simd<T>::kLanes;
  for (std::int64_t i = 0; i < p.n; i += kLanes) {
    const int n = static_cast<int>(p.n - i < kLanes ? p.n - i : kLanes);
    store_first(p.y + i, f(load_first(p.x + i, n)), n);
  }
}

}  // namespace

template <class T>
void probe(Cpu&, const Probe<T>& p) {
  switch (p.function) {
    case Function::exp: return map(p, [](Vec<T> x) { return exp(x); });
    case Function::expm1: return map(p, [](Vec<T> x) { return expm1(x); });
    case Function::log: return map(p, [](Vec<T> x) { return log(x); });
    case Function::log1p: return map(p, [](Vec<T> x) { return log1p(x); });
    case Function::tanh: return map(p, [](Vec<T> x) { return tanh(x); });
    case Function::sigmoid: return map(p, [](Vec<T> x) { return sigmoid(x); });
    case Function::softplus: return map(p, [](Vec<T> x) { return softplus(x); });
    case Function::erf: return map(p, [](Vec<T> x) { return erf(x); });
    case Function::sqrt: return map(p, [](Vec<T> x) { return sqrt(x); });
    case Function::round: return map(p, [](Vec<T> x) { return round(x); });
  }
}

template <class T>
void probe_lanes(Cpu&, const LaneProbe<T>& p) {
  constexpr int kLanes = Simd<T>::kLanes;
  *p.lanes = kLanes;
  Vec<T> x[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    x[i] = load(p.x + i * kLanes);
    p.sums[i] = sum(x[i]);
    p.largest[i] = largest(x[i]);
    store_first(p.first + i * kLanes, load_first(p.x + i * kLanes, i + 1), i + 1);
  }
  transpose(x);
  for (int i = 0; i < kLanes; ++i) store(p.transposed + i * kLanes, x[i]);
}

template <class T>
void count_registers(Cpu&, const RegisterProbe<T>& p) {
  *p.registers = shared_by_name(p.bytes);
}

NPZOO_INSTANTIATE(probe, Probe);
NPZOO_INSTANTIATE(probe_lanes, LaneProbe);
NPZOO_INSTANTIATE(count_registers, RegisterProbe);

}  // namespace npzoo
