#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// A tensor that a module owns. One that is not trained is still part of the module's state: it is saved with the
/// weights, but no optimiser changes it.
struct Parameter {
  Tensor value;
  bool trained = true;
};

/// A parameter and its place in the tree, `encoder.layers.0.attention.query.weight`.
struct NamedParameter {
  std::string name;
  Parameter* parameter;
};

/// Walks a tree of modules. A module is any type with `void visit(ModuleVisitor&)` that names its parts in order:
///
///     void visit(ModuleVisitor& visitor) {
///       visitor("weight", weight);
///       visitor("norm", norm);
///     }
class ModuleVisitor {
 public:
  explicit ModuleVisitor(std::vector<NamedParameter>& found) : found_(found) {}

  void operator()(std::string_view name, Parameter& parameter) {
    if (parameter.value.defined()) found_.push_back({path_ + std::string(name), &parameter});
  }

  template <class Module>
  requires requires(Module& module, ModuleVisitor& visitor) { module.visit(visitor); }
  void operator()(std::string_view name, Module& module) {
    const std::size_t length = path_.size();
    path_.append(name).push_back('.');
    module.visit(*this);
    path_.resize(length);
  }

  /// Names the elements 0, 1, ….
  template <class Module>
  void operator()(std::string_view name, std::vector<Module>& modules) {
    const std::size_t length = path_.size();
    path_.append(name).push_back('.');
    for (std::size_t i = 0; i < modules.size(); ++i) (*this)(std::to_string(i), modules[i]);
    path_.resize(length);
  }

 private:
  std::vector<NamedParameter>& found_;
  std::string path_;
};

/// Returns all tensors of a module, trained or not, in the order of its parts. The pointers are valid as long as the
/// module stays in its place.
template <class Module>
std::vector<NamedParameter> named_tensors(Module& module) {
  std::vector<NamedParameter> found;
  ModuleVisitor visitor(found);
  module.visit(visitor);
  return found;
}

/// Returns the trained tensors of a module.
template <class Module>
std::vector<NamedParameter> named_parameters(Module& module) {
  std::vector<NamedParameter> found = named_tensors(module);
  std::erase_if(found, [](const NamedParameter& p) { return !p.parameter->trained; });
  return found;
}

std::int64_t count_elements(const std::vector<NamedParameter>& parameters);

}  // namespace npzoo
