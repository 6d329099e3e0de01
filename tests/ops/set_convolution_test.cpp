#include "npzoo/ops/set_convolution/set_convolution.h"

#include <type_traits>

#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/set_convolution/kernels.h"
#include "tests/ops/gradcheck_all.h"
#include "tests/testing.h"

namespace npzoo {

void set_convolution_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

const RegularGrid kLine = RegularGrid::over({-2.5, 0.0625, 81});
const RegularGrid kPlane = RegularGrid::over({-2, 0.21, 21}, {-2.5, 0.0625, 81});

Shape shape_of(const RegularGrid& grid, std::int64_t batch, std::int64_t channels) {
  const std::int64_t rows = grid.rows().count, columns = grid.columns().count;
  return grid.dims() == 1 ? Shape{batch, columns, channels} : Shape{batch, rows, columns, channels};
}

/// The weight of every pair of a point and a node, none left out: calls add(point, node, channel, weight).
template <class Add>
void for_weights(const Tensor& x, const Tensor& scales, const RegularGrid& grid, std::int64_t channels,
                 const Add& add) {
  const std::vector<double> places = doubles(x), lengths = doubles(scales);
  const std::int64_t points = x.dim(0) * x.dim(1), nodes = grid.nodes();
  for (std::int64_t n = 0; n < points; ++n)
    for (std::int64_t g = 0; g < nodes; ++g) {
      const double* place = places.data() + n * grid.dims();
      double squared = 0;
      for (int i = 0; i < grid.dims(); ++i) {
        const GridAxis& axis = grid.along(i);
        const std::int64_t at = i + 1 < grid.dims() ? g / grid.columns().count : g % grid.columns().count;
        squared += std::pow(place[i] - (axis.origin + static_cast<double>(at) * axis.step), 2);
      }
      for (std::int64_t c = 0; c < channels; ++c) {
        const double length = lengths[lengths.size() == 1 ? 0 : static_cast<std::size_t>(c)];
        add(n, n / x.dim(1) * nodes + g, c, std::exp(-squared / (2 * length * length)));
      }
    }
}

std::vector<double> dense_on_grid(const Tensor& x, const Tensor& values, const Tensor& scales,
                                  const RegularGrid& grid) {
  const std::int64_t channels = values.dim(2);
  const std::vector<double> from = doubles(values);
  std::vector<double> to(static_cast<std::size_t>(shape_of(grid, x.dim(0), channels).numel()));
  for_weights(x, scales, grid, channels, [&](std::int64_t n, std::int64_t g, std::int64_t c, double weight) {
    to[static_cast<std::size_t>(g * channels + c)] += weight * from[static_cast<std::size_t>(n * channels + c)];
  });
  return to;
}

std::vector<double> dense_at_points(const Tensor& x, const Tensor& nodes, const Tensor& scales,
                                    const RegularGrid& grid) {
  const std::int64_t channels = nodes.dim(-1);
  const std::vector<double> from = doubles(nodes);
  std::vector<double> to(static_cast<std::size_t>(x.dim(0) * x.dim(1) * channels));
  for_weights(x, scales, grid, channels, [&](std::int64_t n, std::int64_t g, std::int64_t c, double weight) {
    to[static_cast<std::size_t>(n * channels + c)] += weight * from[static_cast<std::size_t>(g * channels + c)];
  });
  return to;
}

/// Length scales from a step of the grid to some of them.
template <class T>
Tensor scales_of(std::int64_t count) {
  Tensor scales = Tensor::empty({count}, dtype_of<T>(), Device::cpu);
  double next = 0.07;
  for (T& scale : scales.template values<T>()) scale = static_cast<T>(next = next > 0.3 ? 0.07 : next * 1.3);
  return scales.to(default_device());
}

}  // namespace

TEST_CASE_TEMPLATE("set convolution: onto a grid and back it is the dense sum over all weights", T, float, double) {
  for (const RegularGrid& grid : {kLine, kPlane})
    for (const std::int64_t points : {0, 1, 33})
      for (const std::int64_t channels : {1, 2, 5, 33})
        for (const std::int64_t count : {std::int64_t{1}, channels}) {
          CAPTURE(grid.dims());
          CAPTURE(points);
          CAPTURE(channels);
          CAPTURE(count);
          const Tensor x = normal<T>({2, points, grid.dims()}, 1), scales = scales_of<T>(count);
          const Tensor values = normal<T>({2, points, channels}, 2);
          const Tensor nodes = points_to_grid(x, values, scales, grid);
          CHECK(nodes.shape() == shape_of(grid, 2, channels));
          CHECK(error(nodes, dense_on_grid(x, values, scales, grid)) <= kTolerance<T>);
          const Tensor field = normal<T>(nodes.shape(), 3), back = grid_to_points(x, field, scales, grid);
          CHECK(back.shape() == values.shape());
          // Sums of some hundred terms in T.
          CHECK(error(back, dense_at_points(x, field, scales, grid)) <= 4 * kTolerance<T>);
        }
}

TEST_CASE_TEMPLATE("set convolution: weights are exact within the reach of the dtype, and 0 beyond", T, float, double) {
  const RegularGrid grid = RegularGrid::over({0, 1, 31});
  const Tensor one = Tensor::full({1, 1, 1}, 1, dtype_of<T>()), scale = Tensor::full({1}, 1, dtype_of<T>());
  const std::vector<double> nodes =
      doubles(points_to_grid(Tensor::full({1, 1, 1}, 3, dtype_of<T>()), one, scale, grid));
  const double rounding = std::numeric_limits<T>::epsilon();
  for (int i = 0; i < 31; ++i) {
    CAPTURE(i);
    const double distance = std::abs(i - 3), weight = std::exp(-0.5 * distance * distance);
    const double found = nodes[static_cast<std::size_t>(i)];
    if (distance <= kSetConvolutionReach<T>)
      CHECK(std::abs(found - weight) <= 8 * rounding * weight);
    else
      CHECK(std::abs(found - weight) <= rounding * rounding);
    if (distance > kSetConvolutionReach<T> + 1) CHECK(found == 0);
  }
}

TEST_CASE("set convolution: float32 has no denormal weights") {
  const RegularGrid grid = RegularGrid::over({0, 1, 61}, {0, 1, 61});
  const Tensor one = Tensor::full({1, 1, 1}, 1), scale = Tensor::full({1}, 2);
  std::size_t positive = 0;
  for (const double weight : doubles(points_to_grid(Tensor::full({1, 1, 2}, 30), one, scale, grid))) {
    CHECK((weight == 0 || weight >= double{std::numeric_limits<float>::min()}));
    positive += weight > 0;
  }
  CHECK(positive >= 34 * 34);
}

TEST_CASE_TEMPLATE("set convolution: a point on a node has weight 1 for the smallest scales", T, float, double) {
  for (const double length : {1e-10, sizeof(T) == 4 ? 1e-30 : 1e-200, double{std::numeric_limits<T>::denorm_min()}}) {
    CAPTURE(length);
    Tensor x = Tensor::full({1, 1, 1}, 2, dtype_of<T>()), values = Tensor::full({1, 1, 1}, 3, dtype_of<T>()),
           scale = Tensor::full({1}, length, dtype_of<T>());
    Tape tape;
    for (Tensor* input : {&x, &values, &scale}) tape.watch(*input);
    Tensor nodes, back;
    {
      const Recording on(tape);
      nodes = points_to_grid(x, values, scale, RegularGrid::over({0, 1, 5}));
      back = grid_to_points(x, nodes, scale, RegularGrid::over({0, 1, 5}));
    }
    CHECK(doubles(nodes) == std::vector<double>{0, 0, 3, 0, 0});
    CHECK(doubles(back) == std::vector<double>{3});
    const Grads& grads = tape.backward(back, Tensor::full({1, 1, 1}, 1, dtype_of<T>()));
    CHECK(doubles(grads.of(values)) == std::vector<double>{1});
    CHECK(doubles(grads.of(x)) == std::vector<double>{0});
    CHECK(doubles(grads.of(scale)) == std::vector<double>{0});
  }
}

TEST_CASE("set convolution: many points at a node lose no digits") {
  constexpr std::int64_t kPoints = 200'000;
  const Tensor x = Tensor::zeros({1, kPoints, 1}), values = Tensor::full({1, kPoints, 2}, 0.1),
               scale = Tensor::full({1}, 1);
  const std::vector<double> nodes = doubles(points_to_grid(x, values, scale, RegularGrid::over({0, 1, 2})));
  // A part of 256 equal terms is rounded up to 256 times.
  for (const double sum : {nodes[0], nodes[1]}) CHECK(std::abs(sum / (kPoints * double{0.1F}) - 1) <= 4e-6);
}

TEST_CASE("set convolution: points in any order on a grid of many tiles") {
  const RegularGrid line = RegularGrid::over({-40, 0.03125, 2600}),
                    plane = RegularGrid::over({-2, 0.21, 41}, {-9, 0.0625, 290});
  for (const RegularGrid& grid : {line, plane}) {
    CAPTURE(grid.dims());
    constexpr std::int64_t kPoints = 700;  // a GPU sorts so many
    Tensor x = Tensor::empty({2, kPoints, grid.dims()}, DType::float64, Device::cpu);
    Random random(5);
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const GridAxis& axis = grid.along(static_cast<int>(i % grid.dims()));
      // From the grid, some from outside of it, and many from one place.
      const double place = random.uniform() < 0.3 ? 0.37 : 1.2 * random.uniform() - 0.1;
      x.data<double>()[i] = axis.origin + place * axis.step * static_cast<double>(axis.count);
    }
    x.data<double>()[5 * grid.dims()] = kInfinity;
    const Tensor here = x.to(default_device()), values = normal<double>({2, kPoints, 2}, 1);
    const Tensor lengths = Tensor::from<std::int64_t>({2}, {kPoints, 600}),
                 scale = Tensor::full({1}, 0.1, DType::float64);
    const Tensor nodes = points_to_grid(here, values, scale, grid, lengths);
    const auto set = [](const Tensor& t, std::int64_t b, std::int64_t points) {
      return slice(slice(t, 0, b, b + 1), 1, 0, points);
    };
    std::vector<double> exact = dense_on_grid(set(here, 0, kPoints), set(values, 0, kPoints), scale, grid);
    std::ranges::copy(dense_on_grid(set(here, 1, 600), set(values, 1, 600), scale, grid), std::back_inserter(exact));
    CHECK(error(nodes, exact) <= 4 * kTolerance<double>);
    check_deterministic(
        [&](const std::vector<Tensor>& in) { return points_to_grid(here, in[0], scale, grid, lengths); }, {values});
    for (int i = 0; i < grid.dims(); ++i) x.data<double>()[7 * grid.dims() + i] = kNaN;
    const std::vector<double> touched = doubles(points_to_grid(x.to(default_device()), values, scale, grid, lengths));
    for (std::size_t i = 0; i < touched.size(); ++i) CHECK(std::isnan(touched[i]) == (i < touched.size() / 2));
  }
}

TEST_CASE("set convolution: a node looks for its points in few tiles, and misses none") {
  constexpr std::int64_t kNodes = 1'000'000;
  const GridTiles tiles(RegularGrid::over({-3, 0.5, kNodes}), 16, 256);
  CHECK(tiles.count() == 3908);
  Random random(3);
  for (const double reach : {0.1, 20.0, 300.0}) {
    const auto steps = static_cast<std::int64_t>(reach / 0.5);
    for (int i = 0; i < 100; ++i) {
      const std::int64_t node = random.integer(0, kNodes);
      const NodeRange near = tiles.columns_near({node, node + 1}, reach);
      CHECK(near.end - near.begin <= (2 * steps + 5) / 256 + 2);
      const double x = -3 + 0.5 * static_cast<double>(node) + reach * (2 * random.uniform() - 1);
      CHECK(tiles.of(&x) >= near.begin);
      CHECK(tiles.of(&x) < near.end);
    }
  }
  for (const double everywhere : {kNaN, kInfinity}) CHECK(tiles.columns_near({0, 1}, everywhere).end == 3907);
  CHECK(tiles.of(&kNaN) == 3907);
}

TEST_CASE("set convolution: padding is not read and has no gradient") {
  for (const RegularGrid& grid : {kLine, kPlane}) {
    Tensor x = normal<double>({2, 5, grid.dims()}, 1), values = normal<double>({2, 5, 3}, 2);
    const Tensor first = points_to_grid(slice(x, 1, 0, 2), slice(values, 1, 0, 2), scales_of<double>(3), grid);
    const std::vector<double> kept = doubles(x), kept_values = doubles(values);
    const auto with_padding = [](const Tensor& t, const std::vector<double>& from, double padding) {
      std::vector<double> filled = from;
      const std::int64_t width = t.dim(2);
      for (std::size_t i = 0; i < filled.size(); ++i)
        if (static_cast<std::int64_t>(i) / width % 5 >= 2) filled[i] = padding;
      return Tensor::from<double>(t.shape(), std::span<const double>(filled)).to(default_device());
    };
    x = with_padding(x, kept, kNaN);
    values = with_padding(values, kept_values, kNaN);
    const Tensor lengths = Tensor::from<std::int64_t>({2}, {2, 2});
    Tape tape;
    tape.watch(values);
    tape.watch(x);
    Tensor nodes, scales = scales_of<double>(3);
    tape.watch(scales);
    {
      const Recording on(tape);
      nodes = points_to_grid(x, values, scales, grid, lengths);
    }
    CHECK(same_bits(nodes, first));
    const Grads& grads = tape.backward(nodes, cotangent(nodes));
    for (const double slope : doubles(grads.of(scales))) CHECK(std::isfinite(slope));
    const std::vector<double> slopes = doubles(grads.of(values));
    for (std::size_t i = 0; i < slopes.size(); ++i) CHECK((slopes[i] == 0) == (i / 3 % 5 >= 2));
    const std::vector<double> of_places = doubles(grads.of(x));
    const std::size_t dims = static_cast<std::size_t>(grid.dims());
    for (std::size_t i = 0; i < of_places.size(); ++i) CHECK((of_places[i] == 0) == (i / dims % 5 >= 2));
  }
}

TEST_CASE("set convolution: NaN reaches every node, and points far from the grid none") {
  for (const RegularGrid& grid : {kLine, kPlane}) {
    const auto at = [&](double place) { return Tensor::full({1, 1, grid.dims()}, place, DType::float64); };
    const Tensor one = Tensor::full({1, 1, 1}, 1, DType::float64), scale = scales_of<double>(1);
    for (const double value : doubles(points_to_grid(at(kNaN), one, scale, grid))) CHECK(std::isnan(value));
    const Tensor field = Tensor::full(shape_of(grid, 1, 1), 1, DType::float64);
    CHECK(std::isnan(doubles(grid_to_points(at(kNaN), field, scale, grid)).front()));
    // That of a channel among others as well, which are short and do not reach far nodes.
    const Tensor scales = Tensor::from<double>({3}, {0.01, kNaN, 0.01}),
                 three = Tensor::full({1, 1, 3}, 1, DType::float64);
    const std::vector<double> nodes = doubles(points_to_grid(at(-1.5), three, scales, grid));
    for (std::size_t i = 0; i < nodes.size(); ++i) CHECK(std::isnan(nodes[i]) == (i % 3 == 1));
    for (const double place : {-1e300, -9.0, 9.0, kInfinity}) {
      for (const double value : doubles(points_to_grid(at(place), one, scale, grid))) CHECK(value == 0);
      CHECK(doubles(grid_to_points(at(place), field, scale, grid)).front() == 0);
    }
  }
}

TEST_CASE("set convolution: shifted points on a shifted grid, and a grid without nodes") {
  const double shift = 24 * 0.0625;  // exact in binary, like the grid
  const RegularGrid moved = RegularGrid::over({kLine.columns().origin + shift, 0.0625, 81});
  Tensor x = Tensor::empty({1, 9, 1}, DType::float64, Device::cpu), there = x.clone();
  Random random(4);
  for (std::int64_t i = 0; i < 9; ++i) {
    x.data<double>()[i] = static_cast<double>(random.integer(-2048, 2048)) / 1024;
    there.data<double>()[i] = x.data<double>()[i] + shift;
  }
  const Tensor values = normal<double>({1, 9, 2}, 3), scales = scales_of<double>(2);
  const auto on_device = [](const Tensor& t) { return t.to(default_device()); };
  CHECK(same_bits(points_to_grid(on_device(x), values, scales, kLine),
                  points_to_grid(on_device(there), values, scales, moved)));
  const RegularGrid empty = RegularGrid::over({0, 1, 0});
  CHECK(points_to_grid(on_device(x), values, scales, empty).shape() == Shape{1, 0, 2});
  CHECK(doubles(grid_to_points(on_device(x), Tensor::zeros({1, 0, 2}, DType::float64), scales, empty)) ==
        std::vector<double>(18));
}

TEST_CASE("set convolution: float32 follows float64, the same bits for any number of threads") {
  for (const RegularGrid& grid : {kLine, kPlane})
    for (const std::int64_t count : {1, 3}) {
      const Tensor x = normal<float>({2, 300, grid.dims()}, 1);
      const Function onto = [=](const std::vector<Tensor>& in) { return points_to_grid(in[2], in[0], in[1], grid); };
      const Function back = [=](const std::vector<Tensor>& in) { return grid_to_points(in[2], in[0], in[1], grid); };
      const std::vector<Tensor> points{normal<float>({2, 300, 3}, 2), scales_of<float>(count), x};
      const std::vector<Tensor> nodes{normal<float>(shape_of(grid, 2, 3), 3), scales_of<float>(count), x};
      check_deterministic(onto, points);
      check_deterministic(back, nodes);
      // Sums of n = some hundred terms of either sign: n roundings of Σ |term|, of which the sum may be a tenth.
      check_float_against_double(onto, points, 64 * kTolerance<float>);
      check_float_against_double(back, nodes, 64 * kTolerance<float>);
    }
}

TEST_CASE("set convolution: errors") {
  const Tensor x = Tensor::zeros({2, 3, 1}), values = Tensor::zeros({2, 3, 4}), scales = Tensor::full({1}, 1);
  CHECK_THROWS_WITH_AS(points_to_grid(Tensor::zeros({2, 3, 2}), values, scales, kLine),
                       "[points_to_grid] x is (2, 3, 2), expected (B, N, 1)", Error);
  CHECK_THROWS_WITH_AS(points_to_grid(x, Tensor::zeros({2, 4, 4}), scales, kLine),
                       "[points_to_grid] values are (2, 4, 4), expected (2, 3, C)", Error);
  CHECK_THROWS_WITH_AS(points_to_grid(x, values, Tensor::zeros({3}), kLine),
                       "[points_to_grid] scales are (3), expected (1) or (4)", Error);
  CHECK_THROWS_WITH_AS(points_to_grid(x, values, scales.to(DType::float64), kLine),
                       "[points_to_grid] x is float32, values float32, scales float64", Error);
  CHECK_THROWS_WITH_AS(points_to_grid(x, values, scales, kLine, Tensor::from<std::int64_t>({2}, {3, 4})),
                       "[points_to_grid] length 1 is 4, expected in [0, 3]", Error);
  CHECK_THROWS_WITH_AS(grid_to_points(x, Tensor::zeros({2, 80, 4}), scales, kLine),
                       "[grid_to_points] values are (2, 80, 4), expected (2, 81, 4)", Error);
}

TEST_CASE("regular_grid: only legal grids can be made") {
  static_assert(!std::is_aggregate_v<RegularGrid> && !std::is_default_constructible_v<RegularGrid>);
  const GridAxis good{0, 1, 5};
  CHECK_THROWS_WITH_AS(RegularGrid::over({0, -1, 5}),
                       "[regular_grid] found 5 nodes in steps of -1, expected 0 or more in steps above 0", Error);
  CHECK_THROWS_WITH_AS(RegularGrid::over(good, {0, 1, -2}),
                       "[regular_grid] found -2 nodes in steps of 1, expected 0 or more in steps above 0", Error);
  CHECK_THROWS_WITH_AS(RegularGrid::over({kNaN, 1, 5}, good),
                       "[regular_grid] found an axis from nan in steps of 1, expected finite numbers", Error);
  CHECK_THROWS_WITH_AS(RegularGrid::over({0, 1, std::int64_t{1} << 41}),
                       "[regular_grid] found 2199023255552 nodes, expected at most 1099511627776", Error);
  const GridAxis long_axis{0, 1, std::int64_t{1} << 32};
  CHECK_THROWS_WITH_AS(RegularGrid::over(long_axis, long_axis),
                       "[regular_grid] found 4294967296 x 4294967296 nodes, expected at most 1099511627776", Error);
  const RegularGrid line = RegularGrid::over({1, 2, 3}), plane = RegularGrid::over({1, 2, 3}, {4, 5, 6});
  CHECK(line.nodes() == 3);
  CHECK(line.along(0) == line.columns());
  CHECK(plane.nodes() == 18);
  CHECK(plane.along(0) == GridAxis{1, 2, 3});
  CHECK(plane.along(1) == GridAxis{4, 5, 6});
}

TEST_CASE("set convolution: nodes pull at the places of points by how their weights change") {
  // One weight w = exp(−d² / 2 l²) of a node at distance d: ∂w/∂x = (node − x) w / l², along each input.
  const RegularGrid one = RegularGrid::over({0.5, 1, 1}, {-0.25, 1, 1});
  Tensor x = Tensor::from<double>({1, 2, 2}, {0.1, 0.3, 40, 0}).to(default_device());
  const Tensor scale = Tensor::full({1}, 0.7, DType::float64), node = Tensor::full({1, 1, 1, 1}, 3, DType::float64);
  Tape tape;
  tape.watch(x);
  Tensor out;
  {
    const Recording on(tape);
    out = grid_to_points(x, node, scale, one);
  }
  const std::vector<double> d_x = doubles(tape.backward(out, Tensor::full({1, 2, 1}, 1, DType::float64)).of(x));
  const double weight = std::exp(-(0.4 * 0.4 + 0.55 * 0.55) / (2 * 0.49));
  CHECK(d_x[0] == doctest::Approx(3 * 0.4 * weight / 0.49).epsilon(1e-13));
  CHECK(d_x[1] == doctest::Approx(3 * -0.55 * weight / 0.49).epsilon(1e-13));
  CHECK(d_x[2] == 0);  // too far away
  CHECK(d_x[3] == 0);
}

TEST_CASE("set convolution: gradients") { gradcheck_all(set_convolution_gradcheck_cases); }

}  // namespace npzoo
