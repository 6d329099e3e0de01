#include "npzoo/datasets/tables/standardise.h"

#include <doctest/doctest.h>

#include <tuple>

#include "npzoo/datasets/kinds/gp/config.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/datasets/tables/column_rules.h"
#include "npzoo/datasets/tables/outliers.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

using Values = std::vector<double>;
using Names = std::vector<std::string>;

const TrainingRange kRange{{-2, 2}, 3, 46, 0.5, 0.02};

double mean_of(const Values& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double std_of(const Values& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double v : values) sum += (v - mean) * (v - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

Standardisation standardise_1d(const Values& x, const Values& y, const TrainingRange& range = kRange) {
  return standardise(x, y, Names{"x"}, Names{"y"}, range);
}

double largest_gap(const Values& a, const Values& b) {
  REQUIRE(a.size() == b.size());
  double gap = 0;
  for (std::size_t i = 0; i < a.size(); ++i) gap = std::max(gap, std::abs(a[i] - b[i]));
  return gap;
}

}  // namespace

TEST_CASE("standardise: the range of training under a protocol") {
  const TrainingRange tnp = load_protocol("tnp/gp-rbf").data->training_range();
  CHECK(tnp.inputs == Interval{-2, 2});
  CHECK(tnp.min_context == 3);
  CHECK(tnp.max_context == 46);
  CHECK(tnp.value_std == doctest::Approx(std::sqrt(0.37)).epsilon(1e-12));
  CHECK(tnp.target_noise == 0.02);
  CHECK(tnp.widest_std == 1.0);
  CHECK(tnp.narrowest_std == 0.1);
  const TrainingRange kr = load_protocol("tnp-kr/gp2d-rbf").data->training_range();
  CHECK(kr.value_std == 1);
  CHECK(kr.target_noise == 0);
  GpDistribution distribution = *gp_distribution(*load_protocol("tnp/gp-rbf").data);
  distribution.kernels.push_back({KernelKind::matern52, {}, {Prior::Kind::constant, 3}, {}});
  const TrainingRange mixture = GpConfig(distribution).training_range();
  CHECK(mixture.widest_std == 3);
  CHECK(mixture.narrowest_std == 0.1);
  CHECK(mixture.value_std == doctest::Approx(std::sqrt((0.37 + 9) / 2)).epsilon(1e-12));
}

TEST_CASE("standardise: every column on its own") {
  const Values x{10, 1, 30, 5, 20, 3}, y{1e6, -1, 1e6 + 4, -1e-3, 1e6 + 2, -1e-6};  // three points
  const Standardisation units = standardise(x, y, Names{"a", "b"}, Names{"u", "v"}, kRange);
  CHECK(units.map_inputs(x) == Values{-2, -2, 2, 2, 0, 0});
  CHECK(units.inputs[0].from == Interval{10, 30});
  CHECK(units.inputs[1].from == Interval{1, 5});
  CHECK(units.inputs[1].inverse(0) == 3);
  CHECK(units.map_inputs(Values{40, -1}) == Values{4, -4});
  const Values mapped = units.map_values(y);
  for (const std::size_t j : {0, 1}) {
    const Values column{mapped[j], mapped[2 + j], mapped[4 + j]};
    CHECK(std::abs(mean_of(column)) < 1e-12);
    CHECK(std_of(column) == doctest::Approx(kRange.value_std).epsilon(1e-12));
  }
  CHECK(units.values[0].shift == 1e6 + 2);
  CHECK(units.values[0].mean(mapped[2]) == 1e6 + 4);
  CHECK(units.values[1].std(2) == 2 * units.values[1].scale);
}

TEST_CASE("standardise: an affine map of the table changes nothing in the units of the model") {
  const Values x{0.3, 0.9, 2.2, 5.1, 4.8}, y{1.5, -0.25, 0.125, 3, 2};
  const Standardisation units = standardise_1d(x, y);
  for (const double scale : {1e-30, 0.7, 3e8})
    for (const double shift : {0.0, -12.5, 1e6}) {
      const auto moved = [&](Values v) {
        for (double& value : v) value = scale * value + shift * scale;
        return v;
      };
      const Standardisation other = standardise_1d(moved(x), moved(y));
      CHECK(largest_gap(other.map_inputs(moved(x)), units.map_inputs(x)) < 1e-9);
      CHECK(largest_gap(other.map_values(moved(y)), units.map_values(y)) < 1e-9);
    }
}

TEST_CASE("standardise: two inputs of one unit keep their proportions") {
  const Names names{"lon", "lat"}, value{"v"};
  const Values x{10, 50, 18, 51, 12, 50.5}, y{1, 2, 3};
  const auto units = [&](double ratio) {
    Standardisation found = standardise_by_context(x, y, names, value, {.inputs = {-2, 2}});
    keep_proportions(found, ratio);
    return found;
  };
  const Standardisation apart = units(1), alike = units(10), nearer = units(2);
  CHECK(apart.map_inputs(x) == Values{-2, -2, 2, 2, -1, 0});
  CHECK(alike.map_inputs(x) == Values{-2, -0.25, 2, 0.25, -1, 0});  // both by 2 units of the table
  CHECK(nearer.map_inputs(x) == Values{-2, -1, 2, 1, -1, 0});
  CHECK(alike.inputs[1].inverse(0.25) == 51);
  // An input of one value, and three inputs, stay as they are.
  Standardisation constant =
      standardise_by_context(Values{10, 50, 18, 50}, Values{1, 2}, names, value, {.inputs = {-2, 2}});
  keep_proportions(constant, 10);
  CHECK(constant.map_inputs(Values{10, 50}) == Values{-2, 0});
  Standardisation three = leave_as_is(3, 1, {.inputs = {-2, 2}});
  keep_proportions(three, 10);
  CHECK(three.map_inputs(Values{1, 2, 3}) == Values{1, 2, 3});
  for (const auto& [a, b, ratio] :
       std::vector<std::tuple<const char*, const char*, double>>{{"lon", "lat", 10},
                                                                 {"latitude", "Longitude", 10},
                                                                 {"north", "east", 10},
                                                                 {"Easting", "Northing", 10},
                                                                 {"x", "y", 2},
                                                                 {"Y", "X", 2},
                                                                 {"x1", "x2", 1},
                                                                 {"depth", "lat", 1},
                                                                 {"time", "x", 1}})
    CHECK(ratio_of_one_unit({a, b}) == ratio);
  CHECK(ratio_of_one_unit({"lon", "lat", "depth"}) == 1);
}

TEST_CASE("standardise: without a scale") {
  const Standardisation none = standardise_1d({}, {});
  CHECK(none.map_inputs(Values{0.1, 7}) == Values{0.1, 7});
  CHECK(none.map_values(Values{0.1, 7}) == Values{0.1, 7});
  CHECK(none.values[0].mean(0.1) == 0.1);
  CHECK_FALSE(none.inputs[0].constant);

  const TrainingRange off_centre{{0, 1}, 3, 46, 0.5, 0.02};
  for (const auto& [x, y] : {std::pair<Values, Values>{{7}, {3}}, {{7, 7, 7}, {3, 3, 3}}, {{1e300}, {-1e300}}}) {
    const Standardisation units = standardise_1d(x, y, off_centre);
    CHECK(units.inputs[0].constant);
    CHECK(units.values[0].constant);
    CHECK(units.map_inputs(x).front() == 0.5);
    CHECK(units.map_values(y).front() == 0);
    CHECK(units.values[0].mean(0.25) == y[0] + 0.25);
    CHECK(units.values[0].std(0.25) == 0.25);
  }
  CHECK(standardise_1d({7}, {3}, off_centre).map_inputs(Values{8}) == Values{1.5});

  const Standardisation as_is = leave_as_is(2, 1, off_centre);
  CHECK(as_is.map_inputs(Values{0.1, -7}) == Values{0.1, -7});
  CHECK(as_is.map_values(Values{0.1}) == Values{0.1});
}

TEST_CASE("standardise: for predictions, the unit of a constant column does not matter") {
  const auto units = [](double y) {
    return standardise_by_context(Values{1, 2, 3}, Values{y, y, y}, Names{"x"}, Names{"y"}, kRange).values[0];
  };
  for (const double unit : {1e-3, 1.0, 1e6}) CHECK(units(5 * unit).std(0.01) == doctest::Approx(0.05 * unit));
  CHECK(units(-5).scale == 5);
  CHECK(units(0).scale == 1);
  CHECK(units(1e-320).scale == 1);
  const Standardisation usual = standardise_by_context(Values{1, 2}, Values{1, 5}, Names{"x"}, Names{"y"}, kRange);
  CHECK(usual.values[0].scale == standardise_1d({1, 2}, {1, 5}).values[0].scale);
}

TEST_CASE("standardise: no standard deviation is below the spacing of doubles") {
  const ValueMap map{9223372036854775807.0, 1};
  CHECK(map.std(0.0018, 0) == 2048);
  CHECK(map.std(1e6, 0) == 1e6);
  CHECK(ValueMap{5000, 1e-9}.std(0.1, 0) == 0.1 * 1e-9);
}

TEST_CASE("outliers: inputs and values far from all others") {
  CHECK_FALSE(far_inputs(Values{0, 1, 1e9}).has_value());
  const auto far = far_inputs(Values{0, 1, 2, 1e9});
  REQUIRE(far);
  CHECK(far->furthest == 1e9);
  CHECK(far->count == 1);
  CHECK(far->low == 0);
  CHECK(far->high == 2);
  CHECK_FALSE(far_inputs(Values{1, 10, 100, 1000, 1e4}).has_value());
  CHECK_FALSE(far_inputs(Values{3, 3, 3, 3, 3, 9}).has_value());
  Values year;
  for (int i = 0; i < 365; ++i) year.push_back(i);
  CHECK_FALSE(far_inputs(year).has_value());
  year.push_back(-1e6);
  CHECK(far_inputs(year)->furthest == -1e6);
  const Values mild{20.5, 21, 19, 23, 18.5, 22};
  CHECK_FALSE(far_values(mild).has_value());
  for (const auto& odd_and_far :
       {std::pair(-999.0, true), {99.99, true}, {120.0, false}, {200.0, true}, {35.0, false}}) {
    const double odd = odd_and_far.first;
    const bool is_far = odd_and_far.second;
    Values values = mild;
    values.insert(values.begin() + 2, {odd, odd});
    const auto found = far_values(values);
    CHECK_MESSAGE(found.has_value() == is_far, odd);
    if (found) CHECK((found->furthest == odd && found->count == 2));
  }
  CHECK_FALSE(far_values(Values{0, 0, 0, 0, 0, 158}).has_value());
  CHECK(far_values(Values{1, -999, 2, 1.5})->furthest == -999);
  CHECK_FALSE(far_values(Values{1, -990, 2, 1.5}).has_value());
  CHECK_FALSE(far_values(Values{-999, 2}).has_value());
  CHECK_FALSE(far_values(Values{}).has_value());
  Values two;
  for (int i = 0; i < 100; ++i) two.push_back(10 + 3 * std::sin(i / 9.0));
  two[20] = 1e7, two[60] = 2e7;
  const auto together = far_values(two);
  REQUIRE(together);
  CHECK(together->furthest == 2e7);
  CHECK(together->count == 2);
  two[10] = two[30] = -32768, two[40] = 65535;
  CHECK(far_values(two)->values == Values{-32768, 2e7, 1e7, 65535});
  two[50] = 4e5;  // of five, those that are far from the others
  CHECK(far_values(two)->values == Values{2e7, 1e7});
  CHECK_FALSE(far_values(Values{1, 2, 3, 4, 1e9, 2e9, 3e9, 4e9, 5e9}).has_value());
  CHECK_FALSE(far_values(Values{1, 1e9}).has_value());
}

TEST_CASE("standardise: extents that are too large or too small") {
  CHECK(error_of([] {
          standardise_1d({-1.7e308, 1.7e308}, {1, 2});
        }) == "[standardise] column x goes from -1.7e+308 to 1.7e+308, expected an extent that a double can hold");
  CHECK(error_of([] {
          standardise_1d({0, 1e-320}, {1, 2});
        }) == "[standardise] column x goes from 0 to 1e-320, expected an extent that a double can hold");
  CHECK(error_of([] {
          standardise_1d({0, 1}, {1.7e308, -1.7e308});
        }) == "[standardise] column y goes from -1.7e+308 to 1.7e+308, expected an extent that a double can hold");
  for (const double size : {1e-290, 1e300}) {
    const Values values = standardise_1d({0, size}, {-size, size}).map_values(Values{-size, size});
    CHECK(std_of(values) == doctest::Approx(kRange.value_std).epsilon(1e-12));
  }
}

TEST_CASE("standardise: inputs that leave the range of training") {
  const Values x{1, 10, 120, 20};
  RangeCheck check(standardise(x, Values{1, 2}, Names{"a", "b"}, Names{"y"}, kRange), kRange);
  check.add(x);
  CHECK(check.rows() == 2);
  for (const auto& column : check.columns()) CHECK(column.outside == 0);
  check.add(Values{120 + 1e-5, 20 + 1e-6, 1 - 1e-5, 10 - 1e-6});  // rounding
  for (const auto& column : check.columns()) CHECK(column.outside == 0);
  check.add(Values{121, 15, 60, 9.5, -30, 10});
  check.add(Values{});
  check.add(Values{130, 15});
  CHECK(check.rows() == 8);
  CHECK(check.columns()[0].outside == 3);
  CHECK(check.columns()[0].furthest == -30);
  CHECK(check.columns()[1].outside == 1);
  CHECK(check.columns()[1].furthest == 9.5);

  RangeCheck raw(leave_as_is(1, 1, kRange), kRange);
  raw.add(Values{-2, 2, 2.5});
  CHECK(raw.columns()[0].outside == 1);
  CHECK(raw.columns()[0].furthest == 2.5);

  RangeCheck targets(leave_as_is(1, 1, kRange), kRange, 1);
  CHECK(targets.inputs() == Interval{-3, 3});
  targets.add(Values{-3, 2.5, 3.1});
  CHECK(targets.columns()[0].outside == 1);
  CHECK(targets.columns()[0].furthest == 3.1);
}

TEST_CASE("standardise: values that training has not shown, in the units of the table") {
  TrainingRange range = kRange;
  range.widest_std = 0.3;
  range.target_noise = 0.4;  // five times 0.5
  const Standardisation units{{}, {{10, 2}, {}}};
  ValueCheck check(units, range);
  CHECK(check.limit() == doctest::Approx(2.5).epsilon(1e-12));
  check.add(Values{10, 0, 14.9, -2.49});
  CHECK(check.columns()[0].outside == 0);
  CHECK(check.columns()[1].outside == 0);
  check.add(Values{});
  check.add(Values{15.1, 7, 4, -8});
  CHECK(check.rows() == 4);
  CHECK(check.columns()[0].outside == 2);
  CHECK(check.columns()[0].furthest == 4);  // three units from 10, where 15.1 is 2.55
  CHECK(check.columns()[1].outside == 2);
  CHECK(check.columns()[1].furthest == -8);
  const Values in_model[] = {{0, 2.45, 2.55, -3}, {0, -2.49, 7, -8}};
  for (const std::size_t j : {0, 1}) {
    CHECK(check.columns()[j].mean == doctest::Approx(mean_of(in_model[j])).epsilon(1e-12));
    CHECK(check.columns()[j].std == doctest::Approx(std_of(in_model[j])).epsilon(1e-12));
  }
}

TEST_CASE("standardise: training with heavy tails has shown more") {
  TrainingRange range = kRange;
  range.tails = 15;
  CHECK(ValueCheck({{}, {{}}}, range).limit() == 3 * ValueCheck({{}, {{}}}, kRange).limit());
}

TEST_CASE("standardise: mean and deviation of a long stream far from zero") {
  ValueCheck check({{}, {{}}}, kRange);
  for (int i = 0; i < 10'000; ++i) check.add(Values{1e9 + i % 2});
  CHECK(check.columns()[0].mean == doctest::Approx(1e9 + 0.5).epsilon(1e-15));
  CHECK(check.columns()[0].std == doctest::Approx(0.5).epsilon(1e-6));
}
