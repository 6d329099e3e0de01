#include <string>

#include "npzoo/ops/gradcheck_cases.h"
#include "tests/testing.h"

// Compares a CUDA device with the CPU, for every gradient case of every operation.

using namespace npzoo;
using namespace npzoo::testing;

namespace {

struct TwoDeviceCase {
  std::string label;
  GradcheckCase on_cpu, on_gpu;
};

std::vector<TwoDeviceCase> all_cases() {
  std::vector<TwoDeviceCase> all;
  for (const OpFolder& folder : op_folders()) {
    GradcheckCases here, there;  // the same numbers, and constants where each device needs them
    {
      const OnCpu cpu;
      folder.add_cases(here);
    }
    {
      const OnGpu gpu;
      folder.add_cases(there);
    }
    for (std::size_t i = 0; i < here.cases().size(); ++i)
      all.push_back({std::string(folder.name) + ": " + here.cases()[i].label, here.cases()[i], there.cases()[i]});
  }
  return all;
}

std::vector<Tensor> results(const GradcheckCase& c, DType dtype, Device device) {
  const DeviceScope on(device);
  std::vector<Tensor> inputs = c.inputs;
  for (Tensor& x : inputs)
    if (x.dtype() == DType::float64) x = x.to(dtype);
  return with_gradients(c.function, inputs);
}

/// Largest difference, relative to the largest number of its kind or to a hundredth of the largest of all results: a
/// gradient that is 0 in mathematics is rounding of the others.
double error_among(const std::vector<Tensor>& found, const std::vector<Tensor>& exact, std::size_t i) {
  const auto largest = [](const Tensor& x) {
    double top = 0;
    for (const double value : doubles(x))
      if (std::isfinite(value)) top = std::max(top, std::abs(value));
    return top;
  };
  double overall = 1e-30;
  for (const Tensor& x : exact) overall = std::max(overall, 1e-2 * largest(x));
  return largest_difference(found[i], doubles(exact[i])) / std::max(overall, largest(exact[i]));
}

/// A case with constants in double cannot run in float.
bool in_float(const GradcheckCase& c) {
  const OnCpu cpu;
  try {
    static_cast<void>(results(c, DType::float32, Device::cpu));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

TEST_CASE("device parity: values and gradients in double agree with those of the CPU") {
  if (!has_gpu()) return;
  const OnCpu restore;
  for (const TwoDeviceCase& c : all_cases()) {
    CAPTURE(c.label);
    const auto expected = results(c.on_cpu, DType::float64, Device::cpu);
    const auto found = results(c.on_gpu, DType::float64, Device::cuda);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(i);
      CHECK(found[i].device() == Device::cuda);
      CHECK(error_among(found, expected, i) <= 1e-10);
    }
  }
}

TEST_CASE("device parity: in float they are about as exact as those of the CPU") {
  if (!has_gpu()) return;
  const OnCpu restore;
  std::int64_t compared = 0;
  for (const TwoDeviceCase& c : all_cases()) {
    if (!in_float(c.on_cpu)) continue;
    CAPTURE(c.label);
    const auto exact = results(c.on_cpu, DType::float64, Device::cpu);
    const auto of_cpu = results(c.on_cpu, DType::float32, Device::cpu);
    const auto found = results(c.on_gpu, DType::float32, Device::cuda);
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(i);
      CHECK(error_among(found, exact, i) <= 2 * error_among(of_cpu, exact, i) + kTolerance<float>);
    }
    ++compared;
  }
  CHECK(compared > 50);
}
