#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// The tensors of a recording. A recording may come from a stranger, so every read states what the tensor must be, and
/// throws Error `[parity] FILE: found, expected` if it is something else. Every read also counts the tensor as used:
/// `unused` then names those that nothing was compared with.
class RecordedTensors {
 public:
  /// An extent that may be anything from 1 on, or from 0 on.
  static constexpr std::int64_t kAny = -1, kAnyOrNone = -2;
  using Extents = std::vector<std::int64_t>;

  /// `file` is what messages call the recording.
  RecordedTensors(std::string file, std::map<std::string, Tensor> tensors);

  /// "[parity] FILE", with which messages begin.
  const std::string& where() const { return where_; }
  const std::map<std::string, Tensor>& all() const { return tensors_; }
  bool has(const std::string& name) const { return tensors_.contains(name); }

  /// Finite float32 or float64 numbers.
  void check_finite(const std::string& name) const;
  const Tensor& numbers(const std::string& name, const Extents& extents) const;
  /// int64 from `low` to `high`.
  const Tensor& integers(const std::string& name, const Extents& extents, std::int64_t low, std::int64_t high) const;
  /// float32 or float64 of any values, or what a computed tensor is compared with: integers if `ours` has integers, and
  /// shapes equal apart from extents of 1.
  const Tensor& floats(const std::string& name, const Extents& extents) const;
  const Tensor& like(const std::string& name, const Tensor& ours) const;
  /// Something whose type, shape and values the caller checks.
  const Tensor& at(const std::string& name) const;
  /// Counts a tensor as used.
  void use(const std::string& name) const { used_.insert(name); }

  /// In the order of their names.
  std::vector<std::string> unused() const;

 private:
  const Tensor& shaped(const std::string& name, const Extents& extents, const char* type, bool right_type) const;
  const Tensor& find(const std::string& name) const;

  std::string where_;
  std::map<std::string, Tensor> tensors_;
  mutable std::set<std::string> used_;
};

}  // namespace npzoo
