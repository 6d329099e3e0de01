#include "npzoo/ops/concat/concat.h"

#include "npzoo/ops/mask_points/mask_points.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void concat_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

/// Element i of `shape` as positions along each axis.
std::vector<std::int64_t> coordinates(std::int64_t i, const Shape& shape) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    at[static_cast<std::size_t>(axis)] = i % shape[axis];
    i /= shape[axis];
  }
  return at;
}

std::int64_t offset(const std::vector<std::int64_t>& at, const Shape& shape) {
  std::int64_t result = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) result = result * shape[axis] + at[static_cast<std::size_t>(axis)];
  return result;
}

/// True if `part` is what `whole` has from position `begin` of `axis` on.
template <class T>
bool is_piece(const Tensor& part, const Tensor& whole, int axis, std::int64_t begin) {
  for (std::int64_t i = 0; i < part.numel(); ++i) {
    auto at = coordinates(i, part.shape());
    at[static_cast<std::size_t>(axis)] += begin;
    if (part.data<T>()[i] != whole.data<T>()[offset(at, whole.shape())]) return false;
  }
  return true;
}

}  // namespace

TEST_CASE_TEMPLATE("concat, slice, split: values", T, float, double) {
  for (std::int64_t n : {0, 1, 33, 129})
    for (const Shape& shape : {Shape{0}, Shape{5, 0}, Shape{0, 7}, Shape{2, 0, 3}, Shape{2, 33, 4, 0}})
      for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape.with(axis, 1).numel() == 0) continue;
        CAPTURE(to_string(shape.with(axis, n)));
        const Tensor a = normal<T>(shape.with(axis, n), 1), b = normal<T>(shape.with(axis, 2), 2);
        const Tensor whole = concat({a, b, a}, axis);
        CHECK(whole.shape() == shape.with(axis, 2 * n + 2));
        CHECK(same_bits(whole, concat({a, b, a}, axis - shape.rank())));
        CHECK(is_piece<T>(a, whole, axis, 0));
        CHECK(is_piece<T>(b, whole, axis, n));
        CHECK(is_piece<T>(a, whole, axis, n + 2));

        CHECK(same_bits(slice(whole, axis, n, n + 2), b));
        CHECK(same_bits(slice(whole, axis - shape.rank(), 0, 2 * n + 2), whole));
        CHECK(slice(whole, axis, n, n).shape() == shape.with(axis, 0));

        const std::vector<Tensor> pieces = split(whole, axis, {n, 2, 0, n});
        CHECK(pieces.size() == 4);
        CHECK(same_bits(pieces[0], a));
        CHECK(same_bits(pieces[1], b));
        CHECK(same_bits(pieces[3], a));
        CHECK(same_bits(concat(pieces, axis), whole));
      }
}

TEST_CASE("concat: a copy, also of one tensor; NaN and infinity are copied") {
  const Tensor x = Tensor::from<double>({3}, {kNaN, kInfinity, -0.0});
  const Tensor y = concat({x}, 0);
  CHECK(same_bits(x, y));
  CHECK(x.data<double>() != y.data<double>());
}

TEST_CASE("slice: gradients of many slices share one tensor, and stay apart from others") {
  Tape tape;
  Tensor x = normal<double>({6}, 1);
  tape.watch(x);
  std::vector<Tensor> pieces;
  {
    Recording on(tape);
    for (std::int64_t i = 0; i < 4; ++i) pieces.push_back(slice(x, 0, i, i + 3));
    pieces = {concat(pieces, 0)};
  }
  const Tensor ones = Tensor::full({12}, 1, DType::float64);
  CHECK(doubles(tape.backward(pieces[0], ones).of(x)) == std::vector<double>{1, 2, 3, 3, 2, 1});
  CHECK(doubles(ones) == std::vector<double>(12, 1));
}

TEST_CASE("split: pieces that nothing depends on have gradient 0") {
  Tape tape;
  Tensor x = normal<float>({2, 5}, 1);
  tape.watch(x);
  std::vector<Tensor> pieces;
  {
    Recording on(tape);
    pieces = split(x, 1, {1, 2, 2});
  }
  CHECK(tape.size() == 1);
  const Tensor d_x = tape.backward(pieces[1], Tensor::from<float>({2, 2}, {1, 2, 3, 4})).of(x);
  CHECK(doubles(d_x) == std::vector<double>{0, 1, 2, 0, 0, 0, 3, 4, 0, 0});
}

TEST_CASE("concat: recorded only where it must be") {
  Tape tape;
  Tensor x = normal<float>({2}, 1);
  const Tensor constant = normal<float>({2}, 2);
  tape.watch(x);
  Recording on(tape);
  CHECK(concat({constant, constant}, 0).variable().tape == 0);
  CHECK(concat({constant, x}, 0).variable().tape != 0);
  CHECK(tape.size() == 1);
  CHECK(tape.name(0) == "concat");
}

TEST_CASE_TEMPLATE("concat_points: sets behind each other, zeros for columns and points that are missing", T, float,
                   double) {
  const T nan = static_cast<T>(kNaN);
  const Tensor x = Tensor::from<T>({2, 2, 1}, {1, nan, 2, 3}),
               y = Tensor::from<T>({2, 2, 2}, {4, 5, nan, nan, 6, 7, 8, 9});
  const Tensor lengths = Tensor::from<std::int64_t>({2}, {1, 2}), more = Tensor::from<T>({2, 1, 1}, {10, 11});
  const Function joined = [&](const std::vector<Tensor>& in) {
    return concat_points({{{in[0], in[1]}, lengths}, {{in[2]}}});
  };
  const auto found = with_gradients(joined, {x, y, more});
  CHECK(found[0].shape() == Shape{2, 3, 3});
  CHECK(doubles(found[0]) == std::vector<double>{1, 4, 5, 0, 0, 0, 10, 0, 0, 2, 6, 7, 3, 8, 9, 11, 0, 0});
  // Gradients are those of the same points, joined step by step. Padding has none.
  const Function steps = [&](const std::vector<Tensor>& in) {
    const Tensor first = concat({mask_points(in[0], lengths), mask_points(in[1], lengths)}, -1);
    return concat({first, concat({in[2], Tensor::zeros({2, 1, 2}, dtype_of<T>())}, -1)}, 1);
  };
  const auto expected = with_gradients(steps, {x, y, more});
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(same_bits(found[i], expected[i]));
}

TEST_CASE("concat_points: an array that occurs twice, and more arrays than a kernel takes") {
  const Tensor x = normal<double>({2, 5, 3}, 1);
  const Function many = [](const std::vector<Tensor>& in) {
    return concat_points({{std::vector<Tensor>(13, in[0])}, {{in[0]}}});
  };
  const Function steps = [](const std::vector<Tensor>& in) {
    const Tensor wide = concat(std::vector<Tensor>(13, in[0]), -1);
    return concat({wide, concat({in[0], Tensor::zeros({2, 5, 36}, DType::float64)}, -1)}, 1);
  };
  const auto found = with_gradients(many, {x}), expected = with_gradients(steps, {x});
  CHECK(same_bits(found[0], expected[0]));
  CHECK(error(found[1], doubles(expected[1])) <= 1e-14);
}

TEST_CASE("concat_points: errors") {
  const Tensor x = Tensor::zeros({2, 3, 1}), y = Tensor::zeros({2, 4, 1});
  const auto join = [](std::vector<PointsToJoin> sets) { concat_points(sets); };
  CHECK_THROWS_WITH_AS(join({}), "[concat_points] no points given, expected a set or more", Error);
  CHECK_THROWS_WITH_AS(join({{{x}}, {}}), "[concat_points] a set without arrays found, expected one or more", Error);
  CHECK_THROWS_WITH_AS(join({{{Tensor::zeros({3})}}}), "[concat_points] (3) found, expected (B, N, D)", Error);
  CHECK_THROWS_WITH_AS(join({{{x, y}}}), "[concat_points] (2, 4, 1) found, expected (2, 3, D)", Error);
  CHECK_THROWS_WITH_AS(join({{{x}}, {{Tensor::zeros({1, 4, 1})}}}),
                       "[concat_points] (1, 4, 1) found, expected (2, 4, D)", Error);
  CHECK_THROWS_WITH_AS(join({{{x, x.to(DType::float64)}}}), "[concat_points] float64 found beside float32", Error);
  CHECK_THROWS_WITH_AS(join({{{x}, Tensor::from<std::int64_t>({2}, {4, 0})}}),
                       "[concat_points] length 0 is 4, expected in [0, 3]", Error);
}

TEST_CASE_TEMPLATE("copy_slices: tensors and constants, several in one call", T, float, double) {
  const Tensor whole = normal<T>({2, 4}, 1), other = normal<T>({3}, 2), before = whole.clone();
  copy_slices(std::vector<SliceToCopy>{
      {Tensor::full({2, 1}, 5, dtype_of<T>()), 1, 0, whole}, {{}, 1, 2, whole, 2, 7}, {{}, 0, 1, other, 1}});
  const auto old = doubles(before);
  CHECK(doubles(whole) == std::vector<double>{5, old[1], 7, 7, 5, old[5], 7, 7});
  CHECK(doubles(other)[1] == 0);
  CHECK_THROWS_WITH_AS(copy_slices(std::vector<SliceToCopy>{{{}, 1, 3, whole, 2}}),
                       "[copy_slice] (2, 2) does not fit (2, 4) from position 3 of axis 1 on", Error);
}

TEST_CASE("concat, slice, split: errors") {
  const Tensor x = Tensor::zeros({2, 3}), y = Tensor::zeros({2, 4});
  CHECK_THROWS_WITH_AS(concat({}, 0), "[concat] no tensors given, expected one or more", Error);
  CHECK_THROWS_WITH_AS(concat({x}, 2), "[concat] axis 2 does not exist in (2, 3)", Error);
  CHECK_THROWS_WITH_AS(concat({x, y}, 0), "[concat] tensor 1 has shape (2, 4), expected (2, 3) in all but axis 0",
                       Error);
  CHECK_THROWS_WITH_AS(concat({x, x, Tensor::zeros({2})}, -1),
                       "[concat] tensor 2 has shape (2), expected (2, 3) in all but axis 1", Error);
  CHECK_THROWS_WITH_AS(concat({x, x.to(DType::float64)}, 0), "[concat] tensor 1 is float64, the first one float32",
                       Error);
  CHECK_THROWS_WITH_AS(slice(x, -3, 0, 1), "[slice] axis -3 does not exist in (2, 3)", Error);
  for (const auto& [begin, end] : {std::pair{-1, 1}, {2, 1}, {0, 4}}) {
    const std::string message = fmt::format("[slice] [{}, {}) is not within [0, 3) of axis 1 of (2, 3)", begin, end);
    CHECK_THROWS_WITH_AS(slice(x, 1, begin, end), message.c_str(), Error);
  }
  CHECK_THROWS_WITH_AS(split(x, 2, {1}), "[split] axis 2 does not exist in (2, 3)", Error);
  CHECK_THROWS_WITH_AS(split(x, 1, {1, 1}),
                       "[split] sizes (1, 1) found, expected none below 0 and a sum of 3 for axis 1 of (2, 3)", Error);
  CHECK_THROWS_WITH_AS(split(x, 1, {4, -1}),
                       "[split] sizes (4, -1) found, expected none below 0 and a sum of 3 for axis 1 of (2, 3)", Error);
}

TEST_CASE("concat, slice, split: numbers that would overflow are refused") {
  constexpr std::int64_t kLarge = std::numeric_limits<std::int64_t>::max();
  Tensor x = Tensor::zeros({2, 3});
  CHECK_THROWS_WITH_AS(copy_slice(Tensor::zeros({2, 1}), 1, kLarge, x),
                       "[copy_slice] (2, 1) does not fit (2, 3) from position 9223372036854775807 of axis 1 on", Error);
  CHECK_THROWS_AS(static_cast<void>(split(x, 1, {kLarge, kLarge, 5})), Error);
}

TEST_CASE("concat, slice, split: the same bits for any number of threads") {
  const Tensor x = normal<float>({300, 200}, 1), y = normal<float>({300, 130}, 2);
  const Function rows = [](const std::vector<Tensor>& in) {
    const std::vector<Tensor> pieces = split(in[0], 1, {130, 70});
    return concat({pieces[0], slice(in[0], 1, 70, 200), in[1]}, 0);
  };
  check_float_against_double(rows, {x, y});
  check_deterministic(rows, {x, y});
}

TEST_CASE("concat, slice, split: gradients") { gradcheck_all(concat_gradcheck_cases); }

}  // namespace npzoo
