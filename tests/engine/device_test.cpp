#include "npzoo/engine/device.h"

#include "npzoo/engine/backend.h"
#include "tests/forked.h"
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

TEST_CASE("device: names that a user may choose") {
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
          fmt::format("[device] '{}' is not a device; expected cpu, cuda, cuda:INDEX, auto or emulated", name));
  CHECK(default_device() == Device::cpu);
  if (before == Device::cuda) select_device(active_gpu() == Gpu::emulated ? "emulated" : "cuda");
}

TEST_CASE("device: kernels run on the machine's devices, for floating-point numbers only") {
  CHECK((active_isa() == Isa::generic || (active_isa() == Isa::avx2 && kHasAvx2) ||
         (active_isa() == Isa::avx512 && kHasAvx512)));
  CHECK(to_string(Isa::generic) == "generic");
  CHECK(to_string(Isa::avx2) == "avx2");
  CHECK(to_string(Isa::avx512) == "avx512");
  const auto bytes_of = [](DType dtype) {
    std::size_t bytes = 0;
    run("probe", Tensor::empty({1}, dtype), [&]<class T>(auto&) { bytes = sizeof(T); });
    return bytes;
  };
  CHECK(bytes_of(DType::float32) == 4);
  CHECK(bytes_of(DType::float64) == 8);
  CHECK(error_of([&] { bytes_of(DType::int64); }) == "[backend] expected float32 or float64 elements, found int64");
}

TEST_CASE("device: a value that is no data type has no size") {
  const std::string message = "[dtype] 7 found, expected float32, float64 or int64";
  CHECK(error_of([] { size_of(static_cast<DType>(7)); }) == message);
  CHECK(error_of([] { Tensor::full({1}, 0, static_cast<DType>(7), Device::cpu); }) == message);
}

namespace {

/// Selects a device, and computes there if that is possible. Returns false if anything is not as it should be.
bool select_and_compute(const std::string& name) {
  const Device before = default_device();
  const bool cpu_is_all = name == "cpu" || (name == "auto" && list_gpus().empty());
  try {
    const Device selected = select_device(name);
    const bool right = selected == (cpu_is_all ? Device::cpu : Device::cuda) && default_device() == selected &&
                       (cpu_is_all || (active_gpu() == Gpu::emulated) == (name == "emulated"));
    return right && doubles(Tensor::full({3}, 2)) == std::vector<double>(3, 2);
  } catch (const Error& error) {
    return !cpu_is_all && std::string_view(error.what()).starts_with("[device] ") && default_device() == before;
  }
}

}  // namespace

TEST_CASE("device: any two selections, in any order, work or are one clear error") {
  constexpr const char* kNames[] = {"cpu", "cuda", "cuda:0", "auto", "emulated"};
  for (const char* first : kNames)
    for (const char* second : kNames) {
      CAPTURE(std::string(first));
      CAPTURE(std::string(second));
      CHECK(status_of_child([&] {
              for (const char* name : {first, second, first})
                if (!select_and_compute(name)) return 1;
              return 0;
            }) == 0);
    }
}
