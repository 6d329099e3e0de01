#include "npzoo/engine/module.h"

namespace npzoo {

std::int64_t count_elements(const std::vector<NamedParameter>& parameters) {
  std::int64_t count = 0;
  for (const auto& [name, parameter] : parameters) count += parameter->value.numel();
  return count;
}

}  // namespace npzoo
