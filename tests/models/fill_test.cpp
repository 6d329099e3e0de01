#include "npzoo/models/applications/tables/fill.h"

#include <fstream>
#include <sstream>

#include "npzoo/engine/cancellation.h"
#include "npzoo/models/applications/tables/fill_table.h"
#include "tests/models/trained_fixture.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

using Column = std::vector<double>;
using Groups = std::vector<std::uint32_t>;

/// Random weights that pass for those of a training on contexts of 2 to 8 points.
const TrainedModel& small_weights() {
  static const TrainedModel trained = as_trained(small_run(), make_model(small_run().spec, {.seed = 3}));
  return trained;
}

/// Rows of groups in turn; every third value is missing.
struct FillExample {
  Column x, y;
  Groups groups;

  explicit FillExample(std::size_t rows = 18, std::uint32_t group_count = 2) {
    Random random(5);
    for (std::size_t i = 0; i < rows; ++i) {
      x.push_back(random.uniform(-5, 40));
      y.push_back(i % 3 == 0 ? kNaN : random.uniform(1, 3));
      groups.push_back(static_cast<std::uint32_t>(i) / 3 % group_count);
    }
  }
  FillData data() const { return {.x = x, .values = {y}, .groups = groups}; }
};

const Warning* find_warning(const std::vector<Warning>& warnings, const std::string& about) {
  const auto at = std::ranges::find(warnings, about, &Warning::about);
  return at == warnings.end() ? nullptr : &*at;
}

std::filesystem::path write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string read_all(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("fill: arrays get the figures of their series, to the bit") {
  const OnCpu cpu;
  const FillExample e;
  const FillResult found = fill(small_weights(), e.data(), {.quantiles = {0.1, 0.9}, .samples = 3});
  const TrainingRange range = small_weights().checkpoint.run.protocol.data->training_range();
  const SeriesPredictor predictor(*small_weights().model, range,
                                  {.quantiles = {0.1, 0.9}, .samples = 3, .seed = small_run().seed});
  LocalPredictor method(predictor, {.largest_context = 8, .neighbours = 8});
  const TableAnswer expected = predict_table(method, range, 1,
                                             {.x = e.x,
                                              .y = {e.y},
                                              .groups = e.groups,
                                              .targets = e.x,
                                              .target_groups = e.groups,
                                              .group_count = 2,
                                              .y_names = {"y"}});
  REQUIRE(found.columns.size() == 1);
  CHECK(found.columns[0].mean == expected.columns[0].mean);
  CHECK(found.columns[0].std == expected.columns[0].std);
  CHECK(found.columns[0].quantiles == expected.columns[0].quantiles);
  CHECK(found.columns[0].samples == expected.columns[0].samples);
  CHECK(found.columns[0].samples.size() == 3 * e.x.size());
  CHECK(found.answered == std::vector<bool>(e.x.size(), true));
  CHECK(found.scores.empty());
  CHECK(found.report.tally.series == 2);
  CHECK(found.report.groups == 2);
  CHECK(found.report.context_rows == 12);
  CHECK(found.weights.model == "tnp-d");
  CHECK(found.weights.steps == 20);
  CHECK(fill(small_weights(), e.data(), {.samples = 3, .seed = 8}).columns[0].samples != found.columns[0].samples);
}

TEST_CASE("fill: one series has units, warnings and scores of the values that were missing") {
  const OnCpu cpu;
  FillExample e(9, 1);
  const Column truth(9, 2.0);
  FillData data = e.data();
  data.truth = {truth};
  const FillResult found = fill(small_weights(), data);
  REQUIRE(found.scores.size() == 1);
  CHECK(found.scores[0].rows == 3);
  CHECK(found.scores[0].mae == score(found.columns[0], Column{2, kNaN, kNaN, 2, kNaN, kNaN, 2, kNaN, kNaN}).mae);
  REQUIRE(found.report.single);
  CHECK(found.report.single->units.values[0].scale > 0);
  CHECK(found.report.comments().size() == 5);
  CHECK(found.report.comments()[1] == "columns: y1 by x1");
  CHECK(find_warning(found.warnings, "few context points") == nullptr);

  const Column one{1}, value{4}, far{1, 2, 90};
  const FillResult alone = fill(small_weights(), {.x = one, .values = {value}, .targets = far});
  CHECK(find_warning(alone.warnings, "few context points") != nullptr);
  REQUIRE(find_warning(alone.warnings, "inputs of targets 0") != nullptr);
  CHECK(alone.columns[0].mean.size() == 3);
}

TEST_CASE("fill: the header names turned inputs") {
  FillReport report;
  report.columns = {{"a", "b"}, {"y"}, ""};
  report.tally.series = report.tally.turned = 1;
  report.tally.turn = InputTurn{.ratio = 2.16, .angle = 29.2};
  CHECK(report.comments().back() == "inputs stretched 2.2 : 1 along 29°");
  report.tally.series = 5;
  report.tally.turned = 2;
  CHECK(report.comments().back() == "inputs of 2 series stretched 2.2 : 1 along 29° at most");
}

TEST_CASE("fill: rows without a finite prediction are named") {
  const OnCpu cpu;
  const Column x{0, 1, 0, 1, 2, 2}, y{1e300, -1e300, 1, 2, kNaN, kNaN};
  const Groups groups{0, 0, 1, 1, 0, 1};
  const FillResult found = fill(small_weights(), {.x = x, .values = {y}, .groups = groups}, {.standardise = false});
  CHECK(found.unanswered == 3);
  CHECK(found.first_unanswered == 0);
  CHECK(found.answered == std::vector<bool>{false, false, true, true, false, true});
  REQUIRE(find_warning(found.warnings, "no prediction") != nullptr);
  CHECK(find_warning(found.warnings, "no prediction")->text ==
        "row 0 and 2 others have no prediction: inputs or values are too large for the model");
}

TEST_CASE("fill: reports progress, stops on request, and works afterwards") {
  const OnCpu cpu;
  const ThreadCount count(2);
  const FillExample e(3000, 500);
  std::vector<std::int64_t> done;
  std::int64_t all = 0;
  const auto note = [&](std::int64_t values, std::int64_t total) {
    done.push_back(values);
    all = total;
  };
  const FillResult whole = fill(small_weights(), e.data(), {.progress = note});
  CHECK(all == 3000);
  CHECK(done.back() == 3000);
  CHECK(std::ranges::is_sorted(done));
  REQUIRE(done.size() > 3);
  for (const std::size_t poll : {std::size_t{0}, std::size_t{1}, done.size() - 3}) {
    std::stop_source source;
    std::size_t calls = 0;
    if (poll == 0) source.request_stop();
    FillOptions options{.stop = source.get_token()};
    options.progress = [&](std::int64_t, std::int64_t) {
      if (++calls == poll) source.request_stop();
    };
    CHECK_THROWS_AS(fill(small_weights(), e.data(), options), Interrupted);
    CHECK(calls <= poll + 1);  // one batch of the other thread
  }
  CHECK(fill(small_weights(), e.data()).columns[0].mean == whole.columns[0].mean);
}

TEST_CASE("fill: arrays that cannot be filled") {
  const OnCpu cpu;
  const Column two{1, 2}, three{1, 2, 3}, odd{1, kInfinity};
  const Groups groups{0, 7}, three_groups{0, 0, 0};
  const auto message = [](const FillData& data, const FillOptions& options = {}) {
    return error_of([&] { fill(small_weights(), data, options); });
  };
  CHECK(message({.dim_x = 0, .x = two, .values = {two}}) == "[predict] 0 inputs found, expected one or more");
  CHECK(message({.dim_x = 2, .x = three, .values = {two}}) ==
        "[predict] 3 numbers of x found, expected 2 for each row");
  CHECK(message({.x = odd, .values = {two}}) == "[predict] x of row 1 is inf, expected a finite number");
  CHECK(message({.x = two, .values = {two}, .targets = odd}) ==
        "[predict] targets of row 1 is inf, expected a finite number");
  CHECK(message({.x = two}) == "[predict] no column of values found, expected one or more");
  CHECK(message({.x = two, .values = {two}, .x_names = {"a", "b"}}) ==
        "[predict] 2 names of inputs and 1 of values found, expected 1 and 1");
  CHECK(message({.x = two, .values = {two}, .x_forms = {{}, {}}}) == "[predict] 2 forms of inputs found, expected 1");
  CHECK(message({.x = two, .values = {three}}) == "[predict] 3 values of y1 found, expected 2, one for each row");
  CHECK(message({.x = two, .values = {odd}}) ==
        "[predict] row 1 of values of y1 is inf, expected a finite number, or NaN if it is missing");
  CHECK(message({.x = two, .values = {two}, .groups = three_groups}) ==
        "[predict] 3 groups of 2 rows found, expected one for each");
  CHECK(message({.x = two, .values = {two}, .groups = groups}) ==
        "[predict] the group 7 found, expected numbers from 0 on, below the 2 rows of data");
  CHECK(message({.x = two, .values = {two}, .target_groups = groups}) ==
        "[predict] the group 7 found, expected numbers from 0 on, below the 2 rows of data");
  CHECK(message({.x = three, .values = {three}, .target_groups = three_groups}) ==
        "[predict] groups of targets found, but no targets");
  CHECK(message({.x = two, .values = {two}, .truth = {two, two}}) == "[predict] 2 columns of truth found, expected 1");
  CHECK(message({.x = two, .values = {two}}, {.quantiles = {1}}) ==
        "[predict] the quantile 1 found, expected a number above 0 and below 1");
  CHECK(message({.x = two, .values = {two}}, {.samples = -1}) ==
        "[predict] -1 samples, 0 neighbours and a chunk of 4096 found, expected at least 0, 0 and 1");
  CHECK(message({.dim_x = 2, .x = two, .values = {Column{1}}}) ==
        "[predict] 2 inputs found, x1 and x2, tnp-d trained under small takes 1");
}

TEST_CASE("fill: group labels become numbers in the order in which they appear") {
  const std::vector<std::string> rows{"b", "a", "b"}, targets{"c", "a"};
  const GroupNumbers numbers = number_groups(rows, targets);
  CHECK(numbers.names == std::vector<std::string>{"b", "a", "c"});
  CHECK(numbers.of_rows == Groups{0, 1, 0});
  CHECK(numbers.of_targets == Groups{2, 1});
}

TEST_CASE("fill: a table is filled as its arrays are, and written row by row") {
  const OnCpu cpu;
  const TemporaryDirectory directory;
  const auto path = write_file(directory / "t.csv",
                               "date,station,level,note\n"
                               "2020-01-01,a,1.5,x\n2020-01-02,a,,\n2020-01-03,a,2.5,\n"
                               "2020-01-01,b,4,\n2020-01-02,b,5,\n2020-01-04,b,,y\n");
  const auto truth =
      write_file(directory / "truth.csv", "date,station,level\n2020-01-02,a,2\n2020-01-04,b,7\n2020-01-01,a,1.5\n");
  const FillTables tables = read_fill_tables({.table = Table::read(path),
                                              .truth = Table::read(truth),
                                              .columns = {.values = {"level"}, .group = "station"},
                                              .dim_x = 1});
  CHECK(tables.columns.inputs == std::vector<std::string>{"date"});
  CHECK(tables.groups == std::vector<std::string>{"a", "b"});
  const FillOptions options{.quantiles = {0.5}, .samples = 2};
  const FillResult result = fill_tables(small_weights(), tables, options);
  const Column x{0, 1, 2, 0, 1, 3}, y{1.5, kNaN, 2.5, 4, 5, kNaN}, known{1.5, 2, kNaN, kNaN, kNaN, 7};
  const Groups groups{0, 0, 0, 1, 1, 1};
  const FillResult of_arrays =
      fill(small_weights(), {.x = x, .values = {y}, .groups = groups, .truth = {known}}, options);
  CHECK(result.columns[0].mean == of_arrays.columns[0].mean);
  CHECK(result.columns[0].samples == of_arrays.columns[0].samples);
  CHECK(result.scores[0].rows == 2);
  CHECK(result.scores[0].crps == of_arrays.scores[0].crps);

  const auto out = directory / "out.csv", drawn = directory / "samples.csv";
  write_predictions(tables, result, out)->commit();
  write_samples(tables, result, drawn, 3)->commit();
  std::string expected;
  for (const std::string& line : result.report.comments()) expected += "# " + line + "\n";
  expected += "date,station,level,note,mean_level,std_level,q0.5_level\n";
  const PredictedColumn& column = result.columns[0];
  for (std::size_t i = 0; i < 6; ++i)
    expected += fmt::format("{},{},{},{}\n", tables.table.text(static_cast<std::int64_t>(i)),
                            round_to_std(column.mean[i], column.std[i]), round_to_std(column.std[i], column.std[i]),
                            round_to_std(column.quantiles[i], column.std[i]));
  CHECK(read_all(out) == expected);
  const std::string samples = read_all(drawn);
  CHECK(samples.find("date,station,level,note,sample,sample_level\n2020-01-01,a,1.5,x,1,") != std::string::npos);
  CHECK(std::ranges::count(samples, '\n') == 12 + 1 + std::ssize(result.report.comments()) + 1);
}

TEST_CASE("fill: tables that cannot be filled") {
  const OnCpu cpu;
  const TemporaryDirectory directory;
  const auto message = [&](const std::string& text, const std::string& truth = "", const FillOptions& options = {}) {
    const auto path = write_file(directory / "t.csv", text);
    TablesToFill tables{.table = Table::read(path), .columns = {.inputs = {"x"}, .values = {"y"}}, .dim_x = 1};
    if (!truth.empty()) tables.truth = Table::read(write_file(directory / "truth.csv", truth));
    std::string found = error_of([&] { fill_tables(small_weights(), read_fill_tables(std::move(tables)), options); });
    for (const char* name : {"t.csv", "truth.csv"})
      if (const auto at = found.find((directory / name).string()); at != found.npos)
        found.replace(at, (directory / name).string().size(), name);
    return found;
  };
  CHECK(message("x,y\n1,\n2,\n") == "[predict] t.csv has no value in \"y\", expected some rows with one");
  CHECK(message("x,y\n1,2020-01-01\n2,\n") == "[predict] t.csv: column \"y\" holds dates, expected numbers to predict");
  CHECK(message("x,y\n1,2\n2,\n", "x,y\n1,2\n") ==
        "[truth] truth.csv has none of the predicted values, expected rows with the same x");
  CHECK(
      message("x,y\n1,1e300\n2,-1e300\n3,\n", "", {.standardise = false}) ==
      "[t.csv:2] the prediction is no number, expected a finite number: inputs or values are too large for the model");
}
