#include <fmt/format.h>

#include <vector>

#include "npzoo/engine/fill.h"
#include "npzoo/engine/memory.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// An array of somebody else's, and how often it was given back.
struct ForeignArray {
  std::vector<float> values{1, 2, 3, 4, 5, 6, 7};
  int given_back = 0;

  Buffer adopted(std::size_t offset = 0) {
    std::byte* const bytes = reinterpret_cast<std::byte*>(values.data()) + offset;
    return Buffer::adopt(bytes, values.size() * sizeof(float) - offset, 1, [this, bytes](void* memory) {
      CHECK(memory == bytes);
      ++given_back;
    });
  }
};

}  // namespace

TEST_CASE("buffer: foreign memory is used where it is, and given back once by its last owner") {
  ForeignArray array;
  const std::int64_t live = memory_stats().live_bytes;
  {
    Buffer first = array.adopted();
    CHECK(first.data() == reinterpret_cast<std::byte*>(array.values.data()));
    CHECK(first.bytes() == 28);
    CHECK(first.device() == Device::cpu);
    CHECK_FALSE(first.is_pinned());
    CHECK_FALSE(first.unique());  // somebody outside has it
    const Buffer second = first;
    first = {};
    CHECK(array.given_back == 0);
  }
  CHECK(array.given_back == 1);
  CHECK(memory_stats().live_bytes == live);
  static_cast<void>(Buffer::adopt(nullptr, 0, 64, {}));
}

TEST_CASE("buffer: memory that cannot be adopted stays with the caller") {
  alignas(64) std::array<std::byte, 64> memory{};
  int given_back = 0;
  const auto adopt = [&](void* at, std::size_t bytes, std::size_t alignment) {
    return error_of([&] { Buffer::adopt(at, bytes, alignment, [&](void*) { ++given_back; }); });
  };
  CHECK(adopt(memory.data(), 8, 3) == "[buffer] an alignment of 3 bytes found, expected a power of two");
  CHECK(adopt(memory.data(), 8, 0) == "[buffer] an alignment of 0 bytes found, expected a power of two");
  CHECK(
      adopt(memory.data() + 4, 8, 8) ==
      fmt::format("[buffer] memory at address {} found, expected a multiple of 8 bytes", fmt::ptr(memory.data() + 4)));
  CHECK(adopt(nullptr, 8, 8) == "[buffer] a null address found for 8 bytes, expected memory");
  CHECK(given_back == 0);
}

TEST_CASE("tensor: foreign memory can be computed with, and is never written to") {
  const OnCpu cpu;
  ForeignArray array;
  {
    Tensor x = Tensor::of(array.adopted(), {2, 3}, DType::float32);
    CHECK(x.address() == reinterpret_cast<std::byte*>(array.values.data()));
    CHECK_FALSE(x.unique());
    CHECK(doubles(sum(x, 1)) == std::vector<double>{6, 15});
    Tape tape;  // a gradient that begins as foreign memory is copied before anything is added to it
    Tensor leaf = Tensor::full({7}, 1);
    tape.watch(leaf);
    Tensor y;
    {
      const Recording on(tape);
      y = add(mul(leaf, leaf), leaf);
    }
    const Tensor d_y = Tensor::of(array.adopted(), {7}, DType::float32);
    CHECK(doubles(tape.backward(y, d_y).of(leaf)) == std::vector<double>{3, 6, 9, 12, 15, 18, 21});
  }
  CHECK(array.values == std::vector<float>{1, 2, 3, 4, 5, 6, 7});
  CHECK(array.given_back == 2);
}

TEST_CASE("tensor: memory at an address that kernels cannot use is copied, too little of it is refused") {
  ForeignArray array;
  {
    const Tensor x = Tensor::of(array.adopted(2), {3}, DType::float32);
    CHECK(array.given_back == 1);
    CHECK(reinterpret_cast<std::uintptr_t>(x.address()) % 64 == 0);
    CHECK(x.unique());
  }
  CHECK(error_of([&] {
          Tensor::of(array.adopted(), {2, 2}, DType::float64);
        }) == "[tensor] 28 bytes of memory found, expected 32 for float64 of shape (2, 2)");
  CHECK(array.given_back == 2);
}

TEST_CASE("tensor: its buffer keeps the elements for outside readers") {
  const OnCpu cpu;
  Buffer owner;
  const float* elements = nullptr;
  {
    const Tensor x = Tensor::from<float>({3}, {1, 2, 3});
    owner = x.buffer();
    elements = x.data<float>();
    CHECK_FALSE(x.unique());
  }
  CHECK(reinterpret_cast<const float*>(owner.data()) == elements);
  CHECK(std::vector<float>(elements, elements + 3) == std::vector<float>{1, 2, 3});
  const Tensor again = Tensor::of(owner, {3}, DType::float32);
  CHECK(again.address() == owner.data());
}
