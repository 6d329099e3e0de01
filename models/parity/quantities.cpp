#include "npzoo/models/parity/quantities.h"

#include <algorithm>

#include "npzoo/models/parity/recorded_forms.h"

namespace npzoo {

namespace {

double relative_error(const Tensor& ours, const Tensor& theirs) {
  return difference(ours, theirs) / std::max(1.0, largest_value(in_double(theirs)));
}

}  // namespace

void Quantities::add(const std::string& name, const Tensor& ours, double tolerance) {
  put(name, relative_error(ours, recorded_.like(name, ours)), tolerance);
}

void Quantities::add_if_recorded(const std::string& name, const Tensor& ours) {
  if (has(name)) add(name, ours);
}

void Quantities::add_functions(const std::string& name, const Tensor& ours) {
  if (has(name)) add(name, as_recorded(ours, recorded_.at(name).shape()));
}

void Quantities::add_real(const std::string& name, const Tensor& ours, const Tensor& weights) {
  if (!has(name)) return;
  const Tensor& theirs = recorded_.like(name, ours);
  put(name, relative_error(without_padding(ours, weights), without_padding(theirs.view(ours.shape()), weights)),
      tolerance_);
}

}  // namespace npzoo
