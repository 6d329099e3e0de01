#include "npzoo/ops/masked_attention/distance_bias.h"

#include <numbers>

#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/masked_attention/attention_weights.h"
#include "tests/attention_weights.h"
#include "tests/ops/attention_fixtures.h"
#include "tests/ops/gradcheck_all.h"

namespace npzoo {

void biased_attention_gradcheck_cases(GradcheckCases& cases);

namespace {

using namespace testing;

struct BiasCase {
  BiasForm form;
  DistanceKind distance = DistanceKind::euclidean;
  std::int64_t dims = 2;
};

constexpr BiasCase kCases[] = {{BiasForm::scalar},
                               {BiasForm::rbf, DistanceKind::euclidean, 1},
                               {BiasForm::tisa, DistanceKind::euclidean, 3},
                               {BiasForm::exponential},
                               {BiasForm::exponential, DistanceKind::great_circle},
                               {BiasForm::rbf, DistanceKind::great_circle}};

template <class T>
DistanceBias draw_bias(const BiasCase& c, const AttentionSize& s, std::int64_t terms, std::uint64_t seed) {
  const double spread = c.distance == DistanceKind::great_circle ? 40 : 1;
  const Shape shape = c.form == BiasForm::scalar ? Shape{s.heads} : Shape{s.heads, terms};
  DistanceBias bias{c.form, c.distance, normal<T>({s.batch, s.queries, c.dims}, seed, spread),
                    normal<T>({s.batch, s.keys, c.dims}, seed + 1, spread), normal<T>(shape, seed + 2)};
  if (c.form != BiasForm::scalar) bias.b = normal<T>(shape, seed + 3, 0.02, 0.1);
  if (c.form == BiasForm::tisa) bias.c = normal<T>(shape, seed + 4);
  return bias;
}

/// The distance of two places as textbooks have it.
double distance_by_hand(const DistanceBias& bias, std::int64_t batch, std::int64_t i, std::int64_t j) {
  const std::int64_t dims = bias.key_places.dim(2);
  const auto from = doubles(bias.query_places), to = doubles(bias.key_places);
  const double *x = from.data() + (batch * bias.query_places.dim(1) + i) * dims,
               *y = to.data() + (batch * bias.key_places.dim(1) + j) * dims;
  if (bias.distance == DistanceKind::euclidean) {
    double sum = 0;
    for (std::int64_t c = 0; c < dims; ++c) sum += (x[c] - y[c]) * (x[c] - y[c]);
    return std::sqrt(sum);
  }
  const double radians = std::numbers::pi / 180, longitude = (x[0] - y[0]) * radians, a = x[1] * radians,
               b = y[1] * radians;
  return std::acos(std::sin(a) * std::sin(b) + std::cos(a) * std::cos(b) * std::cos(longitude)) / radians;
}

double bias_by_hand(const DistanceBias& bias, std::int64_t head, std::int64_t heads, double d) {
  const auto a = doubles(bias.a), b = bias.b.defined() ? doubles(bias.b) : std::vector<double>{},
             c = bias.c.defined() ? doubles(bias.c) : std::vector<double>{};
  const auto terms = static_cast<std::int64_t>(a.size()) / heads;
  double sum = 0;
  for (std::int64_t f = head * terms; f < (head + 1) * terms; ++f) switch (bias.form) {
      case BiasForm::scalar: sum += a[f] * d; break;
      case BiasForm::exponential: sum += a[f] * std::exp(-b[f] * d); break;
      case BiasForm::rbf: sum += a[f] * std::exp(-b[f] * d * d); break;
      case BiasForm::tisa: sum += a[f] * std::exp(-b[f] * (d - c[f]) * (d - c[f])); break;
    }
  return sum;
}

/// One row of one head: the scores, then dl4bi's scan as its code has it, or a softmax.
std::vector<double> row_by_hand(const std::vector<Tensor>& in, const std::vector<DistanceBias>& biases,
                                const AttentionSize& s, std::int64_t b, std::int64_t h, std::int64_t i,
                                std::int64_t seen, std::int64_t chunk) {
  const auto q = doubles(in[0]), k = doubles(in[1]), v = doubles(in[2]);
  double top = chunk > 0 ? -1e-6 : -kInfinity, total = 0;
  std::vector<double> out(static_cast<std::size_t>(s.value_width));
  const std::int64_t step = chunk > 0 ? chunk : std::max<std::int64_t>(s.keys, 1);
  for (std::int64_t first = 0; first < s.keys; first += step) {
    std::vector<double> scores;
    for (std::int64_t j = first; j < std::min(first + step, seen); ++j) {
      double score = 0;
      for (std::int64_t c = 0; c < s.width; ++c)
        score +=
            q[((b * s.queries + i) * s.heads + h) * s.width + c] * k[((b * s.keys + j) * s.heads + h) * s.width + c];
      score /= std::sqrt(static_cast<double>(s.width));
      for (const DistanceBias& bias : biases) score += bias_by_hand(bias, h, s.heads, distance_by_hand(bias, b, i, j));
      scores.push_back(score);
    }
    const double before = top;
    for (const double score : scores) top = std::max(top, score);
    const double factor = before == top ? 1 : std::exp(before - top);
    total = total * factor + (chunk > 0 ? 1e-10 : 0);
    for (double& value : out) value *= factor;
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const double weight = std::exp(scores[j] - top);
      total += weight;
      for (std::int64_t c = 0; c < s.value_width; ++c)
        out[c] += weight * v[((b * s.keys + first + static_cast<std::int64_t>(j)) * s.heads + h) * s.value_width + c];
    }
  }
  for (double& value : out) value = total == 0 ? 0 : value / total;
  return out;
}

std::vector<double> by_hand(const std::vector<Tensor>& in, const std::vector<DistanceBias>& biases,
                            const AttentionSize& s, const PrefixMask& mask, std::int64_t chunk) {
  std::vector<double> all;
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t i = 0; i < s.queries; ++i)
      for (std::int64_t h = 0; h < s.heads; ++h) {
        const auto row = row_by_hand(in, biases, s, b, h, i, mask.visible(b, i, s.keys), chunk);
        all.insert(all.end(), row.begin(), row.end());
      }
  return all;
}

Tensor biased(const std::vector<Tensor>& in, const std::vector<DistanceBias>& biases, const AttentionSize& s,
              const PrefixMask& mask = PrefixMask::all(), std::int64_t chunk = 0) {
  return biased_attention(in[0], in[1], in[2], mask, {.heads = s.heads, .scan_chunk = chunk}, biases);
}

/// Output and gradients of q, k, v and the parameters of one bias.
std::vector<Tensor> with_bias_gradients(const std::vector<Tensor>& in, const DistanceBias& bias, const AttentionSize& s,
                                        const PrefixMask& mask) {
  std::vector<Tensor> all = in;
  for (const Tensor* x : {&bias.a, &bias.b, &bias.c})
    if (x->defined()) all.push_back(*x);
  return with_gradients(
      [&](const std::vector<Tensor>& x) {
        DistanceBias own = bias;
        own.a = x[3];
        if (own.b.defined()) own.b = x[4];
        if (own.c.defined()) own.c = x[5];
        return biased(x, {own}, s, mask, 64);
      },
      all);
}

}  // namespace

TEST_CASE_TEMPLATE("biased_attention: values are those of plain loops, for every bias and mask", T, float, double) {
  const AttentionSize s{2, 5, 9, 2, 4, 3};
  for (const BiasCase& c : kCases)
    for (const std::int64_t chunk : {0, 2, 3, 1024})
      for (const PrefixMask& mask : masks_of(s)) {
        const auto in = draw<T>(s);
        const std::vector<DistanceBias> biases{draw_bias<T>(c, s, 3, 5), draw_bias<T>(kCases[0], s, 1, 15)};
        CAPTURE(static_cast<int>(c.form));
        CAPTURE(chunk);
        CHECK(largest_difference(biased(in, biases, s, mask, chunk), by_hand(in, biases, s, mask, chunk)) <=
              16 * kTolerance<T>);
      }
}

TEST_CASE("biased_attention: many queries and keys, in tiles and chunks that do not fit each other") {
  const AttentionSize s{1, 37, 301, 2, 3, 2};
  const auto in = draw<double>(s);
  const std::vector<DistanceBias> biases{draw_bias<double>(kCases[1], s, 2, 5)};
  for (const std::int64_t chunk : {0, 7, 64, 100, 128, 300, 301, 302}) {
    CAPTURE(chunk);
    for (const PrefixMask& mask : {PrefixMask::all(), PrefixMask::first(128), PrefixMask::growing(100)})
      CHECK(largest_difference(biased(in, biases, s, mask, chunk), by_hand(in, biases, s, mask, chunk)) <= 1e-13);
  }
}

TEST_CASE("biased_attention: gradients") { gradcheck_all(biased_attention_gradcheck_cases); }

TEST_CASE("biased_attention: gradients of large sizes in float32 are near those in float64") {
  const AttentionSize s{2, 70, 200, 2, 8, 8};
  for (const BiasCase& c : kCases) {
    const auto exact = with_bias_gradients(draw<double>(s), draw_bias<double>(c, s, 2, 5), s, PrefixMask::growing(20)),
               found = with_bias_gradients(draw<float>(s), draw_bias<float>(c, s, 2, 5), s, PrefixMask::growing(20));
    for (std::size_t i = 0; i < exact.size(); ++i) {
      CAPTURE(i);
      CHECK(error(found[i], doubles(exact[i])) <= 2e-5);
    }
  }
}

TEST_CASE("biased_attention: great circles, exact for near and for opposite places") {
  // The only key that is seen has the weight 1: the log of two weights tells the bias.
  const auto angle = [](double longitude, double latitude, double to_longitude, double to_latitude) {
    const Tensor nothing = Tensor::zeros({1, 2, 1}, DType::float64);
    const DistanceBias bias{BiasForm::scalar, DistanceKind::great_circle,
                            Tensor::from<double>({1, 1, 2}, {longitude, latitude}),
                            Tensor::from<double>({1, 2, 2}, {longitude, latitude, to_longitude, to_latitude}),
                            Tensor::full({1}, -0.01, DType::float64)};
    const auto weights = doubles(
        attention_weights(Tensor::zeros({1, 1, 1}, DType::float64), nothing, PrefixMask::all(), {}, {&bias, 1}));
    const Tensor values = Tensor::from<double>({1, 2, 1}, {0, 1});
    const Tensor out =
        biased_attention(Tensor::zeros({1, 1, 1}, DType::float64).to(default_device()), nothing.to(default_device()),
                         values.to(default_device()), PrefixMask::all(), {}, {&bias, 1});
    CHECK(std::abs(doubles(out)[0] - weights[1]) <= 1e-15);
    return std::log(weights[0] / weights[1]) / 0.01;
  };
  const DeviceScope on_host(Device::cpu);
  CHECK(angle(0, 0, 90, 0) == doctest::Approx(90).epsilon(1e-12));
  CHECK(angle(17, 90, -120, 0) == doctest::Approx(90).epsilon(1e-12));
  CHECK(angle(10, 20, 190, -20) == doctest::Approx(180).epsilon(1e-12));
  CHECK(angle(10, 20, 10 + 359, 20) ==
        doctest::Approx(2 * std::asin(std::cos(20 * std::numbers::pi / 180) * std::sin(0.5 * std::numbers::pi / 180)) *
                        180 / std::numbers::pi)
            .epsilon(1e-10));
  CHECK(angle(10, 20, 10, 20.001) == doctest::Approx(0.001).epsilon(1e-6));
}

TEST_CASE_TEMPLATE("biased_attention: biases of 0 change nothing", T, float, double) {
  const AttentionSize s{2, 33, 70, 2, 4, 3};
  const auto in = draw<T>(s);
  DistanceBias bias = draw_bias<T>(kCases[2], s, 3, 5);
  bias.a = Tensor::zeros_like(bias.a);
  const Tensor plain = masked_attention(in[0], in[1], in[2], PrefixMask::growing(3), {.heads = 2});
  CHECK(largest_difference(biased(in, {bias}, s, PrefixMask::growing(3)), doubles(plain)) <= kTolerance<T>);
  CHECK(largest_difference(biased(in, {}, s, PrefixMask::growing(3)), doubles(plain)) <= kTolerance<T>);
}

TEST_CASE("biased_attention: a scan is a softmax unless all scores are far below 0") {
  const AttentionSize s{1, 6, 50, 2, 4, 3};
  auto in = draw<double>(s);
  const std::vector<DistanceBias> biases{draw_bias<double>(kCases[1], s, 2, 5)};
  const Tensor exact = biased(in, biases, s);
  for (const std::int64_t chunk : {1, 3, 16, 1024}) {
    const double off = largest_difference(biased(in, biases, s, PrefixMask::all(), chunk), doubles(exact));
    CHECK(off <= 1e-8);
    CHECK(off > 0);
  }
  DistanceBias far = draw_bias<double>(kCases[0], s, 1, 5);
  const auto of_scale = [&](double score) {
    in[0] = Tensor::zeros_like(in[0]);
    in[2] = Tensor::full(in[2].shape(), 1, DType::float64);
    far.query_places = Tensor::full({1, 6, 2}, 0, DType::float64);
    far.key_places = Tensor::full({1, 50, 2}, std::sqrt(0.5), DType::float64);
    far.a = Tensor::full({2}, score, DType::float64);
    return doubles(biased(in, {far}, s, PrefixMask::all(), 1024))[0];
  };
  CHECK(of_scale(-10) == doctest::Approx(1).epsilon(1e-6));
  CHECK(of_scale(-20) == doctest::Approx(1 / (1 + 1e-10 * std::exp(20.0) / 50)).epsilon(1e-6));
  CHECK(of_scale(-40) < 1e-5);
  CHECK(of_scale(-800) == 0);
}

TEST_CASE_TEMPLATE("biased_attention: hidden keys have no effect, whatever they and their places hold", T, float,
                   double) {
  const AttentionSize s{2, 5, 70, 2, 4, 3};
  for (const BiasCase& c : kCases)
    for (const double poison : {kNaN, kInfinity, 1e30}) {
      auto in = draw<T>(s), clean = in;
      for (Tensor& x : in) x = x.clone();
      const DistanceBias bias = draw_bias<T>(c, s, 2, 5);
      DistanceBias poisoned = bias;
      poisoned.key_places = bias.key_places.clone();
      for (std::int64_t j = 60; j < s.keys; ++j)
        for (Tensor* x : {&in[1], &in[2], &poisoned.key_places}) fill_point(*x, j, poison);
      const auto expected = with_bias_gradients(clean, bias, s, PrefixMask::first(60)),
                 found = with_bias_gradients(in, poisoned, s, PrefixMask::first(60));
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(same_bits(found[i], expected[i]));
    }
}

TEST_CASE_TEMPLATE("biased_attention: a place that is NaN reaches the rows that see it", T, float, double) {
  const AttentionSize s{1, 6, 6, 1, 4, 2};
  const auto in = draw<T>(s);
  DistanceBias bias = draw_bias<T>(kCases[2], s, 2, 5);
  fill_point(bias.key_places, 3, kNaN);
  const auto out = doubles(biased(in, {bias}, s, PrefixMask::growing(1)));
  for (std::size_t i = 0; i < out.size(); ++i) CHECK(std::isnan(out[i]) == (i / 2 >= 3));
}

TEST_CASE_TEMPLATE("biased_attention: weights times values are the output", T, float, double) {
  const AttentionSize s{3, 5, 9, 2, 4, 3};
  for (const BiasCase& c : kCases)
    for (const std::int64_t chunk : {0, 2, 1024})
      for (const PrefixMask& mask : masks_of(s)) {
        const auto in = draw<T>(s);
        const DistanceBias bias = draw_bias<T>(c, s, 2, 5);
        const Tensor weights = attention_weights(in[0], in[1], mask, {.heads = 2, .scan_chunk = chunk}, {&bias, 1});
        CHECK(largest_difference(biased(in, {bias}, s, mask, chunk), doubles(weighed(weights, in[2]))) <=
              16 * kTolerance<T>);
      }
}

TEST_CASE("biased_attention: the same bits in every run and with any number of threads") {
  const AttentionSize s{3, 200, 90, 2, 16, 16};
  for (const BiasCase& c : {kCases[0], kCases[2]}) {
    const auto once = [&](int threads) {
      const ThreadCount count(threads);
      return with_bias_gradients(draw<float>(s), draw_bias<float>(c, s, 3, 5), s, PrefixMask::growing(7));
    };
    const auto expected = once(1);
    for (const int threads : {1, 3, 8}) {
      const auto found = once(threads);
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(same_bits(found[i], expected[i]));
    }
  }
}

TEST_CASE("biased_attention: messages") {
  const AttentionSize s{2, 5, 9, 2, 4, 3};
  const auto in = draw<double>(s);
  const auto message = [&](const auto& change, std::int64_t chunk = 0, std::size_t count = 1) {
    DistanceBias bias = draw_bias<double>(kCases[2], s, 3, 5);
    change(bias);
    return error_of([&] { biased(in, std::vector<DistanceBias>(count, bias), s, PrefixMask::all(), chunk); });
  };
  const auto none = [](DistanceBias&) {};
  CHECK(message(none) == "no error");
  CHECK(message(none, -1) == "[biased_attention] chunks of -1 keys found, expected 0 or more");
  CHECK(message(none, 0, 4) == "[biased_attention] 4 biases found, expected at most 3");
  CHECK(message([](DistanceBias& b) { b.key_places = b.query_places; }) ==
        "[biased_attention] places (2, 5, 3) and (2, 5, 3) do not fit q (2, 5, 8) and k (2, 9, 8)");
  CHECK(message([](DistanceBias& b) { b.distance = DistanceKind::great_circle; }) ==
        "[biased_attention] places on a sphere have 3 coordinates, expected 2: longitude and latitude");
  CHECK(message([](DistanceBias& b) {
          b.a = Tensor::zeros({3, 2}, DType::float64);
        }) == "[biased_attention] the bias's a has the shape (3, 2), expected (heads, terms) for 2 heads");
  CHECK(message([](DistanceBias& b) { b.form = BiasForm::scalar; }) ==
        "[biased_attention] the bias's a has the shape (2, 3), expected (heads) for 2 heads");
  CHECK(message([](DistanceBias& b) { b.c = {}; }) == "[biased_attention] the bias's c must have the shape of a");
  CHECK(message([](DistanceBias& b) { b.form = BiasForm::rbf; }) ==
        "[biased_attention] the bias's c must be left out in this form");
  CHECK(message([](DistanceBias& b) { b.b = b.b.to(DType::float32); }) ==
        "[biased_attention] a bias is float32, expected float64 as q");
  const DistanceBias bias = draw_bias<double>(kCases[2], s, 3, 5);
  CHECK(error_of([&] {
          biased_attention(in[0], in[1], in[2], PrefixMask::all(), {.heads = 2, .score = AttentionScore::laplace},
                           {&bias, 1});
        }) == "[biased_attention] biases are added to dot products alone");
}

}  // namespace npzoo
