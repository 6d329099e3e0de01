#include "npzoo/models/applications/tables/table_series.h"

#include "npzoo/models/applications/tables/local_prediction.h"

#include "tests/models/model_fixtures.h"
#include "tests/models/series_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr LocalOptions kLocal{.largest_context = 46, .neighbours = 20};

using Column = std::vector<double>;
using Groups = std::vector<std::uint32_t>;

std::unique_ptr<Model> make_small(std::int64_t dim_y = 1) {
  ModelConfig config = model_config_from_json(model_info("tnp-d").small_forms[0], "tnp-d");
  config.merge(ModelConfig{{"dim_x", std::int64_t{1}}, {"dim_y", dim_y}});
  return make_model({"tnp-d", config}, {.seed = 3});
}

/// Observed rows and places of groups, which are mixed; values and truths are missing here and there.
struct Example {
  Column x, targets;
  std::vector<Column> y, truth;
  Groups groups, target_groups;
  std::int64_t group_count = 0;

  Example(std::int64_t group_count_, std::size_t columns, std::size_t rows = 60, std::size_t places = 40)
      : y(columns), truth(columns), group_count(group_count_) {
    Random random(5);
    const auto group = [&] {
      return std::min(static_cast<std::uint32_t>(random.uniform(0, static_cast<double>(group_count))),
                      static_cast<std::uint32_t>(group_count - 1));
    };
    const auto some = [&](double value) { return random.uniform(0, 1) < 0.3 ? kNaN : value; };
    for (std::size_t i = 0; i < rows; ++i) {
      x.push_back(random.uniform(-5, 40));
      groups.push_back(group());
      for (Column& column : y) column.push_back(some(random.uniform(1, 3)));
    }
    std::ranges::sort(x);  // the order in which points are predicted from, whatever that of the table
    for (std::size_t i = 0; i < places; ++i) {
      targets.push_back(random.uniform(-5, 40));
      target_groups.push_back(group());
      for (Column& column : truth) column.push_back(some(random.uniform(1, 3)));
    }
  }

  TableQuestion question() const {
    TableQuestion q{x, as_columns(y), groups, targets, target_groups, as_columns(truth), group_count, {}};
    for (std::size_t v = 0; v < y.size(); ++v) q.y_names.push_back("y" + std::to_string(v));
    return q;
  }

  /// Columns `first` to `first + width` of a group, by hand.
  Series series(std::size_t first, std::size_t width, std::uint32_t group) const {
    Series s;
    s.value_names.assign(width, "y");
    for (std::size_t i = 0; i < x.size(); ++i) {
      bool known = groups[i] == group;
      for (std::size_t c = first; c < first + width; ++c) known = known && !std::isnan(y[c][i]);
      if (!known) continue;
      s.x.push_back(x[i]);
      for (std::size_t c = first; c < first + width; ++c) s.y.push_back(y[c][i]);
    }
    for (const std::size_t i : places_of(group)) {
      s.targets.push_back(targets[i]);
      for (std::size_t c = first; c < first + width; ++c) s.truth.push_back(truth[c][i]);
    }
    return s;
  }

  std::vector<std::size_t> places_of(std::uint32_t group) const {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < targets.size(); ++i)
      if (target_groups[i] == group) places.push_back(i);
    return places;
  }
};

TableAnswer answer(const SeriesPredictor& predictor, const TableQuestion& question,
                   const LocalOptions& local = kLocal) {
  LocalPredictor method(predictor, local);
  return predict_table(method, kSeriesRange, 1, question);
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// The figures of one value of a series stand at its places, as the very same bits.
void check_placed(const Example& example, std::uint32_t group, std::size_t c, std::size_t dim_y,
                  const SeriesPrediction& said, const PredictedColumn& column) {
  const std::vector<std::size_t> places = example.places_of(group);
  REQUIRE(said.mean.size() == places.size() * dim_y);
  const auto check_figures = [&](const Column& from, const Column& to, std::size_t width) {
    REQUIRE(to.size() == example.targets.size() * width);
    for (std::size_t i = 0; i < places.size(); ++i)
      for (std::size_t k = 0; k < width; ++k) CHECK(same(from[(i * dim_y + c) * width + k], to[places[i] * width + k]));
  };
  check_figures(said.mean, column.mean, 1);
  check_figures(said.std, column.std, 1);
  check_figures(said.quantiles, column.quantiles, 2);
  check_figures(said.samples, column.samples, 3);
  check_figures(said.crps, column.crps, 1);
  check_figures(said.central_mass, column.central_mass, 1);
}

}  // namespace

TEST_CASE("table series: each value of each group is a series, or as many together as the model has values") {
  const OnCpu cpu;
  for (const std::size_t dim_y : {1, 2}) {
    CAPTURE(dim_y);
    const auto model = make_small(static_cast<std::int64_t>(dim_y));
    const SeriesPredictor predictor(*model, kSeriesRange, {.quantiles = {0.1, 0.9}, .samples = 3});
    const Example example(3, 4);
    const TableAnswer found = answer(predictor, example.question());
    std::vector<Series> all;  // in the order in which they come, so that batches are the same
    for (std::size_t first = 0; first < 4; first += dim_y)
      for (std::uint32_t group = 0; group < 3; ++group) all.push_back(example.series(first, dim_y, group));
    const std::vector<SeriesPrediction> expected = predictor.predict(all);
    REQUIRE(found.columns.size() == 4);
    for (std::size_t s = 0; s < all.size(); ++s)
      for (std::size_t c = 0; c < dim_y; ++c)
        check_placed(example, static_cast<std::uint32_t>(s % 3), c, dim_y, expected[s],
                     found.columns[s / 3 * dim_y + c]);
    CHECK(found.tally.series == std::ssize(all));
    CHECK(found.tally.targets == 40 * 4 / static_cast<std::int64_t>(dim_y));
    CHECK(found.tally.units.values[0].shift == expected.back().units.values[0].shift);
  }
}

TEST_CASE("table series: large groups are answered as predict_locally answers them") {
  const OnCpu cpu;
  const auto model = make_small(2);
  const SeriesPredictor predictor(*model, kSeriesRange, {.quantiles = {0.1, 0.9}, .samples = 3});
  const Example example(2, 2, 400, 70);
  const LocalOptions local{.largest_context = 30, .neighbours = 12};
  const TableAnswer found = answer(predictor, example.question(), local);
  std::vector<SeriesPrediction> expected;
  std::uint32_t given = 0;
  predict_locally(
      predictor, local, [&] { return given < 2 ? std::optional(example.series(0, 2, given++)) : std::nullopt; },
      [&](SeriesPrediction said) { expected.push_back(std::move(said)); });
  for (std::uint32_t group = 0; group < 2; ++group)
    for (std::size_t c = 0; c < 2; ++c) check_placed(example, group, c, 2, expected[group], found.columns[c]);
  CHECK(found.tally.large == 2);
}

TEST_CASE("table series: groups without a place, without a row and without either") {
  const OnCpu cpu;
  const auto model = make_small();
  const SeriesPredictor predictor(*model, kSeriesRange, {});
  const Column x{1, 2, 3, 4, 5}, targets{1, 9, 2};
  const std::vector<Column> y{{5, 5, kNaN, 7, 8}};
  const Groups groups{2, 2, 0, 2, 0}, target_groups{1, 2, 2};
  const TableAnswer found = answer(predictor, {x, as_columns(y), groups, targets, target_groups, {}, 4, {"y"}});
  const PredictedColumn& column = found.columns[0];
  REQUIRE(column.mean.size() == 3);
  for (const double mean : column.mean) CHECK(std::isfinite(mean));
  CHECK(column.quantiles.empty());
  CHECK(column.samples.empty());
  CHECK(column.crps.empty());
  const SeriesTally& tally = found.tally;
  CHECK(tally.series == 4);
  CHECK(tally.without_context == 2);  // groups 1 and 3
  CHECK(tally.small == 3);            // group 0 has one point
  CHECK(tally.single == 1);
  CHECK(tally.constant == 0);  // the unit of group 0 is that of all rows
  CHECK(column.mean[0] == doctest::Approx(25.0 / 4));
  CHECK(column.std[0] == doctest::Approx(std::sqrt((1.25 * 1.25 * 2 + 0.75 * 0.75 + 1.75 * 1.75) / 4)));
  CHECK(tally.smallest == 0);
  CHECK(tally.largest == 3);
  CHECK(tally.outside == 1);  // 9 of group 2
}

TEST_CASE("table series: no rows, no places, no groups") {
  const OnCpu cpu;
  const auto model = make_small();
  const SeriesPredictor predictor(*model, kSeriesRange, {});
  const Column none, one{1};
  const std::vector<Column> empty{{}}, known{{4}};
  const TableAnswer nothing = answer(predictor, {none, as_columns(empty), {}, none, {}, {}, 1, {"y"}});
  CHECK(nothing.columns[0].mean.empty());
  CHECK(nothing.tally.series == 1);
  CHECK(nothing.tally.smallest == 0);
  const TableAnswer unasked = answer(predictor, {one, as_columns(known), {}, none, {}, {}, 1, {"y"}});
  CHECK(unasked.columns[0].mean.empty());
  CHECK(unasked.tally.constant == 1);
  const TableAnswer unseen = answer(predictor, {none, as_columns(empty), {}, one, {}, {}, 1, {"y"}});
  CHECK(unseen.columns[0].mean.size() == 1);
  CHECK(unseen.tally.without_context == 1);
  CHECK(answer(predictor, {one, {}, {}, one, {}, {}, 1, {}}).columns.empty());
}

TEST_CASE("table series: rows at one place, and constant values, have finite answers") {
  const OnCpu cpu;
  const auto model = make_small();
  const SeriesPredictor predictor(*model, kSeriesRange, {});
  const Column x{1, 1, 1, 1}, targets{1, 1, 2};
  const std::vector<Column> y{{5, 6, 7, 8}, {1e300, 1e300, 1e300, 1e300}};
  const TableAnswer found = answer(predictor, {x, as_columns(y), {}, targets, {}, {}, 1, {"u", "v"}});
  for (const PredictedColumn& column : found.columns) {
    CHECK(column.mean[0] == column.mean[1]);
    for (const double figure : {column.mean[0], column.std[0], column.mean[2], column.std[2]})
      CHECK(std::isfinite(figure));
  }
  CHECK(found.tally.constant == 1);
}

TEST_CASE("table series: errors") {
  const OnCpu cpu;
  const auto model = make_small(2);
  const SeriesPredictor predictor(*model, kSeriesRange, {});
  const Column x{1, 2};
  const std::vector<Column> three{{1, 2}, {1, 2}, {1, 2}}, tiny{{1, 2}, {0, 1e-320}};
  CHECK(error_of([&] {
          answer(predictor, {x, as_columns(three), {}, x, {}, {}, 1, {"u", "v", "w"}});
        }) == "[series] 3 columns of values found, expected 2 for this model");
  CHECK(error_of([&] {
          answer(predictor, {x, as_columns(tiny), {}, x, {}, {}, 1, {"u", "v"}});
        }) == "[standardise] column v goes from 0 to 1e-320, expected an extent that a double can hold");
}

TEST_CASE("table series: scores use known values, and are pooled by rows") {
  PredictedColumn column;
  column.mean = {1, 2, 3, 4};
  column.crps = {0.5, kNaN, 0.25, 1};
  column.central_mass = {0.9, kNaN, 0.96, 0.95};
  const TruthScores first = score(column, Column{2, kNaN, 3, 7});
  CHECK(first.rows == 3);
  CHECK(first.mae == doctest::Approx(4.0 / 3));
  CHECK(first.rmse == doctest::Approx(std::sqrt(10.0 / 3)));
  CHECK(first.crps == doctest::Approx(1.75 / 3));
  CHECK(first.coverage_95 == doctest::Approx(2.0 / 3));
  const TruthScores none = score(column, Column{kNaN, kNaN, kNaN, kNaN}), empty = score({}, {});
  for (const TruthScores& s : {none, empty, pooled({}), pooled(std::vector{none, empty})}) {
    CHECK(s.rows == 0);
    for (const double figure : {s.mae, s.rmse, s.crps, s.coverage_95}) CHECK(std::isnan(figure));
  }
  const TruthScores all = pooled(std::vector{first, none, TruthScores{1, 8, 8, 2, 1}});
  CHECK(all.rows == 4);
  CHECK(all.mae == doctest::Approx(3));
  CHECK(all.rmse == doctest::Approx(std::sqrt(74.0 / 4)));
  CHECK(all.crps == doctest::Approx(3.75 / 4));
  CHECK(all.coverage_95 == doctest::Approx(0.75));
}
