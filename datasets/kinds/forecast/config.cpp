#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "npzoo/datasets/kinds/forecast/own_table.h"
#include "npzoo/datasets/series/series_tasks.h"
#include "npzoo/datasets/tables/date_time.h"
#include "npzoo/datasets/tables/own_file.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr NumberRule kShareOfSeries{[](double x) { return x > 0 && x < 1; }, "a number > 0 and < 1"};

double read_date(TomlReader& data, std::string_view key, KeyLine line) {
  const std::string text = data.text(key, line);
  const std::optional<DateTime> date = parse_date_time(text);
  data.expect(date.has_value(), key, fmt::format("'{}'", text), "a date as 2017-07-01");
  return date ? days_since(0, *date) : 0;
}

SeriesSplit read_split(TomlReader& data) {
  const std::string by =
      data.choice("split", "how the series is cut into training, validation and test", {"shares", "points", "dates"});
  if (by == "dates") {
    const SplitByDates dates{read_date(data, "validation", "date at which validation begins, as 2017-07-01"),
                             read_date(data, "test", "date at which the test begins")};
    data.expect(dates.test > dates.validation, "test", "no later than validation", "a later date");
    return dates;
  }
  if (by == "points")
    return SplitByPlaces{data.integer("training", "points for training", 1),
                         data.integer("validation", "points for validation", 1),
                         data.integer("test", "points for the test", 1)};
  const double training = data.number("training", "share of the points for training", kShareOfSeries),
               validation = data.number("validation", "share for validation", kShareOfSeries),
               test = data.number("test", "share for the test", kShareOfSeries);
  data.expect(std::abs(training + validation + test - 1) <= 1e-9, "test", fmt::format("{}", test),
              "a share that makes 1 together with those of training and validation");
  return SplitByShares{training, validation};
}

std::vector<const CalendarFeature*> read_calendar(TomlReader& data) {
  data.any_form("calendar", "features of the time that are further inputs", "\"none\" or an array of names");
  if (!data.is_array("calendar")) {
    static_cast<void>(data.choice("calendar", kPartOfForm, {"none"}));
    return {};
  }
  std::vector<const CalendarFeature*> features;
  for (const std::string& name : data.texts("calendar", kPartOfForm)) {
    const auto found = std::ranges::find(calendar_features(), name, &CalendarFeature::name);
    if (found == calendar_features().end()) {
      std::string names;
      for (const CalendarFeature& f : calendar_features())
        names += fmt::format("{}{}", names.empty() ? "" : ", ", f.name);
      data.reject("calendar", fmt::format("of '{}'", name), "some of " + names);
    }
    features.push_back(&*found);
  }
  return features;
}

bool has_column(const KnownSeries& series, const std::string& name) {
  return fmt::format(",{},", series.columns).find(fmt::format(",{},", name)) != std::string::npos;
}

/// `table` is that of a series that is not a published one.
struct ForecastTable {
  std::string path;      // absolute; empty: the recipe for a user's own table, which is still to be named
  std::string checksum;  // of its bytes: other ones are another table
  std::string time;      // a column
  /// Scale of the training part, if the protocol states it. A forecast is then possible without the table.
  std::optional<SeriesScale> scale{};
  std::optional<double> step{};
};

struct ForecastData {
  std::string set;  // "table", or a published one
  ForecastTable table{};
  std::vector<std::string> values{};  // columns
  SeriesSplit split{};
};

SeriesScale read_scale(TomlReader& reader, std::size_t channels) {
  SeriesScale scale{reader.numbers("mean", "mean of each value in the training part", kAnyFinite),
                    reader.numbers("std", "standard deviation of each value in the training part", kAnyPositive)};
  for (const auto& [key, count] : {std::pair{"mean", scale.mean.size()}, std::pair{"std", scale.std.size()}})
    if (count != channels)
      reader.reject(key, fmt::format("of {} numbers", count), fmt::format("{}, one for each value", channels));
  return scale;
}

ForecastData read_data(TomlReader& reader) {
  std::vector<std::string_view> sets{"table"};
  for (const KnownSeries& series : known_series()) sets.push_back(series.name);
  ForecastData data{.set = reader.choice("set", "published series, or a table", sets)};
  if (data.set == "table")
    data.table = {reader.text("path", "path of the table"),
                  reader.text("checksum", "checksum of its bytes: a changed table is an error"),
                  reader.text("time", "column of times")};
  const bool has_scale = data.set == "table" && reader.has("mean");
  data.values = reader.texts("values", "columns to forecast");
  const auto known = std::ranges::find(known_series(), data.set, &KnownSeries::name);
  for (const std::string& name : data.values) {
    if (std::ranges::count(data.values, name) > 1)
      reader.reject("values", fmt::format("'{}' twice", name), "each once");
    if (known != known_series().end())
      reader.expect(has_column(*known, name), "values", fmt::format("of '{}'", name),
                    fmt::format("some of {}", known->columns));
  }
  if (has_scale) data.table.scale = read_scale(reader, data.values.size());
  if (data.set == "table" && reader.has("step"))
    data.table.step =
        reader.number("step", "time between two points, in days or in the units of the column", kAnyPositive);
  data.split = read_split(reader);
  return data;
}

ForecastSeries read_series(const ForecastData& data) {
  const bool own = data.set == "table";
  if (own) {
    check(!data.table.path.empty(), "[forecast] no table found, expected npzoo train --table FILE --time COLUMN");
    check_table_unchanged(data.table.path, data.table.checksum);
  }
  Measurements measured =
      own ? read_measurements(data.table.path, data.table.time, data.values)
          : std::ranges::find(known_series(), data.set, &KnownSeries::name)->measurements(data.values);
  const std::string& name = own ? data.table.path : data.set;
  ForecastSeries result{.series = order_by_time(std::move(measured), std::ssize(data.values), name)};
  result.parts = parts_of(result.series, data.split, name);
  result.scale = data.table.scale.value_or(scale_of(result.series, result.part(Split::training)));
  result.gaps = result.series.has_gaps();
  return result;
}

/// `kind = "forecast"`. The series is read once, on first use.
class ForecastConfig final : public SeriesTasks {
 public:
  ForecastConfig(ForecastData data, WindowRules rules)
      : SeriesTasks(std::move(rules)), read_(std::make_shared<Read>(std::move(data))) {}

  /// A test may have another horizon or stride, and need not.
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& test) const override {
    auto tested = std::make_shared<ForecastConfig>(*this);
    if (test.has("horizon")) tested->rules_.horizon = test.integer("horizon", "points to forecast", 1, kMostPlaces);
    if (test.has("stride"))
      tested->rules_.stride =
          test.integer("stride", "points between the windows of a validation or test", 1, kMostPlaces);
    return tested;
  }
  OwnTasks on_own_data(const OwnData& own) const override {
    const auto* shares = std::get_if<SplitByShares>(&data().split);
    if (data().set != "table" || !shares) return SeriesTasks::on_own_data(own);
    return on_own_table(own_data_as<OwnSeries>(own, "a table and its column of times"), *shares);
  }

  const std::vector<std::string>& values() const override { return data().values; }
  std::string time_column() const override { return data().table.time; }
  std::optional<double> time_step() const override { return data().table.step; }
  SeriesScale scale() const override { return data().table.scale ? *data().table.scale : series()->scale; }
  std::shared_ptr<const ForecastSeries> series() const override { return read_->get(); }

 private:
  struct Read {
    explicit Read(ForecastData d) : data(std::move(d)) {}

    std::shared_ptr<const ForecastSeries> get() {
      const std::lock_guard lock(mutex);
      if (!series) series = std::make_shared<const ForecastSeries>(read_series(data));
      return series;
    }

    const ForecastData data;
    std::mutex mutex;
    std::shared_ptr<const ForecastSeries> series;
  };

  const ForecastData& data() const { return read_->data; }

  std::shared_ptr<Read> read_;
};

}  // namespace

std::shared_ptr<const TaskConfig> read_forecast_config(TomlReader& reader) {
  ForecastData data = read_data(reader);
  WindowRules rules{
      .context =
          reader.integer("context", "points of a window that are given", WindowRules::kLeastContext, kMostPlaces),
      .horizon = reader.integer("horizon", "points to forecast", 1, kMostPlaces),
      .stride = reader.integer("stride", "points between the windows of a validation or test", 1, kMostPlaces),
      .context_before =
          reader.boolean("context_before", "whether contexts of validation and test may lie in the part before"),
      .true_times =
          reader.choice("grid", "inputs: place in the window, or time of measurement", {"window", "time"}) == "time",
      .calendar = read_calendar(reader)};
  return std::make_shared<ForecastConfig>(std::move(data), std::move(rules));
}

}  // namespace npzoo
