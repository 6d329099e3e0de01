#include "npzoo/engine/precision.h"

#include <atomic>
#include <utility>

#include "npzoo/engine/call_scopes.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

std::atomic<Precision> of_float32_products{Precision::float32};

}  // namespace

std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::float32: return "float32";
    case Precision::tf32: return "tf32";
    case Precision::bf16: break;
  }
  return "bf16";
}

Precision parse_precision(std::string_view name) {
  for (Precision precision : {Precision::float32, Precision::tf32, Precision::bf16})
    if (name == to_string(precision)) return precision;
  fail("[precision] '{}' found, expected float32, tf32 or bf16", name);
}

Precision matmul_precision() {
  return call_scopes.precision.value_or(of_float32_products.load(std::memory_order_relaxed));
}

void set_matmul_precision(Precision precision) { of_float32_products.store(precision, std::memory_order_relaxed); }

PrecisionScope::PrecisionScope(Precision precision) : outer_(std::exchange(call_scopes.precision, precision)) {}
PrecisionScope::~PrecisionScope() { call_scopes.precision = outer_; }

}  // namespace npzoo
