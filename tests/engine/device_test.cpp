#include "engine/device.h"

#include "engine/backend.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE("device: names and sizes") {
  CHECK(to_string(Device::cpu) == "cpu");
  CHECK(to_string(Device::cuda) == "cuda");
  CHECK(to_string(DType::float32) == "float32");
  CHECK(to_string(DType::float64) == "float64");
  CHECK(to_string(DType::int64) == "int64");
  CHECK(size_of(dtype_of<float>()) == sizeof(float));
  CHECK(size_of(dtype_of<double>()) == sizeof(double));
  CHECK(size_of(dtype_of<std::int64_t>()) == sizeof(std::int64_t));
}

TEST_CASE("device: what the user may ask for") {
  const Device before = default_device();
  CHECK(select_device("cpu") == Device::cpu);
  CHECK(default_device() == Device::cpu);
  if (list_gpus().empty()) {
    CHECK(select_device("auto") == Device::cpu);
    CHECK(error_of([] { select_device("cuda"); }) == "[device] " + why_no_gpu());
    CHECK(why_no_gpu().find('\n') == std::string::npos);
  }
  if (!kHasCuda) CHECK(why_no_gpu() == "this build of npzoo has no CUDA support");
  if (!kHasEmulator)
    CHECK(error_of([] { select_device("emulated"); }) == "[device] this build of npzoo has no emulated device");
  for (const char* name : {"tpu", ""})
    CHECK(error_of([&] { select_device(name); }) ==
          fmt::format("[device] '{}' is not a device; expected cpu, cuda, auto or emulated", name));
  CHECK(default_device() == Device::cpu);
  set_default_device(before);
}

TEST_CASE("device: kernels run on what the machine has, and on floating-point numbers alone") {
  CHECK((active_isa() == Isa::generic || (active_isa() == Isa::avx2 && kHasAvx2) ||
         (active_isa() == Isa::avx512 && kHasAvx512)));
  CHECK(to_string(Isa::generic) == "generic");
  CHECK(to_string(Isa::avx2) == "avx2");
  CHECK(to_string(Isa::avx512) == "avx512");
  const auto bytes_of = [](DType dtype) {
    std::size_t bytes = 0;
    run(Tensor::empty({1}, dtype), [&]<class T>(auto&) { bytes = sizeof(T); });
    return bytes;
  };
  CHECK(bytes_of(DType::float32) == 4);
  CHECK(bytes_of(DType::float64) == 8);
  CHECK(error_of([&] { bytes_of(DType::int64); }) == "[backend] expected float32 or float64 elements, found int64");
}
