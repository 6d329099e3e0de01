#include "npzoo/engine/tensor.h"

#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE("tensor: a default one is undefined") {
  const Tensor none;
  CHECK(!none.defined());
  CHECK(none.numel() == 0);
  CHECK(none.data<float>() == nullptr);
  CHECK(none.data<double>() == nullptr);
  CHECK(!none.unique());
  CHECK(!none.clone().defined());
  CHECK(!none.to(DType::float64).defined());
}

TEST_CASE("tensor: made of values") {
  const Tensor x = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(x.defined());
  CHECK(x.shape() == Shape{2, 3});
  CHECK(x.rank() == 2);
  CHECK(x.dim(-1) == 3);
  CHECK(x.numel() == 6);
  CHECK(x.bytes() == 24);
  CHECK(x.dtype() == DType::float32);
  CHECK(x.device() == default_device());
  CHECK(doubles(x) == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(doubles(Tensor::zeros({2}, DType::int64)) == std::vector<double>{0, 0});
  CHECK(doubles(Tensor::full({3}, 0.5, DType::float64)) == std::vector<double>{0.5, 0.5, 0.5});
  CHECK(Tensor::from<std::int64_t>({}, {7}).item() == 7);
  CHECK(Tensor::zeros_like(x).shape() == x.shape());
  CHECK(Tensor::empty_like(Tensor::zeros({1}, DType::float64)).dtype() == DType::float64);
}

TEST_CASE("tensor: no elements is a legal size") {
  const Tensor x = Tensor::zeros({3, 0, 2});
  CHECK(x.defined());
  CHECK(x.bytes() == 0);
  CHECK(x.values<float>().empty());
  CHECK(x.clone().shape() == Shape{3, 0, 2});
  CHECK(x.view({0}).shape() == Shape{0});
}

TEST_CASE("tensor: copies share their elements, clones do not") {
  Tensor x = Tensor::from<double>({2}, {1, 2});
  CHECK(x.unique());
  {
    const Tensor copy = x, view = x.view({1, 2}), detached = x.detach();
    CHECK(!x.unique());
    x.data<double>()[0] = 5;
    CHECK(copy.data<double>()[0] == 5);
    CHECK(view.data<double>()[0] == 5);
    CHECK(detached.data<double>()[0] == 5);
  }
  CHECK(x.unique());
  const Tensor own = x.clone();
  CHECK(x.unique());
  x.data<double>()[0] = 6;
  CHECK(own.data<double>()[0] == 5);
}

TEST_CASE("tensor: conversion") {
  const Tensor x = Tensor::from<double>({3}, {1.75, -2.25, 1e-50});
  CHECK(doubles(x.to(DType::float32)) == std::vector<double>{1.75, -2.25, 0});
  CHECK(doubles(x.to(DType::int64)) == std::vector<double>{1, -2, 0});
  for (const double value : {kNaN, kInfinity, 9223372036854775808.0, -9223372036854777856.0}) {
    CAPTURE(value);
    const std::string message = fmt::format("[tensor] {} found, expected a value that int64 can hold", value);
    CHECK(error_of([&] { Tensor::full({1}, value, DType::float64).to(DType::int64); }) == message);
    CHECK(error_of([&] { Tensor::full({1}, value, DType::int64); }) == message);
  }
  CHECK(Tensor::full({}, -9223372036854775808.0, DType::float64).to(DType::int64).item() == -9223372036854775808.0);
  CHECK(x.to(DType::float64).data<double>() == x.data<double>());
}

TEST_CASE("tensor: only the tensor itself carries its place on the tape") {
  Tensor x = Tensor::from<float>({2}, {1, 2});
  x.set_variable({3, 7});
  const Tensor copy = x, symbol = x.symbol();
  CHECK(copy.variable().tape == 3);
  CHECK(copy.variable().index == 7);
  CHECK(symbol.variable().index == 7);
  CHECK(symbol.shape() == Shape{2});
  CHECK(!symbol.defined());
  CHECK(x.detach().variable().tape == 0);
  CHECK(x.clone().variable().tape == 0);
  CHECK(x.view({2, 1}).variable().tape == 0);
  CHECK(x.to(DType::float64).variable().tape == 0);
}

TEST_CASE("tensor: a recording refuses copies of variables that would have no gradient") {
  Tape tape;
  Tensor x = Tensor::from<float>({2}, {1, 2});
  const Tensor constant = Tensor::from<float>({2}, {3, 4});
  tape.watch(x);
  const auto message = [](const char* function) {
    return fmt::format(
        "[{}] found a variable of the recording, expected a constant, since the result has no gradient; use detach()",
        function);
  };
  {
    const Recording on(tape);
    const Tensor y = square(x);
    for (const Tensor& variable : {x, y}) {
      CHECK(error_of([&] { variable.clone(); }) == message("clone"));
      CHECK(error_of([&] { variable.view({2, 1}); }) == message("view"));
      CHECK(error_of([&] { variable.to(DType::float64); }) == message("to"));
      CHECK_NOTHROW(variable.to(DType::float32));  // nothing changes, so it stays the variable
      CHECK(doubles(variable.detach().view({2, 1})) == doubles(variable.detach().clone()));
      const NoGrad off;
      CHECK_NOTHROW(variable.clone());
    }
    CHECK(sum(y).item() == 5);  // a number has no gradient anyway
    CHECK_NOTHROW(constant.clone());
    CHECK_NOTHROW(constant.view({2, 1}).to(DType::float64));
  }
  CHECK_NOTHROW(x.clone());
}

TEST_CASE("tensor: a recording refuses to copy a variable to another device") {
  if (!has_gpu()) return;
  const OnCpu cpu;
  Tape tape;
  Tensor x = Tensor::from<float>({2}, {1, 2});
  tape.watch(x);
  const Recording on(tape);
  CHECK(error_of([&] { x.to(Device::cuda); }).starts_with("[to] found a variable of the recording"));
  CHECK_NOTHROW(x.to(Device::cpu));
  CHECK(x.detach().to(Device::cuda).device() == Device::cuda);
}

TEST_CASE("tensor: the host cannot take the address of elements on a device") {
  if (!has_gpu() || unified_memory()) return;
  Tensor there = Tensor::zeros({2}, DType::int64, Device::cuda);
  const std::string message = "[tensor] elements are on cuda, expected them on the CPU";
  CHECK(error_of([&] { there.data<std::int64_t>(); }) == message);
  CHECK(error_of([&] { std::as_const(there).data<std::int64_t>(); }) == message);
  CHECK(error_of([&] { there.values<std::int64_t>(); }) == message);
  CHECK(there.address() != nullptr);
  CHECK(there.symbol().data<std::int64_t>() == nullptr);
}

TEST_CASE("tensor: errors") {
  const Tensor x = Tensor::zeros({2, 3});
  CHECK(error_of([&] { x.item(); }) == "[item] shape (2, 3) has 6 elements, expected one");
  CHECK(error_of([&] { Tensor().item(); }) == "[item] shape () has 0 elements, expected one");
  CHECK(error_of([&] { x.view({4}); }) == "[view] shape (2, 3) with 6 elements cannot be seen as (4)");
  CHECK(error_of([&] { x.data<double>(); }) == "[tensor] elements are float32, read as float64");
  CHECK(error_of([] { Tensor::from<float>({2, 2}, {1, 2, 3}); }) == "[tensor] 3 values given for shape (2, 2)");
  CHECK(error_of([] {
          Tensor::empty({std::int64_t{1} << 40, std::int64_t{1} << 40});
        }) == "[tensor] (1099511627776, 1099511627776) has more elements than memory can hold");
  CHECK(Tensor::empty({0, std::int64_t{1} << 62, 4}).numel() == 0);
}
