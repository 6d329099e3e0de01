#include "npzoo/ops/local_taylor/local_taylor.h"

#include <doctest/doctest.h>

#include <array>
#include <utility>

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Points as they are given to the operation, and what it should say of them, by the definition in double.
struct TaylorReference {
  Tensor x, y;
  std::int64_t context;
  std::vector<std::int64_t> lengths;
  Tensor noise{};

  std::vector<double> xs = doubles(x), ys = doubles(y),
                      noises = noise.defined() ? doubles(noise) : std::vector<double>();
  std::int64_t points = x.dim(1), k = x.dim(2), dy = y.dim(2);
  /// In the order of LocalTaylor.
  std::array<std::vector<double>, 7> expected{};

  double x_of(std::int64_t b, std::int64_t i, std::int64_t d) const { return xs[(b * points + i) * k + d]; }
  double y_of(std::int64_t b, std::int64_t i, std::int64_t c) const { return ys[(b * points + i) * dy + c]; }

  /// From the nearest on, the lower index where two are as near; where there is one of two, it twice.
  std::vector<std::int64_t> near(std::int64_t b, std::int64_t i) const {
    std::vector<std::pair<double, std::int64_t>> known;
    for (std::int64_t j = 0; j < (i < context ? context : i); ++j) {
      if (j == i || (j < context && j >= lengths[b])) continue;
      double square = 0;
      for (std::int64_t d = 0; d < k; ++d) square += (x_of(b, i, d) - x_of(b, j, d)) * (x_of(b, i, d) - x_of(b, j, d));
      known.emplace_back(square, j);
    }
    std::ranges::stable_sort(known, {}, &std::pair<double, std::int64_t>::first);
    std::vector<std::int64_t> found;
    for (std::int64_t n = 0; n < std::min<std::int64_t>(k, std::ssize(known)); ++n) found.push_back(known[n].second);
    if (found.size() == 1 && k == 2) found.push_back(found[0]);
    return found;
  }

  double x_near(std::int64_t b, std::int64_t i, std::int64_t n, std::int64_t j, std::int64_t d) const {
    return x_of(b, j, d) + (noises.empty() ? 0 : noises[(b * points + i) * k * k + n * k + d]);
  }

  double derivative(std::int64_t b, std::int64_t i, std::int64_t d, std::int64_t c, bool with_sign) const {
    const std::vector<std::int64_t> at = near(b, i);
    const auto step = [&](std::int64_t n, std::int64_t e) { return x_of(b, i, e) - x_near(b, i, n, at[n], e); };
    const auto rise = [&](std::int64_t n) { return y_of(b, i, c) - y_of(b, at[n], c); };
    if (k == 1) return (with_sign && step(0, 0) < 0 ? -1 : 1) * rise(0) / (2e-6 + std::abs(step(0, 0)));
    const double determinant = step(0, 0) * step(1, 1) - step(0, 1) * step(1, 0);
    return (d == 0 ? rise(0) * step(1, 1) - rise(1) * step(0, 1) : rise(1) * step(0, 0) - rise(0) * step(1, 0)) /
           determinant;
  }

  static bool keeps(double derivative) { return std::abs(derivative) <= 200; }

  /// Whether there are enough neighbours to estimate from.
  bool estimates(std::int64_t b, std::int64_t i) const {
    const std::vector<std::int64_t> at = near(b, i);
    return !at.empty() && (k == 1 || at[0] != at[1]);
  }

  void add_point(std::int64_t b, std::int64_t i) {
    auto& [y_difference, slope, kept, y_near, x_difference, x_at, first_order] = expected;
    const bool padding = i < context && i >= lengths[b];
    const std::vector<std::int64_t> at = padding ? std::vector<std::int64_t>() : near(b, i);
    const bool any = !at.empty();
    for (std::int64_t n = 0; n < k; ++n)
      for (std::int64_t c = 0; c < dy; ++c) {
        y_near.push_back(any ? y_of(b, at[n], c) : 0);
        y_difference.push_back(any ? y_of(b, i, c) - y_of(b, at[n], c) : 0);
        const bool keep = any && estimates(b, i) && keeps(derivative(b, i, n, c, false));  // by input n
        slope.push_back(keep ? derivative(b, i, n, c, false) : 0);
        kept.push_back(keep);
      }
    for (std::int64_t n = 0; n < k; ++n)
      for (std::int64_t d = 0; d < k; ++d) {
        x_at.push_back(any ? x_near(b, i, n, at[n], d) : padding ? 0 : x_of(b, i, d));
        x_difference.push_back(any ? x_of(b, i, d) - x_at.back() : 0);
      }
    for (std::int64_t c = 0; c < dy; ++c) {
      double sum = 0;
      for (std::int64_t d = 0; any && estimates(b, at[0]) && d < k; ++d)
        if (const double there = derivative(b, at[0], d, c, true); keeps(there))
          sum += there * (x_of(b, i, d) - x_near(b, i, 0, at[0], d));
      first_order.push_back(sum);
    }
  }

  void fill(std::int64_t first) {
    for (auto& each : expected) each.clear();
    for (std::int64_t b = 0; b < x.dim(0); ++b)
      for (std::int64_t i = first; i < points; ++i) add_point(b, i);
  }
};

std::array<Tensor, 7> parts_of(const LocalTaylor& t) {
  return {t.y_difference, t.derivative, t.kept, t.y_near, t.x_difference, t.x_near, t.first_order};
}

template <class T>
Tensor column(std::initializer_list<double> values) {
  Tensor x = Tensor::empty({1, static_cast<std::int64_t>(values.size()), 1}, dtype_of<T>(), Device::cpu);
  std::ranges::transform(values, x.data<T>(), [](double v) { return static_cast<T>(v); });
  return x.to(default_device());
}

}  // namespace

TEST_CASE_TEMPLATE("local taylor: the definition, for one input and two, ragged contexts, noise, later points alone", T,
                   float, double) {
  constexpr std::int64_t kBatch = 4, kContext = 6, kPoints = 11;
  for (const std::int64_t dx : {1, 2})
    for (const std::int64_t dy : {1, 3})
      for (const bool noisy : {false, true})
        for (const std::int64_t first : {0, 3, 8, 11}) {
          CAPTURE(dx);
          CAPTURE(dy);
          CAPTURE(noisy);
          CAPTURE(first);
          TaylorReference reference{normal<T>({kBatch, kPoints, dx}, 1),
                                    normal<T>({kBatch, kPoints, dy}, 2),
                                    kContext,
                                    {6, 0, 1, 4},
                                    noisy ? normal<T>({kBatch, kPoints, dx * dx}, 3, 0.01) : Tensor()};
          reference.fill(first);
          const Tensor lengths = Tensor::from<std::int64_t>({kBatch}, std::span(std::as_const(reference.lengths)));
          const LocalTaylor found = local_taylor(reference.x, reference.y, kContext, lengths, first, reference.noise);
          const std::array<Tensor, 7> parts = parts_of(found);
          CHECK(found.derivative.shape() == Shape{kBatch, kPoints - first, dx * dy});
          CHECK(found.x_near.shape() == Shape{kBatch, kPoints - first, dx * dx});
          CHECK(found.first_order.shape() == Shape{kBatch, kPoints - first, dy});
          for (std::size_t p = 0; p < parts.size(); ++p) {
            CAPTURE(p);
            CHECK(parts[p].dtype() == dtype_of<T>());
            // Derivatives divide differences of points as near as 1e-2.
            const bool divided = p == 1 || p == 6;
            CHECK(error(parts[p], reference.expected[p]) <= (divided ? 500 : 1) * kTolerance<T>);
          }
        }
}

TEST_CASE("local taylor: without lengths all of the context is real") {
  const Tensor x = normal<double>({2, 7, 2}, 4), y = normal<double>({2, 7, 1}, 5);
  const auto all = parts_of(local_taylor(x, y, 4)),
             counted = parts_of(local_taylor(x, y, 4, Tensor::from<std::int64_t>({2}, {4, 4})));
  for (std::size_t p = 0; p < all.size(); ++p) CHECK(same_bits(all[p], counted[p]));
}

TEST_CASE_TEMPLATE("local taylor: of neighbours as near the lower index, and no point is its own", T, float, double) {
  // 0 and 2 are as far from 1; the last two targets are at 1, too.
  const Tensor x = column<T>({0, 2, 1, 1, 1}), y = column<T>({10, 20, 30, 40, 50});
  const LocalTaylor t = local_taylor(x, y, 3);
  CHECK(doubles(t.y_near) == std::vector<double>{30, 30, 10, 30, 30});
  // Two targets at one place, behind a context that is elsewhere.
  const LocalTaylor twice = local_taylor(column<T>({0, 5, 5}), column<T>({1, 2, 3}), 1);
  CHECK(doubles(twice.y_near) == std::vector<double>{0, 1, 2});
  CHECK(doubles(twice.x_difference) == std::vector<double>{0, 5, 0});
}

TEST_CASE_TEMPLATE("local taylor: slopes beyond 200, and of points at one place, are cleared", T, float, double) {
  const Tensor x = column<T>({0, 1e-3, 5, 5}), y = column<T>({0, 0.5, 1, 2});
  const LocalTaylor t = local_taylor(x, y, 4);
  CHECK(doubles(t.kept) == std::vector<double>{0, 0, 0, 0});
  CHECK(doubles(t.derivative) == std::vector<double>{0, 0, 0, 0});
  CHECK(doubles(t.first_order) == std::vector<double>{0, 0, 0, 0});
  // 0.125 / (1e-3 + 2e-6) is below.
  const LocalTaylor gentle = local_taylor(column<T>({0, 1e-3}), column<T>({0, 0.125}), 2);
  CHECK(doubles(gentle.kept) == std::vector<double>{1, 1});
  CHECK(largest_difference(gentle.derivative, {-0.125 / 1.002e-3, 0.125 / 1.002e-3}) <= 2e-4);
}

TEST_CASE_TEMPLATE("local taylor: a point that knows no other says nothing", T, float, double) {
  for (const std::int64_t dx : {1, 2}) {
    CAPTURE(dx);
    const Tensor x = normal<T>({2, 1, dx}, 6), y = normal<T>({2, 1, 3}, 7), noise = normal<T>({2, 1, dx * dx}, 8);
    for (const std::int64_t context : {0, 1}) {
      const LocalTaylor t = local_taylor(x, y, context, {}, 0, noise);
      for (const Tensor& part : {t.y_difference, t.derivative, t.kept, t.y_near, t.x_difference, t.first_order})
        CHECK(doubles(part) == std::vector<double>(static_cast<std::size_t>(part.numel())));
      std::vector<double> itself;
      for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t n = 0; n < dx; ++n)
          for (std::int64_t d = 0; d < dx; ++d) itself.push_back(doubles(x)[b * dx + d]);
      CHECK(doubles(t.x_near) == itself);
    }
  }
}

TEST_CASE("local taylor: the first order is exact for straight lines and planes") {
  const Tensor x = normal<double>({3, 9, 1}, 9);
  Tensor line = Tensor::empty({3, 9, 1}, DType::float64, Device::cpu);
  const std::vector<double> places = doubles(x);
  for (std::size_t i = 0; i < places.size(); ++i) line.values<double>()[i] = 2 - 3 * places[i];
  const LocalTaylor t = local_taylor(x, line.to(default_device()), 5);
  const std::vector<double> y_near = doubles(t.y_near), step = doubles(t.first_order), all = doubles(line);
  for (std::size_t i = 0; i < all.size(); ++i)  // but for what is added to distances
    CHECK(std::abs(y_near[i] + step[i] - all[i]) <= 1e-2 * std::abs(step[i]));
  const Tensor at = normal<double>({2, 9, 2}, 10);
  Tensor plane = Tensor::empty({2, 9, 1}, DType::float64, Device::cpu);
  const std::vector<double> corners = doubles(at);
  for (std::size_t i = 0; i < 18; ++i) plane.values<double>()[i] = 1 + 2 * corners[2 * i] - 3 * corners[2 * i + 1];
  const LocalTaylor flat = local_taylor(at, plane.to(default_device()), 6);
  const std::vector<double> near = doubles(flat.y_near), gain = doubles(flat.first_order),
                            slope = doubles(flat.derivative);
  for (std::size_t i = 0; i < 18; ++i) {
    CHECK(near[2 * i] + gain[i] == doctest::Approx(doubles(plane)[i]).epsilon(1e-10));
    CHECK(slope[2 * i] == doctest::Approx(2).epsilon(1e-10));
    CHECK(slope[2 * i + 1] == doctest::Approx(-3).epsilon(1e-10));
  }
}

TEST_CASE_TEMPLATE("local taylor: neighbours on a line with the point give no slopes by two inputs", T, float, double) {
  for (const std::int64_t points : {2, 7}) {
    CAPTURE(points);
    Tensor x = Tensor::empty({1, points, 2}, dtype_of<T>(), Device::cpu);
    for (std::int64_t i = 0; i < points; ++i) {
      x.data<T>()[2 * i] = static_cast<T>(0.1) * static_cast<T>(i * i);
      x.data<T>()[2 * i + 1] = static_cast<T>(0.3) * static_cast<T>(i * i);
    }
    const LocalTaylor t = local_taylor(x.to(default_device()), normal<T>({1, points, 3}, 14), points);
    const std::vector<double> nothing(static_cast<std::size_t>(points) * 6);
    CHECK(doubles(t.kept) == nothing);
    CHECK(doubles(t.derivative) == nothing);
    CHECK(doubles(t.first_order) == std::vector<double>(static_cast<std::size_t>(points) * 3));
  }
}

TEST_CASE("local taylor: the same bits with any number of threads") {
  const Tensor x = normal<float>({5, 80, 2}, 11), y = normal<float>({5, 80, 3}, 12);
  std::vector<std::array<Tensor, 7>> found;
  for (const int threads : {1, 3}) {
    const ThreadCount count(threads);
    found.push_back(parts_of(local_taylor(x, y, 40)));
  }
  for (std::size_t p = 0; p < 7; ++p) CHECK(same_bits(found[0][p], found[1][p]));
}

TEST_CASE_TEMPLATE("input encoding: sines, then cosines, of each input in turn", T, float, double) {
  const Tensor x = normal<T>({2, 3, 2}, 13, 2);
  const Tensor encoded = input_encoding(x, 6, 0.1, 1000);
  REQUIRE(encoded.shape() == Shape{2, 3, 12});
  CHECK(encoded.dtype() == dtype_of<T>());
  std::vector<double> expected;
  for (const double value : doubles(x))
    for (const bool sines : {true, false})
      for (int j = 0; j < 3; ++j) {
        const double angle = value / (0.1 * std::pow(1000.0, 2.0 * j / 6));
        expected.push_back(sines ? std::sin(angle) : std::cos(angle));
      }
  CHECK(largest_difference(encoded, expected) <= (std::is_same_v<T, float> ? 1e-7 : 1e-13));
  CHECK(input_encoding(Tensor::zeros({2, 0, 2}, dtype_of<T>(), default_device()), 6, 0.1, 1000).shape() ==
        Shape{2, 0, 12});
}

TEST_CASE("local taylor: wrong shapes are one-line errors") {
  const Tensor x = Tensor::zeros({2, 5, 1}, DType::float64), y = Tensor::zeros({2, 5, 3}, DType::float64);
  const auto of = [](const auto& call) { return error_of([&] { static_cast<void>(call()); }); };
  CHECK(of([&] {
          return local_taylor(Tensor::zeros({2, 5}, DType::float64), y, 2);
        }) == "[local_taylor] x (2, 5) found, expected (B, N, 1) or (B, N, 2)");
  CHECK(of([&] {
          return local_taylor(Tensor::zeros({2, 5, 3}, DType::float64), y, 2);
        }) == "[local_taylor] x (2, 5, 3) found, expected (B, N, 1) or (B, N, 2)");
  CHECK(of([&] {
          return local_taylor(x, Tensor::zeros({2, 4, 3}, DType::float64), 2);
        }) == "[local_taylor] y float64 (2, 4, 3) found, expected float64 (2, 5, Dy)");
  CHECK(of([&] { return local_taylor(x, y.to(DType::float32), 2); }) ==
        "[local_taylor] y float32 (2, 5, 3) found, expected float64 (2, 5, Dy)");
  for (const auto& [context, first] : {std::pair(6, 0), std::pair(-1, 0), std::pair(2, 6), std::pair(2, -1)})
    CHECK(error_of([x = x, y = y, c = context, f = first] { static_cast<void>(local_taylor(x, y, c, {}, f)); }) ==
          "[local_taylor] a context of " + std::to_string(context) + " points and a first point " +
              std::to_string(first) + " found, expected 0 to 5");
  CHECK(of([&] { return local_taylor(x, y, 2, Tensor::zeros({3}, DType::int64)); }) ==
        "[local_taylor] lengths are int64 (3), expected int64 (2) for x (2, 5, 1)");
  for (const std::int64_t length : {-1, 3, 1 << 20})
    CHECK(of([&] {
            return local_taylor(x, y, 2, Tensor::from<std::int64_t>({2}, {0, length}));
          }) == "[local_taylor] length 1 is " + std::to_string(length) + ", expected in [0, 2]");
  CHECK(of([&] {
          return local_taylor(x, y, 2, {}, 0, Tensor::zeros({2, 5, 2}, DType::float64));
        }) == "[local_taylor] noise float64 (2, 5, 2) found, expected float64 (2, 5, 1)");
  CHECK(of([&] { return input_encoding(Tensor::zeros({5}, DType::float64), 4, 0.1, 10); }) ==
        "[input_encoding] x (5) found, expected (B, N, Dx)");
  CHECK(of([&] {
          return input_encoding(Tensor::zeros({2, 5, 4}), std::int64_t{1} << 62, 0.1, 10);
        }) == "[input_encoding] width 4611686018427387904 of 4 inputs found, expected at most 2147483648 channels");
  for (const std::int64_t width : {0, 3})
    CHECK(of([&] { return input_encoding(x, width, 0.1, 10); }) ==
          "[input_encoding] width " + std::to_string(width) + " found, expected an even number");
}
