#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "npzoo/engine/random.h"
#include "npzoo/engine/tensor.h"

namespace npzoo {

/// One function of float64 tensors whose gradient is to be compared with central differences.
struct GradcheckCase {
  std::string label;
  std::vector<Tensor> inputs;
  std::function<Tensor(const std::vector<Tensor>&)> function;
};

/// Collects the cases of one op folder. Each folder defines `void OP_gradcheck_cases(GradcheckCases&)` beside its op;
/// the build collects them from the list in npzoo/ops/meson.build.
class GradcheckCases {
 public:
  void add(std::string label, std::vector<Tensor> inputs, std::function<Tensor(const std::vector<Tensor>&)> function) {
    cases_.push_back({std::move(label), std::move(inputs), std::move(function)});
  }
  const std::vector<GradcheckCase>& cases() const { return cases_; }

  /// float64 inputs drawn from a fixed stream, on the default device.
  Tensor normal(const Shape& shape, double scale = 1);
  Tensor uniform(const Shape& shape, double low, double high);
  /// int64 in [low, high).
  Tensor integers(const Shape& shape, std::int64_t low, std::int64_t high);

 private:
  std::vector<GradcheckCase> cases_;
  Random random_{20240229};
};

struct OpFolder {
  const char* name;
  void (*add_cases)(GradcheckCases& cases);
};

/// The op folders of this build.
std::span<const OpFolder> op_folders();
/// Names of all differentiable operations, as they are recorded on a tape; collected from the sources by the build.
std::span<const char* const> op_names();

}  // namespace npzoo
