#pragma once

#include <string>
#include <vector>

#include "npzoo/models/parity/parity.h"
#include "npzoo/models/parity/recorded_tensors.h"

namespace npzoo {

/// Collects deviations from a recording. Errors are relative to the largest recorded value of a quantity, at least 1.
/// Throws Error if a recorded tensor has another type or shape than ours.
class Quantities {
 public:
  Quantities(const RecordedTensors& recorded, double tolerance) : recorded_(recorded), tolerance_(tolerance) {}

  double tolerance() const { return tolerance_; }
  bool has(const std::string& name) const { return recorded_.has(name); }

  void add(const std::string& name, const Tensor& ours) { add(name, ours, tolerance_); }
  void add(const std::string& name, const Tensor& ours, double tolerance);
  void add_if_recorded(const std::string& name, const Tensor& ours);
  /// Functions (K, B, N, D) in the form in which they were recorded, if they were.
  void add_functions(const std::string& name, const Tensor& ours);
  /// Without the targets whose weight (B, Nt) is 0, if it was recorded.
  void add_real(const std::string& name, const Tensor& ours, const Tensor& weights);
  /// A quantity whose error the caller computed.
  void put(const std::string& name, double error, double tolerance) { found_.push_back({name, error, tolerance}); }

  std::vector<ParityQuantity> take() { return std::move(found_); }

 private:
  const RecordedTensors& recorded_;
  double tolerance_;
  std::vector<ParityQuantity> found_;
};

}  // namespace npzoo
