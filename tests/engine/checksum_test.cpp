#include "npzoo/engine/io/checksum.h"

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

TensorFile example() {
  return {{{"a", "1"}, {"b", ""}},
          {{"w", Tensor::full({2, 3}, 0.5, DType::float32, Device::cpu)},
           {"x", Tensor::full({4}, 7, DType::int64, Device::cpu)}}};
}

}  // namespace

TEST_CASE("checksum: files that exist already must keep theirs") {
  CHECK(checksum(example()) == "xxh3-128:05fab5ec4417d1b71dddcfaa811d1588");
  CHECK(checksum({}) == "xxh3-128:2c0a8a99dc147d5445c3b49d035665b2");
}

TEST_CASE("checksum: everything that a file says counts") {
  const auto differs = [](const auto& change) {
    TensorFile file = example();
    change(file);
    CHECK(checksum(file) != checksum(example()));
  };
  differs([](TensorFile& f) { f.metadata["a"] = "2"; });
  differs([](TensorFile& f) { f.metadata = {{"a", "1b"}, {"", ""}}; });
  differs([](TensorFile& f) { f.metadata.erase("b"); });
  differs([](TensorFile& f) { f.tensors.erase("x"); });
  differs([](TensorFile& f) { f.tensors["w"].values<float>()[5] = 0.25; });
  differs([](TensorFile& f) { f.tensors["w"] = f.tensors["w"].view({3, 2}); });
  differs([](TensorFile& f) { f.tensors["y"] = std::exchange(f.tensors["x"], Tensor::zeros({0})); });
  differs([](TensorFile& f) { f.tensors["x"] = Tensor::full({4}, 3.5e-323, DType::float64, Device::cpu); });
}
