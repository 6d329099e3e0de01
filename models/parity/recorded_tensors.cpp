#include "npzoo/models/parity/recorded_tensors.h"

#include <algorithm>
#include <cmath>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

using Extents = RecordedTensors::Extents;

bool fits(const Shape& shape, const Extents& extents) {
  return shape.rank() == std::ssize(extents) &&
         std::equal(extents.begin(), extents.end(), shape.begin(), [](std::int64_t expected, std::int64_t found) {
           if (expected == RecordedTensors::kAny) return found >= 1;
           return expected == RecordedTensors::kAnyOrNone || found == expected;
         });
}

/// "(3, *, 1)"
std::string text_of(const Extents& extents) {
  std::string text;
  for (const std::int64_t extent : extents)
    text += (text.empty() ? "" : ", ") + (extent < 0 ? std::string("*") : std::to_string(extent));
  return "(" + text + ")";
}

std::vector<std::int64_t> without_ones(const Shape& shape) {
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  std::erase(extents, 1);
  return extents;
}

bool is_float(const Tensor& x) { return x.dtype() != DType::int64; }

}  // namespace

RecordedTensors::RecordedTensors(std::string file, std::map<std::string, Tensor> tensors)
    : where_("[parity] " + std::move(file)), tensors_(std::move(tensors)) {}

const Tensor& RecordedTensors::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  check(found != tensors_.end(), "{}: there is no tensor '{}'", where_, name);
  return found->second;
}

const Tensor& RecordedTensors::shaped(const std::string& name, const Extents& extents, const char* type,
                                      bool right_type) const {
  const Tensor& x = find(name);
  check(right_type && fits(x.shape(), extents), "{}: '{}' is {} {}, expected {} {}", where_, name, to_string(x.dtype()),
        x.shape(), type, text_of(extents));
  use(name);
  return x;
}

const Tensor& RecordedTensors::numbers(const std::string& name, const Extents& extents) const {
  const Tensor& x = floats(name, extents);
  check_finite(name);
  return x;
}

void RecordedTensors::check_finite(const std::string& name) const {
  const Tensor wide = find(name).to(DType::float64);
  for (const double value : wide.values<double>())
    check(std::isfinite(value), "{}: '{}' holds {}, expected finite numbers", where_, name, value);
}

const Tensor& RecordedTensors::integers(const std::string& name, const Extents& extents, std::int64_t low,
                                        std::int64_t high) const {
  const Tensor& x = shaped(name, extents, "int64", !is_float(find(name)));
  for (const std::int64_t value : x.values<std::int64_t>())
    check(low <= value && value <= high, "{}: '{}' holds {}, expected {} to {}", where_, name, value, low, high);
  return x;
}

const Tensor& RecordedTensors::floats(const std::string& name, const Extents& extents) const {
  return shaped(name, extents, "float64", is_float(find(name)));
}

const Tensor& RecordedTensors::like(const std::string& name, const Tensor& ours) const {
  const Tensor& x = find(name);
  check(is_float(x) == is_float(ours) && without_ones(x.shape()) == without_ones(ours.shape()),
        "{}: '{}' is {} {}, expected {} {}", where_, name, to_string(x.dtype()), x.shape(),
        is_float(ours) ? "float64" : "int64", ours.shape());
  use(name);
  return x;
}

const Tensor& RecordedTensors::at(const std::string& name) const {
  use(name);
  return find(name);
}

std::vector<std::string> RecordedTensors::unused() const {
  std::vector<std::string> names;
  for (const auto& entry : tensors_)
    if (!used_.contains(entry.first)) names.push_back(entry.first);
  return names;
}

}  // namespace npzoo
