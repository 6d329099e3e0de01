#include "engine/module.h"

namespace npzoo {

std::int64_t count_elements(const std::vector<NamedParameter>& parameters) {
  std::int64_t count = 0;
  for (const auto& [name, parameter] : parameters) count += parameter->value.numel();
  return count;
}

void convert(const std::vector<NamedParameter>& parameters, DType dtype) {
  for (const auto& [name, parameter] : parameters) parameter->value = parameter->value.to(dtype);
}

void move(const std::vector<NamedParameter>& parameters, Device device) {
  for (const auto& [name, parameter] : parameters) parameter->value = parameter->value.to(device);
}

}  // namespace npzoo
