#include "npzoo/models/applications/tables/local_prediction.h"

#include <numeric>

#include "npzoo/models/applications/tables/local_contexts.h"
#include "tests/models/model_fixtures.h"
#include "tests/models/series_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

struct Small {
  std::unique_ptr<Model> model;
  SeriesPredictor predictor;

  explicit Small(std::int64_t dim_x, SeriesOptions options = {}, const std::string& name = "tnp-d")
      : model(make(dim_x, name)), predictor(*model, kSeriesRange, named(dim_x, options)) {}

  static std::unique_ptr<Model> make(std::int64_t dim_x, const std::string& name) {
    ModelConfig config = model_config_from_json(model_info(name).small_forms[0], name);
    config.merge(ModelConfig{{"dim_x", dim_x}, {"dim_y", std::int64_t{1}}});
    return make_model({name, config}, {.seed = 3});
  }
  static SeriesOptions named(std::int64_t dim_x, SeriesOptions options) {
    if (dim_x == 2) options.x_names = {"a", "b"};
    return options;
  }
};

Series random_series(std::size_t rows, std::size_t targets, std::size_t dim_x, std::uint64_t seed) {
  Random random(seed);
  Series s;
  const auto fill = [&](std::vector<double>& x, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) x.push_back(random.uniform(-5, 40));
  };
  fill(s.x, rows * dim_x);
  fill(s.y, rows);
  fill(s.targets, targets * dim_x);
  fill(s.truth, targets);
  if (!s.truth.empty()) s.truth[0] = kNaN;
  return s;
}

std::vector<SeriesPrediction> predict(const SeriesPredictor& predictor, const LocalOptions& options,
                                      const std::vector<Series>& all) {
  std::vector<SeriesPrediction> answers;
  std::size_t at = 0;
  predict_locally(
      predictor, options, [&] { return at < all.size() ? std::optional(all[at++]) : std::nullopt; },
      [&](SeriesPrediction answer) { answers.push_back(std::move(answer)); });
  return answers;
}

void check_alike(const std::vector<double>& a, const std::vector<double>& b, double scale) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    CHECK((std::isnan(a[i]) ? std::isnan(b[i]) : std::abs(a[i] - b[i]) / scale < kSeriesTolerance));
}

}  // namespace

TEST_CASE("local prediction: a target is predicted from the context of its cell, in the order of the rows") {
  const OnCpu cpu;
  for (const std::int64_t dim_x : {1, 2}) {
    CAPTURE(dim_x);
    const Small small(dim_x, {.quantiles = {0.1, 0.9}, .samples = 3});
    const auto width = static_cast<std::size_t>(dim_x);
    Series whole = random_series(300, 77, width, 7);
    const SeriesPrediction found = predict(small.predictor, {46, 20}, {whole})[0];
    REQUIRE(found.mean.size() == 77);
    CHECK(found.samples.size() == 3 * 77);
    CHECK(found.units.inputs[0].from == small.predictor.units_of(whole).inputs[0].from);
    const LocalContexts contexts(whole.x, dim_x, 20);
    for (const LocalCell& cell : contexts.cells(whole.targets)) {
      Series alone;
      for (const std::int64_t row : contexts.context(cell.box)) {
        const auto r = static_cast<std::size_t>(row);
        for (std::size_t d = 0; d < width; ++d) alone.x.push_back(whole.x[r * width + d]);
        alone.y.push_back(whole.y[r]);
      }
      for (const std::int64_t row : cell.targets) {
        const auto r = static_cast<std::size_t>(row);
        for (std::size_t d = 0; d < width; ++d) alone.targets.push_back(whole.targets[r * width + d]);
        alone.truth.push_back(whole.truth[r]);
      }
      const SeriesPrediction expected = small.predictor.predict(std::span(&alone, 1))[0];
      const auto of_cell = [&](const std::vector<double>& all, std::size_t each) {
        std::vector<double> some;
        for (const std::int64_t row : cell.targets)
          for (std::size_t k = 0; k < each; ++k) some.push_back(all[static_cast<std::size_t>(row) * each + k]);
        return some;
      };
      const double scale = expected.units.values[0].scale;
      check_alike(of_cell(found.mean, 1), expected.mean, scale);
      check_alike(of_cell(found.std, 1), expected.std, scale);
      check_alike(of_cell(found.quantiles, 2), expected.quantiles, scale);
      check_alike(of_cell(found.log_density, 1), expected.log_density, 1);
      check_alike(of_cell(found.crps, 1), expected.crps, scale);
      check_alike(of_cell(found.central_mass, 1), expected.central_mass, 1);
    }
  }
}

namespace {

/// Some rows of a series' targets, in any order.
Series asked_at(const Series& whole, const std::vector<std::size_t>& rows, std::size_t dim_x) {
  Series some = whole;
  some.targets.clear();
  some.truth.clear();
  for (const std::size_t row : rows) {
    for (std::size_t d = 0; d < dim_x; ++d) some.targets.push_back(whole.targets[row * dim_x + d]);
    some.truth.push_back(whole.truth[row]);
  }
  return some;
}

/// The same observed points in another order.
Series shuffled(const Series& whole, std::size_t dim_x) {
  Series other = whole;
  const std::size_t count = whole.y.size();
  std::vector<std::int64_t> order(count);
  Random(9).fill_permutation(order);
  for (std::size_t i = 0; i < count; ++i) {
    const auto from = static_cast<std::size_t>(order[i]);
    std::copy_n(&whole.x[from * dim_x], dim_x, &other.x[i * dim_x]);
    other.y[i] = whole.y[from];
  }
  return other;
}

void check_same_bits(const SeriesPrediction& all, const std::vector<std::size_t>& rows, const SeriesPrediction& some) {
  for (const auto figures :
       {&SeriesPrediction::mean, &SeriesPrediction::std, &SeriesPrediction::quantiles, &SeriesPrediction::samples,
        &SeriesPrediction::log_density, &SeriesPrediction::crps, &SeriesPrediction::central_mass}) {
    const std::size_t width = (some.*figures).size() / rows.size();
    REQUIRE((some.*figures).size() == width * rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t k = 0; k < width; ++k) {
        const double expected = (all.*figures)[rows[i] * width + k], found = (some.*figures)[i * width + k];
        CHECK((found == expected || (std::isnan(found) && std::isnan(expected))));
      }
  }
}

}  // namespace

TEST_CASE("local prediction: a target has the same bits alone, in any company, in any order, in chunks") {
  const OnCpu cpu;
  for (const char* name : {"kriging-tnp", "tnp-d"})
    for (const std::int64_t dim_x : {1, 2})
      for (const std::size_t points : {40, 47, 400}) {  // seen whole, and by cells of 20
        CAPTURE(name);
        CAPTURE(dim_x);
        CAPTURE(points);
        const auto width = static_cast<std::size_t>(dim_x);
        Series whole = random_series(points, 97, width, points);
        for (std::size_t i = 0; i < 5; ++i) whole.x[i] = whole.x[5];                   // rows at one place
        for (std::size_t i = 90 * width; i < 97 * width; ++i) whole.targets[i] *= 50;  // far away
        const SeriesOptions options{.quantiles = {0.1, 0.9}, .samples = 2};
        const LocalOptions local{46, 20};
        const Small small(dim_x, options, name);
        std::vector<std::size_t> all(97), backwards;
        std::iota(all.begin(), all.end(), std::size_t{0});
        backwards.assign(all.rbegin(), all.rend());
        const SeriesPrediction expected = predict(small.predictor, local, {whole})[0];
        for (const std::size_t row : {0, 31, 64, 93})
          check_same_bits(expected, {row}, predict(small.predictor, local, {asked_at(whole, {row}, width)})[0]);
        check_same_bits(expected, backwards, predict(small.predictor, local, {asked_at(whole, backwards, width)})[0]);
        check_same_bits(expected, all, predict(small.predictor, local, {shuffled(whole, width)})[0]);
        const auto between =
            predict(small.predictor, local, {random_series(30, 9, width, 1), whole, random_series(130, 3, width, 2)});
        check_same_bits(expected, all, between[1]);
        for (const int threads : {1, 3}) {
          const ThreadCount count(threads);
          check_same_bits(expected, all, predict(small.predictor, local, {whole})[0]);
        }
        SeriesOptions in_chunks = options;
        in_chunks.chunk = 1;
        check_same_bits(expected, all, predict(Small(dim_x, in_chunks, name).predictor, local, {whole})[0]);
      }
}

TEST_CASE("local prediction: small and large series come back in their order, and progress counts all targets") {
  const OnCpu cpu;
  std::int64_t told = 0;
  const Small small(2, {.progress = [&](std::int64_t done) { told += done; }});
  std::vector<Series> all;
  std::size_t targets = 0;
  for (const std::size_t rows : {5, 200, 46, 47, 0, 300, 1}) {
    all.push_back(random_series(rows, 3 * all.size(), 2, rows));
    targets += 3 * (all.size() - 1);
  }
  const auto answers = predict(small.predictor, {46, 16}, all);
  REQUIRE(answers.size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(answers[i].mean.size() == 3 * i);
  CHECK(told == static_cast<std::int64_t>(targets));
  // Targets that fit into one tile are predicted as without tiles.
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    const auto direct = small.predictor.predict(std::span(all).subspan(i, 1))[0];
    check_alike(answers[i].mean, direct.mean, direct.units.values[0].scale);
  }
  CHECK(predict(small.predictor, {46, 16}, {}).empty());
}

TEST_CASE("local prediction: the same bits for any number of threads") {
  const OnCpu cpu;
  const Small small(2, {.samples = 2});
  const std::vector<Series> all{random_series(2000, 700, 2, 1), random_series(10, 5, 2, 2)};
  const auto expected = predict(small.predictor, {46, 24}, all);
  for (const int threads : {1, 2, 3}) {
    const ThreadCount count(threads);
    const auto found = predict(small.predictor, {46, 24}, all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(found[i].mean == expected[i].mean);
      CHECK(found[i].std == expected[i].std);
      CHECK(found[i].samples == expected[i].samples);
    }
  }
}

TEST_CASE("local prediction: inputs of a slanted field are turned, unless the options say otherwise") {
  const OnCpu cpu;
  const Small small(2);
  Series slanted;
  Random random(4);
  for (int i = 0; i < 300; ++i) {
    const double a = random.uniform(0, 10), b = random.uniform(0, 10);
    slanted.x.insert(slanted.x.end(), {a, b});
    slanted.y.push_back(std::sin(a - b) + 0.1 * random.normal());
    slanted.targets.insert(slanted.targets.end(), {b, a});
  }
  const SeriesPrediction turned = predict(small.predictor, {46, 20}, {slanted})[0];
  REQUIRE(turned.turn);
  CHECK(turned.turn->ratio > 2);
  CHECK(std::abs(turned.turn->angle - 45) < 10);
  CHECK(turned.units.inputs[0].from == small.predictor.units_of(slanted).inputs[0].from);
  Series by_hand = slanted;
  by_hand.x = turned.turn->apply(slanted.x);
  by_hand.targets = turned.turn->apply(slanted.targets);
  const LocalOptions as_is{46, 20, false};
  check_alike(turned.mean, predict(small.predictor, as_is, {by_hand})[0].mean, turned.units.values[0].scale);
  const SeriesPrediction plain = predict(small.predictor, as_is, {slanted})[0];
  CHECK_FALSE(plain.turn);
  CHECK(plain.mean != turned.mean);
  CHECK_FALSE(predict(small.predictor, {300, 20}, {slanted})[0].turn);  // seen whole
}

TEST_CASE("local prediction: errors") {
  const OnCpu cpu;
  const Small small(2);
  Series odd = random_series(100, 4, 2, 1);
  odd.targets.pop_back();
  CHECK(error_of([&] {
          predict(small.predictor, {46, 24}, {odd});
        }) == "[series] 7 numbers of targets found, expected 2 for each");
}
