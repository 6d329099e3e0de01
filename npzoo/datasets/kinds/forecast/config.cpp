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

double read_date(TomlReader& data, std::string_view key) {
  const std::string text = data.text(key);
  const std::optional<DateTime> date = parse_date_time(text);
  if (!date) data.reject(key, fmt::format("'{}'", text), "a date as 2017-07-01");
  return days_since(0, *date);
}

SeriesSplit read_split(TomlReader& data) {
  const std::string by = data.choice("split", {"shares", "points", "dates"});
  if (by == "dates") {
    const SplitByDates dates{read_date(data, "validation"), read_date(data, "test")};
    if (dates.test <= dates.validation) data.reject("test", "no later than validation", "a later date");
    return dates;
  }
  if (by == "points")
    return SplitByPlaces{data.integer("training", 1), data.integer("validation", 1), data.integer("test", 1)};
  const double training = data.number("training", kShareOfSeries),
               validation = data.number("validation", kShareOfSeries), test = data.number("test", kShareOfSeries);
  if (std::abs(training + validation + test - 1) > 1e-9)
    data.reject("test", fmt::format("{}", test), "what makes 1 with training and validation");
  return SplitByShares{training, validation};
}

std::vector<const CalendarFeature*> read_calendar(TomlReader& data) {
  if (!data.is_array("calendar")) {
    static_cast<void>(data.choice("calendar", {"none"}));
    return {};
  }
  std::vector<const CalendarFeature*> features;
  for (const std::string& name : data.texts("calendar")) {
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
  SeriesScale scale{reader.numbers("mean", kAnyFinite), reader.numbers("std", kAnyPositive)};
  for (const auto& [key, count] : {std::pair{"mean", scale.mean.size()}, std::pair{"std", scale.std.size()}})
    if (count != channels)
      reader.reject(key, fmt::format("of {} numbers", count), fmt::format("{}, one for each value", channels));
  return scale;
}

ForecastData read_data(TomlReader& reader) {
  std::vector<std::string_view> sets{"table"};
  for (const KnownSeries& series : known_series()) sets.push_back(series.name);
  ForecastData data{.set = reader.choice("set", sets)};
  if (data.set == "table") data.table = {reader.text("path"), reader.text("checksum"), reader.text("time")};
  const bool has_scale = data.set == "table" && reader.has("mean");
  data.values = reader.texts("values");
  const auto known = std::ranges::find(known_series(), data.set, &KnownSeries::name);
  for (const std::string& name : data.values) {
    if (std::ranges::count(data.values, name) > 1)
      reader.reject("values", fmt::format("'{}' twice", name), "each once");
    if (known != known_series().end() && !has_column(*known, name))
      reader.reject("values", fmt::format("of '{}'", name), fmt::format("some of {}", known->columns));
  }
  if (has_scale) data.table.scale = read_scale(reader, data.values.size());
  if (data.set == "table" && reader.has("step")) data.table.step = reader.number("step", kAnyPositive);
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

/// `kind = "forecast"`. The series is read when it is asked for, and once.
class ForecastConfig final : public SeriesTasks {
 public:
  ForecastConfig(ForecastData data, WindowRules rules)
      : SeriesTasks(std::move(rules)), read_(std::make_shared<Read>(std::move(data))) {}

  /// A test may have another horizon or stride, and need not.
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& test) const override {
    auto tested = std::make_shared<ForecastConfig>(*this);
    if (test.has("horizon")) tested->rules_.horizon = test.integer("horizon", 1, kMostPlaces);
    if (test.has("stride")) tested->rules_.stride = test.integer("stride", 1, kMostPlaces);
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
  WindowRules rules{.context = reader.integer("context", WindowRules::kLeastContext, kMostPlaces),
                    .horizon = reader.integer("horizon", 1, kMostPlaces),
                    .stride = reader.integer("stride", 1, kMostPlaces),
                    .context_before = reader.boolean("context_before"),
                    .true_times = reader.choice("grid", {"window", "time"}) == "time",
                    .calendar = read_calendar(reader)};
  return std::make_shared<ForecastConfig>(std::move(data), std::move(rules));
}

}  // namespace npzoo
