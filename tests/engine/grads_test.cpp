#include "npzoo/engine/tape.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/linear/linear.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

using Values = std::vector<double>;

TEST_CASE("grads: a gradient that stands in two slots is not changed through one of them") {
  for (bool by_kernel : {false, true}) {
    Tape tape;
    const Recording on(tape);
    Tensor a = Tensor::full({1, 2}, 1, DType::float64), b = a.clone();
    tape.watch(a);
    tape.watch(b);
    const Tensor identity = Tensor::from<double>({2, 2}, {1, 0, 0, 1}), d_out = Tensor::from<double>({1, 2}, {5, 6});
    const Tensor first = by_kernel ? linear(a, identity, {}) : affine(a, 1, 0);
    const Tensor out = add(first, add(a, b));  // d_out itself reaches a and b before the other part of a
    const Grads& grads = tape.backward(out, d_out);
    CHECK(doubles(grads.of(a)) == Values{10, 12});
    CHECK(doubles(grads.of(b)) == Values{5, 6});
    CHECK(doubles(d_out) == Values{5, 6});
  }
}

TEST_CASE("grads: a gradient that a kernel is to write takes no other contribution") {
  const std::string expected =
      "[grads] found a second contribution to a gradient of shape (2) while the first is being written";
  const auto write = [](Tensor& grad, bool accumulate, double value) {
    for (double& x : grad.values<double>()) x = accumulate ? x + value : value;
  };
  Tape tape;
  const Recording on(tape);
  Tensor x = Tensor::zeros({2}, DType::float64);
  tape.watch(x);
  Tensor out = x.detach().clone();
  record("twice", out, {x}, [&](const Tensor& d_out, Grads& grads) {
    {
      auto [first, accumulate] = grads.into(x);
      CHECK(!accumulate);
      CHECK(error_of([&] { grads.into(x); }) == expected);
      CHECK(error_of([&] { grads.add(x, d_out); }) == expected);
      write(first, accumulate, 3);
    }
    {
      auto [second, accumulate] = grads.into(x);
      CHECK(accumulate);
      CHECK(error_of([&] { grads.into(x); }) == expected);
      write(second, accumulate, 4);
    }
    grads.add(x, d_out);
  });
  CHECK(doubles(tape.backward(out, Tensor::full({2}, 1, DType::float64)).of(x)) == Values{8, 8});
}

TEST_CASE("grads: a gradient is added to in place once it is not shared") {
  Tape tape;
  const Recording on(tape);
  Tensor x = Tensor::zeros({2}, DType::float64);
  tape.watch(x);
  Tensor out = x.detach().clone();
  record("both", out, {x}, [&](const Tensor& d_out, Grads& grads) {
    grads.add(x, d_out);  // shares what comes in
    auto [grad, accumulate] = grads.into(x);
    CHECK(accumulate);
    CHECK(doubles(grad) == Values{1, 1});
    for (double& g : grad.values<double>()) g += 1;
    CHECK(doubles(d_out) == Values{1, 1});
  });
  CHECK(doubles(tape.backward(out, Tensor::full({2}, 1, DType::float64)).of(x)) == Values{2, 2});
}
