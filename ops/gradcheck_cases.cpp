#include "npzoo/ops/gradcheck_cases.h"

namespace npzoo {

Tensor GradcheckCases::normal(const Shape& shape, double scale) {
  Tensor result = Tensor::empty(shape, DType::float64, Device::cpu);
  random_.fill_normal(result.values<double>());
  for (double& x : result.values<double>()) x *= scale;
  return result.to(default_device());
}

Tensor GradcheckCases::uniform(const Shape& shape, double low, double high) {
  Tensor result = Tensor::empty(shape, DType::float64, Device::cpu);
  for (double& x : result.values<double>()) x = random_.uniform(low, high);
  return result.to(default_device());
}

Tensor GradcheckCases::integers(const Shape& shape, std::int64_t low, std::int64_t high) {
  Tensor result = Tensor::empty(shape, DType::int64);
  for (std::int64_t& x : result.values<std::int64_t>()) x = random_.integer(low, high);
  return result;
}

}  // namespace npzoo
