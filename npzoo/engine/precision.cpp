#include "npzoo/engine/precision.h"

#include <atomic>

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

Precision matmul_precision() { return of_float32_products.load(std::memory_order_relaxed); }

void set_matmul_precision(Precision precision) { of_float32_products.store(precision, std::memory_order_relaxed); }

}  // namespace npzoo
