#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "npzoo/datasets/data_folder.h"
#include "npzoo/datasets/series/measurements.h"
#include "npzoo/datasets/series/series_tasks.h"
#include "tests/datasets/task_fixtures.h"
#include "tests/forecast_series.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

Task exact_task(const TaskConfig& config, Split split, std::uint64_t index, std::int64_t batch = 1) {
  return config.source({.batch_size = batch, .seed = 1, .split = split, .dtype = DType::float64})->task(index);
}

/// Standardises by the squares 0 … 81, the training part.
double scaled(double value) { return (value - 28.5) / std::sqrt(721.05); }

}  // namespace

TEST_CASE("forecast: every window of the test once and in order, standardised by the training part") {
  const SeriesFile file(hours(20));
  const auto config = file.config();
  const auto source = config->source({.batch_size = 1, .split = Split::evaluation, .dtype = DType::float64});
  CHECK(source->size() == 1);
  const Task task = source->task(0);
  CHECK_FALSE(task.lengths.defined());
  CHECK(doubles(task.xc) == std::vector<double>{-1, -0.5, 0});
  CHECK(doubles(task.xt) == std::vector<double>{0.5, 1});
  CHECK(largest_difference(task.yc, {scaled(225), scaled(256), scaled(289)}) < 1e-12);
  CHECK(largest_difference(task.yt, {scaled(324), scaled(361)}) < 1e-12);
  CHECK(error_of([&] { source->batch(1); }) == "[forecast] batch 1 found, expected one of the 1 batches");

  const auto reaching = file.config("context_before = true");
  const auto more = reaching->source({.batch_size = 3, .split = Split::evaluation, .dtype = DType::float64});
  CHECK(more->size() == 2);
  const Task first = more->task(0);
  CHECK(largest_difference(first.yc, {scaled(144), scaled(169), scaled(196), scaled(169), scaled(196), scaled(225),
                                      scaled(196), scaled(225), scaled(256)}) < 1e-12);
  CHECK(more->task(1).yc.dim(0) == 1);
  CHECK(reaching->source({.batch_size = 1, .split = Split::validation})->size() == 4);
}

TEST_CASE("forecast: training draws windows of its own part alone, all of them") {
  const SeriesFile file(hours(20));
  const Task task = exact_task(*file.config("context_before = true"), Split::training, 0, 200);
  const std::vector<double> last = doubles(task.yt);
  std::vector<int> seen(6);
  for (std::size_t row = 0; row < 200; ++row)
    ++seen.at(static_cast<std::size_t>(std::llround(std::sqrt(last[2 * row + 1] * std::sqrt(721.05) + 28.5))) - 4);
  CHECK(std::ranges::min(seen) > 0);
}

TEST_CASE("forecast: a test may have another horizon and stride") {
  const SeriesFile file(hours(20));
  const std::string text = small_protocol("s", file.data("context_before = true"), "horizon = 1\nstride = 2\n");
  const Protocol p = parse_protocol(text, "f.toml");
  const auto source = p.evaluation.tests[0].data->source({.batch_size = 1, .split = Split::evaluation});
  CHECK(source->size() == 3);
  CHECK(source->task(0).xt.dim(1) == 1);
  CHECK(p.data->source({.batch_size = 1})->task(0).xt.dim(1) == 2);
  CHECK(protocol_version(p, "s", "cnp") !=
        protocol_version(parse_protocol(replaced(text, "stride = 2\n", ""), "f.toml"), "s", "cnp"));
}

TEST_CASE("forecast: unmeasured points are left out, and the others keep their places") {
  const SeriesFile file(hours(20, {16, 18}));
  const auto config = file.config("context_before = true");
  const Task task = exact_task(*config, Split::evaluation, 0, 4);
  CHECK(task.xc.dim(1) == 3);
  CHECK(task.xt.dim(1) == 2);
  CHECK(std::ranges::equal(task.lengths.values<std::int64_t>(), std::vector<std::int64_t>{3, 3, 2, 2}));
  CHECK(std::ranges::equal(task.target_lengths.values<std::int64_t>(), std::vector<std::int64_t>{1, 1, 1, 1}));
  CHECK(doubles(task.target_weights) == std::vector<double>{1, 0, 1, 0, 1, 0, 1, 0});
  CHECK(doubles(task.xt) == std::vector<double>{0.5, 0, 1, 0, 0.5, 0, 1, 0});
  const std::vector<double> x = doubles(task.xc);
  CHECK(std::vector(x.begin() + 6, x.end()) == std::vector<double>{-1, -0.5, 0, -1, 0, 0});

  const SeriesFile blank(replaced(hours(20), "2020-02-29 12:00,256", "2020-02-29 12:00,"));
  CHECK(same_points(exact_task(*SeriesFile(hours(20, {16})).config(), Split::evaluation, 0),
                    exact_task(*blank.config(), Split::evaluation, 0)));
}

TEST_CASE("forecast: rows at times of their own are places by themselves, or at their true times") {
  std::string text = "date,v\n";
  for (int i = 0; i < 20; ++i) text += fmt::format("{},{}\n", i + 0.3 * (i % 2), i);
  const SeriesFile file(text);
  CHECK(doubles(exact_task(*file.config(), Split::evaluation, 0).xc) == std::vector<double>{-1, -0.5, 0});
  const Task task = exact_task(*file.config("grid = \"time\""), Split::evaluation, 0);
  const double step = 1.3;  // of steps 1.3 and 0.7 the former comes once more
  CHECK(largest_difference(task.xc, {-1, -1 + 0.5 * 0.7 / step, -1 + 0.5 * 2 / step}) < 1e-12);
  CHECK(largest_difference(task.xt, {-1 + 0.5 * 2.7 / step, -1 + 0.5 * 4 / step}) < 1e-12);
}

TEST_CASE("forecast: calendar features go from -1/2 to 1/2") {
  const auto at = [](std::string_view name, double days) {
    return std::ranges::find(calendar_features(), name, &CalendarFeature::name)->at(days);
  };
  constexpr double kNewYear = 18262, kLeapDay = kNewYear + 59;  // 2020-01-01, a Wednesday
  CHECK(at("minute-of-hour", kNewYear + 59.0 / 1440) == 0.5);
  CHECK(at("hour-of-day", kNewYear) == -0.5);
  CHECK(at("hour-of-day", kNewYear + 22.9 / 24) == 22.0 / 23 - 0.5);
  CHECK(at("day-of-week", kNewYear) == 2.0 / 6 - 0.5);
  CHECK(at("day-of-week", kNewYear + 4) == 0.5);
  CHECK(at("day-of-month", kLeapDay) == 28.0 / 30 - 0.5);
  CHECK(at("day-of-year", kLeapDay) == 59.0 / 365 - 0.5);
  CHECK(at("day-of-year", kNewYear + 365) == 0.5);
  CHECK(at("day-of-year", kNewYear - 1) == 364.0 / 365 - 0.5);

  const SeriesFile file(hours(20));
  const auto config = file.config("calendar = [\"hour-of-day\", \"day-of-month\"]");
  CHECK(config->dim_x() == 3);
  const double month = 28.0 / 30 - 0.5;
  CHECK(largest_difference(exact_task(*config, Split::evaluation, 0).xt,
                           {0.5, 14.0 / 23 - 0.5, month, 1, 15.0 / 23 - 0.5, month}) < 1e-12);
}

TEST_CASE("forecast: parts by shares and by dates") {
  const SeriesFile file(hours(20));
  const auto parts = [&](const std::string& changes) {
    std::string data = file.data("split = \"shares\"");
    data.replace(data.find("training"), data.find("context") - data.find("training"), changes);
    const Protocol p = parse_protocol(small_protocol("s", data), "f.toml");
    std::vector<std::int64_t> ends;
    for (const SeriesPart& part : p.data->as_series()->series()->parts) ends.push_back(part.end);
    return ends;
  };
  CHECK(parts("training = 0.69\nvalidation = 0.11\ntest = 0.20\n") == std::vector<std::int64_t>{13, 16, 20});
  CHECK(error_of([&] { parts("training = 0.69\nvalidation = 0.11\ntest = 0.21\n"); }) ==
        "[protocol] f.toml: data.test is 0.21, expected a share that makes 1 together with those of training and "
        "validation");
  CHECK(error_of([&] { parts("training = 1\nvalidation = 0.11\ntest = 0.21\n"); }) ==
        "[protocol] f.toml: data.training is 1, expected a number > 0 and < 1");

  std::string data = file.data("split = \"dates\"");
  data.replace(data.find("training"), data.find("context") - data.find("training"),
               "validation = \"2020-02-29\"\ntest = \"2020-02-29 08:30\"\n");
  const Protocol p = parse_protocol(small_protocol("s", data), "f.toml");
  CHECK(p.data->as_series()->series()->parts[1].begin == 4);
  CHECK(p.data->as_series()->series()->parts[2].begin == 13);
  CHECK(error_of_protocol(small_protocol("s", replaced(data, "2020-02-29\"", "2020-02-30\""))) ==
        "[protocol] f.toml: data.validation is '2020-02-30', expected a date as 2017-07-01");
  CHECK(error_of_protocol(small_protocol("s", replaced(data, "2020-02-29 08:30", "2020-02-28"))) ==
        "[protocol] f.toml: data.test is no later than validation, expected a later date");
}

TEST_CASE("forecast: impossible settings are one-line errors") {
  const SeriesFile file(hours(20));
  const std::string where = "[protocol] f.toml: data.";
  CHECK(file.error("set = \"ett\"") ==
        where +
            "set is 'ett', expected one of \"table\", \"etth1\", \"etth2\", \"ettm1\", \"ettm2\", \"exchange\", "
            "\"electricity-mt200\"");
  CHECK(file.error("values = [\"v\", \"v\"]") == where + "values is 'v' twice, expected each once");
  CHECK(file.error("values = [\"u\"]") == "[s:1] has no column \"u\", found \"date\", \"v\", \"w\"");
  CHECK(file.error("calendar = [\"hour\"]") == where +
                                                   "calendar is of 'hour', expected some of minute-of-hour, "
                                                   "hour-of-day, day-of-week, day-of-month, day-of-year");
  CHECK(file.error("context = 1") == where + "context is 1, expected an integer from 2 to 4096");
  CHECK(file.error("test = 6") ==
        "[forecast] s: parts of 10, 5 and 6 points found, expected at least one each of 20 in all");
  CHECK(file.error("horizon = 3", Split::evaluation) ==
        "[forecast] a part of 5 points found, expected a window of 3 + 3 known points");
  CHECK(file.error("checksum = \"0\"").starts_with("[table] s has changed: checksum "));
  CHECK(SeriesFile("date,v\n2020-01-01,1\n").error("") == "[forecast] s: 1 rows with a time found, expected 2 or more");
  CHECK(SeriesFile(hours(20) + "2020-02-29 01:00,3,4\n").error("") ==
        "[forecast] s: two rows of the time 2020-02-29T01:00:00 found, expected one");
  CHECK(error_of_protocol(replaced(load_protocol("taylorformer/exchange").text, "\"OT\"", "\"8\"")) ==
        where + "values is of '8', expected some of 0,1,2,3,4,5,6,OT");
}

TEST_CASE("forecast: the published series, as their makers and others have counted them") {
  struct Expected {
    const char* protocol;
    std::int64_t points, windows;
  };
  for (const Expected& expected :
       {Expected{"taylorformer/exchange", 7588, 1327}, Expected{"taylorformer/exchange-720", 7588, 703},
        Expected{"taylorformer/etth2", 17420, 3293}, Expected{"taylorformer/ettm2", 69680, 13745},
        Expected{"taylorformer/electricity-mt200", 35064, 6822}, Expected{"autoformer/exchange", 7588, 1422},
        Expected{"autoformer/etth2", 17420, 2785}, Expected{"autoformer/ettm2", 69680, 11425}}) {
    CAPTURE(std::string(expected.protocol));
    const Protocol p = load_protocol(expected.protocol);
    if (!is_at_hand(p)) continue;
    const auto series = p.data->as_series()->series();
    CHECK(series->series.size() == expected.points);
    CHECK(series->series.calendar);
    CHECK_FALSE(series->gaps);
    CHECK(p.data->source({.batch_size = 1, .split = Split::evaluation})->size() == expected.windows);
  }
}

TEST_CASE("forecast: the days of exchange rates are counted from 1990-01-01") {
  const TemporaryDirectory folder;
  std::filesystem::create_directories(folder / "exchange_rate");
  std::ofstream(folder / "exchange_rate/exchange_rate.txt") << "1,2,3,4,5,6,7,8\n1,2,3,4,5,6,7,9\n";
  set_data_folder(folder / "");
  const std::string values[] = {"OT", "0"};
  const Measurements m = std::ranges::find(known_series(), "exchange", &KnownSeries::name)->measurements(values);
  set_data_folder({});
  using namespace std::chrono;
  CHECK(m.time_form.epoch == sys_days(year(1990) / 1 / 1).time_since_epoch().count());
  CHECK(m.time == std::vector<double>{0, 1});
  CHECK(m.y == std::vector<double>{8, 1, 9, 1});
}

TEST_CASE("forecast: to say the same as yesterday is off by .00154 on the exchange rate's test") {
  const Protocol p = load_protocol("taylorformer/exchange");
  if (!is_at_hand(p)) return;
  const auto series = p.data->as_series()->series();
  const SeriesPart& test = series->part(Split::evaluation);
  double squares = 0;
  for (std::int64_t day = test.begin + 1; day < test.end; ++day)
    squares += std::pow(series->standardised(day, 0) - series->standardised(day - 1, 0), 2);
  const double mse = squares / static_cast<double>(test.size() - 1);
  CHECK(mse == doctest::Approx(0.00154).epsilon(0.003));
  CHECK(mse * static_cast<double>(test.size() - 96 - 96) / static_cast<double>(test.size()) ==
        doctest::Approx(0.00134).epsilon(0.004));
}

namespace {

/// A series with a row at each of these dates.
TimeSeries series_at(std::initializer_list<const char*> dates) {
  Measurements m{.time_form = {.kind = ColumnForm::Kind::time, .epoch = parse_date_time(*dates.begin())->day}};
  for (const char* date : dates) {
    m.time.push_back(days_since(m.time_form.epoch, *parse_date_time(date)));
    m.y.push_back(static_cast<double>(m.y.size()));
  }
  return order_by_time(std::move(m), 1, "s");
}

/// The dates of these places.
std::vector<std::string> dates_at(const TimeSeries& s, std::initializer_list<std::int64_t> places) {
  std::vector<std::string> dates;
  for (const std::int64_t place : places) dates.push_back(s.time_form.text(s.time_at(place)));
  return dates;
}

}  // namespace

TEST_CASE("forecast: rows of equal times are averaged, each value over the rows that have it") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Measurements m =
      average_equal_times({.time_form = {}, .time = {3, 1, 3, 2, 3}, .y = {6, 1, 5, nan, 0, 3, nan, nan, nan, 5}}, 2);
  CHECK(m.time == std::vector<double>{1, 2, 3});
  REQUIRE(m.y.size() == 6);
  CHECK(m.y[0] == 5);
  for (const int none : {1, 2, 3}) CHECK(std::isnan(m.y[none]));
  CHECK(m.y[4] == 3);
  CHECK(m.y[5] == 3);
  CHECK_THROWS_AS(order_by_time({.time_form = {}, .time = {3, 1, 3}, .y = {6, 1, 5}}, 1, "s"), Error);
}

TEST_CASE("forecast: months, quarters and years continue by the calendar") {
  using Dates = std::vector<std::string>;
  const TimeSeries monthly = series_at({"2019-10-01", "2019-11-01", "2019-12-01", "2020-02-01"});
  REQUIRE(monthly.calendar);
  CHECK(monthly.calendar->description() == "1 month");
  CHECK(monthly.size() == 5);  // a month without a row is a gap
  CHECK(monthly.known == std::vector<bool>{true, true, true, false, true});
  CHECK(dates_at(monthly, {-1, 3, 5, 6, 29}) ==
        Dates{"2019-09-01", "2020-01-01", "2020-03-01", "2020-04-01", "2022-03-01"});
  const TimeSeries ends = series_at({"2019-11-30", "2019-12-31", "2020-01-31"});
  CHECK(dates_at(ends, {3, 4, 15}) == Dates{"2020-02-29", "2020-03-31", "2021-02-28"});
  const TimeSeries short_ends = series_at({"2019-02-28", "2019-04-30", "2019-06-30"});
  CHECK(dates_at(short_ends, {3, 4}) == Dates{"2019-08-31", "2019-10-31"});
  const TimeSeries thirtieth = series_at({"2019-12-30", "2020-01-30", "2020-02-29", "2020-03-30"});
  CHECK(dates_at(thirtieth, {4, 14}) == Dates{"2020-04-30", "2021-02-28"});
  const TimeSeries quarters = series_at({"2019-01-15", "2019-04-15", "2019-10-15"});
  CHECK(quarters.calendar->description() == "3 months");
  CHECK(dates_at(quarters, {2, 4}) == Dates{"2019-07-15", "2020-01-15"});
  const TimeSeries years = series_at({"2018-05-01", "2019-05-01", "2020-05-01", "2021-05-01"});
  CHECK(dates_at(years, {4, 30}) == Dates{"2022-05-01", "2048-05-01"});
  const TimeSeries noon = series_at({"2019-01-01T12:00", "2019-02-01T12:00", "2019-03-01T12:00"});
  CHECK(dates_at(noon, {3}) == Dates{"2019-04-01T12:00:00"});
}

TEST_CASE("forecast: business days continue on Monday, and a holiday is a gap") {
  const TimeSeries s = series_at({"2019-12-16", "2019-12-17", "2019-12-18", "2019-12-19", "2019-12-20", "2019-12-23",
                                  "2019-12-24", "2019-12-26", "2019-12-27", "2019-12-30"});
  REQUIRE(s.calendar);
  CHECK(s.calendar->description() == "1 day, 5 of the 7 in a week");
  CHECK(s.step == doctest::Approx(1.4));
  CHECK(s.size() == 11);
  CHECK(std::ranges::count(s.known, false) == 1);
  CHECK(dates_at(s, {-1, 5, 7, 11, 13, 14}) ==
        std::vector<std::string>{"2019-12-13", "2019-12-23", "2019-12-25", "2019-12-31", "2020-01-02", "2020-01-03"});
  CHECK(s.calendar->place(s.time[10]) == 10);
  CHECK_FALSE(s.calendar->place(s.time[4] + 1));  // a Saturday
  const TimeSeries old = series_at({"1969-12-15", "1969-12-16", "1969-12-17", "1969-12-18", "1969-12-19", "1969-12-22",
                                    "1969-12-23", "1969-12-24", "1969-12-25", "1969-12-26"});
  CHECK(dates_at(old, {-1, 10, 14}) == std::vector<std::string>{"1969-12-12", "1969-12-29", "1970-01-02"});
  CHECK(series_at({"2019-12-16", "2019-12-17", "2019-12-18", "2019-12-19", "2019-12-20", "2019-12-21", "2019-12-22",
                   "2019-12-23", "2019-12-24", "2019-12-25"})
            .calendar->description() == "1 day");  // with a weekend
}

TEST_CASE("forecast: other dates continue by equal steps") {
  const TimeSeries daily = series_at({"2019-12-30", "2019-12-31", "2020-01-01"});
  CHECK(daily.calendar->description() == "1 day");
  CHECK(dates_at(daily, {3, -1}) == std::vector<std::string>{"2020-01-02", "2019-12-29"});
  CHECK(series_at({"2019-01-01", "2019-01-31", "2019-03-02"}).calendar->description() == "30 days");
  CHECK(series_at({"2019-01-07", "2019-02-04", "2019-03-04", "2019-04-01"}).calendar->description() == "28 days");
  CHECK_FALSE(series_at({"2019-01-01", "2019-02-01T01:00", "2019-03-01"}).calendar);  // other times of day
}
