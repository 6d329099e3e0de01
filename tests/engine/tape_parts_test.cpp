#include "npzoo/engine/tape.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

Tensor number(double value) { return Tensor::full({}, value, DType::float64); }

/// Records an operation with a list of inputs.
void record_two(const Tensor& a, const Tensor& b) {
  const Tensor inputs[] = {a, b};
  Tensor out = number(0);
  record("probe", out, std::span(inputs), [](const Tensor&, Grads&) {});
}

}  // namespace

TEST_CASE("tape: numbers of recordings do not repeat within the life of a process") {
  CHECK(sizeof(Variable::tape) == 8);
  Tape tape;
  Tensor first = number(1), second = number(1);
  tape.watch(first);
  tape.clear();
  tape.watch(second);
  const auto number_of = [](const Tensor& leaf) { return leaf.variable().tape >> Variable::kPartBits; };
  CHECK(number_of(second) == number_of(first) + 1);
}

TEST_CASE("tape: a part refuses variables of another, in the forward and in the backward pass") {
  const std::string message =
      "[tape] found a tensor from another part of this recording, expected a leaf or a constant";
  Tape first, second;
  Tensor x = number(3);
  first.watch(x);
  second.follow(first);
  Tensor of_first;
  {
    const Recording on(first);
    of_first = square(x);
  }
  const Recording on(second);
  CHECK(error_of([&] { square(of_first); }) == message);
  CHECK(error_of([&] { mul(x, of_first); }) == message);
  CHECK(error_of([&] { record_two(x, of_first); }) == message);
  CHECK(error_of([&] { second.backward(of_first); }) == message);
  CHECK(square(of_first.detach()).item() == 81);
  const Tensor cube = mul(square(x), x);
  const Grads& grads = second.backward(cube);
  CHECK(grads.of(x).item() == 27);
  CHECK(error_of([&] { grads.of(of_first); }) == message);
  CHECK(first.backward(of_first).of(x).item() == 6);
}

TEST_CASE("tape: a leaf that is watched after the parts were made belongs to one of them") {
  Tape first, second;
  Tensor x = number(3), of_first = number(5), of_second = number(7);
  first.watch(x);
  second.follow(first);
  first.watch(of_first);
  second.watch(of_second);
  {
    const Recording on(first);
    CHECK_THROWS_AS(square(of_second), Error);
    const Grads& grads = first.backward(mul(x, of_first));
    CHECK(grads.of(x).item() == 5);
    CHECK(grads.of(of_first).item() == 3);
  }
  const Recording on(second);
  CHECK_THROWS_AS(square(of_first), Error);
  const Grads& grads = second.backward(mul(x, of_second));
  CHECK(grads.of(x).item() == 7);
  CHECK(grads.of(of_second).item() == 3);
}

TEST_CASE("tape: only the first part can be followed, and a new recording shares nothing with the old parts") {
  Tape first, second, third;
  Tensor x = number(3);
  first.watch(x);
  second.follow(first);
  CHECK(error_of([&] { third.follow(second); }) == "[tape] a recording that follows another cannot be followed");
  first.clear();
  Tensor y = number(2);
  first.watch(y);
  third.follow(first);
  const Recording on(third);
  CHECK(square(x).variable().tape == 0);  // of an old recording: a constant
  CHECK(third.backward(mul(x, y)).of(y).item() == 3);
}

#ifdef NPZOO_GUARD
TEST_CASE("tape: finds a write to a saved tensor before it spoils a gradient") {
  const OnCpu cpu;
  Tape tape;
  Tensor x = number(3), weight = number(2);
  const auto spoiled = [&](const std::function<void(Tensor & saved)>& write) {
    const Recording on(tape);
    tape.watch(weight);
    Tensor saved = x.clone();
    const Tensor out = mul(saved, weight);
    write(saved);
    return error_of([&] { tape.backward(out); });
  };
  const std::string message = "[tape] mul: a saved tensor has changed, expected the values that the operation recorded";
  CHECK(spoiled([](Tensor&) {}) == "no error");
  CHECK(spoiled([](Tensor& saved) { saved.values<double>()[0] = 4; }) == message);
  CHECK(spoiled([](Tensor& saved) { saved.view({1}).values<double>()[0] = 4; }) == message);
  CHECK(spoiled([](Tensor& saved) { saved = number(9); }) == "no error");  // another tensor: the old one is as it was
  CHECK(spoiled([](Tensor& saved) { static_cast<void>(saved.values<double>()[0]); }) == "no error");

  // By a pointer that no tensor handed out, as NumPy has to its arrays.
  std::vector<double> foreign{3};
  const Recording on(tape);
  tape.watch(weight);
  const Tensor out = mul(
      Tensor::of(Buffer::adopt(foreign.data(), sizeof(double), alignof(double), [](void*) {}), Shape{}, DType::float64),
      weight);
  foreign[0] = 4;
  CHECK(error_of([&] { tape.backward(out); }) == message);
}
#endif

TEST_CASE("tape: a part that runs again adds to the gradients outside it") {
  Tape outer;
  Tensor x = number(3), unused = number(1), y, z;
  {
    const Recording on(outer);
    outer.watch(x);
    outer.watch(unused);
    y = square(x);
    z = number(y.item() * 10 * x.item());  // y · 10 x
    record("part", z, {y, x}, [x, y, unused](const Tensor& d_z, Grads& grads) {
      Tape part(grads);
      CHECK(part.nested());
      Tensor ten = number(10), again;
      {
        const Recording inside(part);
        part.watch(ten);
        again = mul(mul(y, ten), x);
      }
      const Grads& found = part.backward(again, d_z);
      CHECK(found.wants(y));
      CHECK(found.of(ten).item() == 27);
      CHECK(error_of([&] { static_cast<void>(found.find(unused)); }) ==
            "[grads] found a tensor that this recording did not watch, expected a watched one");
    });
    CHECK(!outer.nested());
  }
  const Grads& grads = outer.backward(z);
  CHECK(grads.of(x).item() == 10 * 3 * 9);  // d 10 x³
  CHECK(grads.of(unused).item() == 0);
}
