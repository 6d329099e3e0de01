#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "npzoo/datasets/kinds/table_tasks/config.h"
#include "npzoo/datasets/kinds/table_tasks/data.h"
#include "npzoo/datasets/kinds/table_tasks/masks.h"
#include "npzoo/datasets/kinds/table_tasks/source.h"
#include "npzoo/datasets/own_protocol.h"
#include "npzoo/datasets/protocol.h"
#include "tests/datasets/task_fixtures.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

struct TableFile {
  TemporaryDirectory directory;
  std::filesystem::path path = directory / "t.csv";

  explicit TableFile(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  OwnTable table(const std::string& group = "g") const { return {path, group, {"x"}, {"y"}}; }
  TableTasks tasks(const std::string& group = "g") const { return describe_table(table(group)); }
  Protocol protocol(const std::string& base = "") const { return own_protocol({table()}, base).protocol; }
};

/// Groups of `rows` rows whose values are `value(group, row)`, NaN for a blank.
std::string grouped(int groups, int rows, auto value) {
  std::string text = "g,x,y\n";
  for (int g = 0; g < groups; ++g)
    for (int i = 0; i < rows; ++i) {
      const double y = value(g, i);
      text += fmt::format("group {},{},{}\n", g, 100 + i, std::isnan(y) ? "" : fmt::format("{}", y));
    }
  return text;
}

std::set<std::string> names(const std::vector<GroupColumn>& series) {
  std::set<std::string> found;
  for (const GroupColumn& one : series) found.insert(one.group);
  return found;
}

TableSource source_of(const TableTasks& tasks, Split split, std::int64_t batch = 8) {
  return {std::make_shared<const TableData>(read_table_data(tasks)),
          1,
          tasks.points,
          load_protocol("own/table").data->training_range(),
          {.batch_size = batch, .seed = 3, .split = split, .dtype = DType::float64}};
}

}  // namespace

TEST_CASE("table tasks: groups are held out as wholes, whatever their values are") {
  const TableFile a(grouped(20, 12, [](int g, int i) { return g + i % 5; }));
  const TableFile b(grouped(20, 12, [](int g, int i) { return g * i; }));
  const TableData of_a = read_table_data(a.tasks()), of_b = read_table_data(b.tasks());
  CHECK(of_a.validation.size() == 2);
  CHECK(of_a.test.size() == 2);
  CHECK(of_a.training.size() == 16);
  CHECK_FALSE(of_a.tested_on_validation);
  CHECK(names(of_a.validation) == names(of_b.validation));
  CHECK(names(of_a.test) == names(of_b.test));
  std::set<std::string> held_out = names(of_a.validation);
  held_out.merge(names(of_a.test));
  CHECK(held_out.size() == 4);
  for (const std::string& name : held_out) CHECK_FALSE(names(of_a.training).contains(name));

  // Tasks of a split come from its own groups: lines for training, two values for validation, roots for the test.
  const std::set<std::string> validation = names(of_a.validation), test = names(of_a.test);
  const TableFile file(grouped(20, 12, [&](int g, int i) {
    const std::string group = fmt::format("group {}", g);
    return validation.contains(group) ? i % 2 : test.contains(group) ? std::sqrt(i) : 3.0 * i + g;
  }));
  for (const Split split : {Split::training, Split::validation, Split::evaluation}) {
    const Task task = source_of(file.tasks(), split).task(0);
    for (std::int64_t b = 0; b < task.xc.dim(0); ++b) {
      const auto at = [&](const Tensor& t, std::int64_t i) { return t.values<double>()[b * t.dim(1) + i]; };
      const double slope = (at(task.yc, 1) - at(task.yc, 0)) / (at(task.xc, 1) - at(task.xc, 0));
      std::set<double> values;
      double off = 0;
      for (std::int64_t i = 0; i < task.lengths.values<std::int64_t>()[b]; ++i) values.insert(at(task.yc, i));
      for (std::int64_t i = 0; i < task.xt.dim(1); ++i) {
        values.insert(at(task.yt, i));
        off = std::max(off, std::abs(at(task.yc, 0) + slope * (at(task.xt, i) - at(task.xc, 0)) - at(task.yt, i)));
      }
      const bool two_values = values.size() == 2;
      CHECK(two_values == (split == Split::validation));
      if (!two_values) CHECK((off < 1e-9) == (split == Split::training));
    }
  }
}

TEST_CASE("table tasks: contexts are standardised, batches are functions of seed, split and index") {
  const TableFile file(
      grouped(30, 40, [](int g, int i) { return i % 9 == g % 4 ? std::nan("") : 1000 + 50 * std::sin(0.3 * i + g); }));
  const TableSource source = source_of(file.tasks(), Split::training);
  for (const std::uint64_t index : {0, 1, 7, 100}) {
    const Task task = source.task(index), again = source_of(file.tasks(), Split::training).task(index);
    for (const auto member : {&Task::xc, &Task::yc, &Task::xt, &Task::yt, &Task::lengths})
      CHECK(same_bits(task.*member, again.*member));
    CHECK_FALSE(same_bits(task.yc, source_of(file.tasks(), Split::validation).task(index).yc));
    for (std::int64_t b = 0; b < task.xc.dim(0); ++b) {
      const std::int64_t n = task.lengths.values<std::int64_t>()[b];
      const auto x = task.xc.values<double>().subspan(b * task.xc.dim(1), n);
      const auto y = task.yc.values<double>().subspan(b * task.yc.dim(1), n);
      CHECK(n >= TableSource::kLeastContext);
      CHECK(n + task.xt.dim(1) <= 40);
      const auto [low, high] = std::ranges::minmax(x);
      CHECK(low == doctest::Approx(-2).epsilon(1e-12));
      CHECK(high == doctest::Approx(2).epsilon(1e-12));
      double mean = 0, square = 0;
      for (const double v : y) mean += v / static_cast<double>(n);
      for (const double v : y) square += (v - mean) * (v - mean) / static_cast<double>(n);
      CHECK(std::abs(mean) < 1e-9);
      CHECK(square == doctest::Approx(1).epsilon(1e-9));
      for (const double v : task.xt.values<double>().subspan(b * task.xt.dim(1), task.xt.dim(1)))
        CHECK(std::ranges::none_of(x, [v](double seen) { return std::abs(seen - v) < 1e-9; }));  // no answer is given
    }
  }
}

TEST_CASE("table tasks: validations and tests keep targets that are far from their context, training leaves them out") {
  const TableFile file(
      grouped(20, 12, [](int g, int i) { return i == (g * 5) % 12 ? 3000.0 + g : std::sin(1.7 * i + g); }));
  for (const Split split : {Split::training, Split::validation, Split::evaluation}) {
    const TableSource source = source_of(file.tasks(), split);
    double furthest = 0;
    for (std::uint64_t index = 0; index < 20; ++index) {
      const Task task = source.task(index);
      for (const double y : task.yt.values<double>()) furthest = std::max(furthest, std::abs(y));
    }
    CAPTURE(static_cast<int>(split));
    CHECK((furthest > 1000) == (split != Split::training));
    CHECK((furthest <= 40) == (split == Split::training));
  }
}

TEST_CASE("table tasks: masks have the shape of the table's own holes") {
  std::vector<double> x(50);
  GroupColumn donor;
  for (std::int64_t i = 0; i < 50; ++i) {
    x[static_cast<std::size_t>(i)] = 7 + 0.1 * static_cast<double>(i);
    donor.x.push_back(static_cast<double>(i));
    const bool gone = i == 3 || (20 <= i && i < 27);
    donor.y.push_back(gone ? std::nan("") : 1);
    (gone ? donor.missing : donor.known).push_back(i);
  }
  Random random(1);
  CHECK(hole_mask(x, 1, donor, 50, random) == donor.missing);  // the same places in other units
  for (int tries = 0; tries < 50; ++tries) {
    const std::vector<std::int64_t> gaps = gap_mask(x, 1, random), scattered = scattered_mask(50, random);
    for (const auto* mask : {&gaps, &scattered}) {
      CHECK_FALSE(mask->empty());
      CHECK(std::ranges::adjacent_find(*mask, std::greater_equal()) == mask->end());
      CHECK(mask->front() >= 0);
      CHECK(mask->back() < 50);
    }
    std::int64_t runs = 1;
    for (std::size_t i = 1; i < gaps.size(); ++i) runs += gaps[i] != gaps[i - 1] + 1;
    CHECK(runs <= 3);
  }
  const std::vector<std::int64_t> window = window_around(donor, 1, 48, 10);
  CHECK(window.front() == 40);
  CHECK(window.size() == 10);

  GroupColumn map;
  for (int i = 0; i < 100; ++i) {
    map.x.insert(map.x.end(), {static_cast<double>(i % 10), 1000.0 * (i / 10)});
    map.y.push_back(i);
  }
  const std::vector<std::int64_t> near = window_around(map, 2, 55, 9);  // whatever the units of the columns
  CHECK(near == std::vector<std::int64_t>{44, 45, 46, 54, 55, 56, 64, 65, 66});
}

TEST_CASE("table tasks: rows without an input are left out, rows without a value are holes, a single group is blocks") {
  std::string text = "g,x,y\n";
  for (int i = 0; i < 100; ++i)
    text += fmt::format("a,{},{}\n", i == 50 ? "" : fmt::format("{}", 200 - i), i % 10 ? "1" : "NA");
  const TableFile file(text);
  const TableTasks without_groups = file.tasks("");
  for (const TableTasks& tasks : {file.tasks(), without_groups}) {
    const TableData data = read_table_data(tasks);
    CHECK(data.validation.size() == 1);
    CHECK(data.test.size() == 1);
    CHECK(data.training.size() == 3);
    std::size_t rows = 0, missing = 0;
    for (const auto* part : {&data.training, &data.validation, &data.test})
      for (const GroupColumn& series : *part) {
        rows += series.y.size();
        missing += series.missing.size();
        CHECK(std::ranges::is_sorted(series.x));
      }
    CHECK(rows == 99);
    CHECK(missing == 9);
  }
}

TEST_CASE("table tasks: the protocol says all, and another table is not the one that was described") {
  const TableFile file(grouped(4, 12, [](int g, int i) { return g + i; }));
  const Protocol protocol = file.protocol();
  CHECK(protocol.name == "t.csv");
  CHECK(protocol.training.steps == 5000);
  CHECK(protocol.models.contains("tnp-d"));
  CHECK(protocol.evaluation.tests.size() == 1);
  CHECK(protocol.data->dim_x() == 1);
  CHECK(protocol.data->training_range().inputs == Interval{-2, 2});
  const Protocol based = file.protocol("tnp/gp-rbf"), base = load_protocol("tnp/gp-rbf");
  CHECK((based.training == base.training && based.validation == base.validation && based.models == base.models));
  CHECK((based.evaluation.batches == base.evaluation.batches && based.evaluation.tests.size() == 1));
  CHECK((based.evaluation.densities.empty() && based.evaluation.spread == Spread()));
  CHECK(protocol.data->source({.batch_size = 2})->task(0).yt.dim(0) == 2);
  std::ofstream(file.path, std::ios::app) << "group 0,1,1\n";
  CHECK(protocol.data->source({.batch_size = 2})->task(0).yt.dim(0) == 2);  // it has been read already
  const std::string error = error_of([&] { parse_protocol(protocol.text, "mine").data->source({.batch_size = 2}); });
  CHECK(error.starts_with("[table] " + file.path.string() + " has changed: checksum xxh3-128:"));
}

TEST_CASE("table tasks: no group that chooses weights is in the test, unless there are two groups or one share") {
  const TableFile file(grouped(20, 12, [](int g, int i) { return g + i % 5; }));
  const auto split = [](const TableTasks& tasks, Split part) {
    const TableData data = read_table_data(tasks);
    return names(part == Split::validation ? data.validation : data.test);
  };
  TableTasks tasks = file.tasks();
  for (const std::string& name : split(tasks, Split::evaluation))
    CHECK_FALSE(split(tasks, Split::validation).contains(name));
  tasks.held_out = {.validation = 0.05, .test = 0.25};
  CHECK(split(tasks, Split::validation).size() == 1);
  CHECK(split(tasks, Split::evaluation).size() == 5);
  tasks.held_out = {.validation = 0.5, .test = 0.49};  // something is left to learn from
  CHECK(read_table_data(tasks).training.size() == 1);

  // Protocols of older checkpoints: a fifth is for both.
  tasks.held_out = {.validation = 0.2};
  CHECK(read_table_data(tasks).tested_on_validation);
  CHECK(split(tasks, Split::evaluation).size() == 4);
  CHECK(split(tasks, Split::evaluation) == split(tasks, Split::validation));

  const TableFile two(grouped(2, 12, [](int g, int i) { return g + i % 5; }));
  CHECK(read_table_data(two.tasks()).tested_on_validation);
  CHECK(split(two.tasks(), Split::evaluation) == split(two.tasks(), Split::validation));
  const TableFile three(grouped(3, 12, [](int g, int i) { return g + i % 5; }));
  CHECK_FALSE(read_table_data(three.tasks()).tested_on_validation);
  CHECK(read_table_data(three.tasks()).training.size() == 1);
}

TEST_CASE("table tasks: the shares that are held out come from the protocol") {
  const TableFile file(grouped(20, 12, [](int g, int i) { return g + i % 5; }));
  const Protocol protocol = file.protocol();
  const auto changed = [&](const std::string& value) {
    return with_changes(protocol, std::vector<std::string>{"data.held_out=" + value});
  };
  CHECK_FALSE(protocol.data->tested_on_validation());
  CHECK_FALSE(changed("[0.1, 0.3]").data->tested_on_validation());
  CHECK(changed("0.2").data->tested_on_validation());
  CHECK(error_of([&] {
          changed("[0.5, 0.5]");
        }).ends_with("data.held_out is [0.5, 0.5], expected shares that leave some for training"));
  CHECK(error_of([&] { changed("0.0"); }).ends_with("expected a number > 0 and < 1"));
}

TEST_CASE("table tasks: the recipe for tables") {
  const TableFile file(grouped(4, 12, [](int g, int i) { return g + i; }));
  const Protocol p = file.protocol();
  const TrainingConfig& t = p.training;
  CHECK((t.steps == 5000 && t.batch_size == 16 && t.clip_norm == 1 && t.keep_best));
  CHECK((t.optimiser.kind == OptimiserKind::adam && t.optimiser.lr == 5e-4 && t.optimiser.weight_decay == 0));
  CHECK((t.optimiser.beta1 == 0.9 && t.optimiser.beta2 == 0.999 && t.optimiser.epsilon == 1e-8));
  CHECK((t.schedule.kind == ScheduleKind::cosine && t.schedule.warmup_steps == 100));
  CHECK((p.validation.every == 500 && p.validation.batches == 50 && p.validation.seed == 0));
  CHECK((p.evaluation.batches == 200 && p.evaluation.batch_size == 16 && p.evaluation.seed == 0));
}

TEST_CASE("table tasks: a protocol of npzoo 0.1 has the kind table") {
  const TableFile file(grouped(20, 12, [](int g, int i) { return g + i % 5; }));
  const Protocol now = file.protocol();
  std::string text = now.text;
  const auto at = text.find("table_tasks");
  REQUIRE(at != text.npos);
  const Protocol then = parse_protocol(text.replace(at, 11, "table"), "old");
  CHECK(then.text.find("table_tasks") == then.text.npos);
  CHECK(same_data(now, then));
  CHECK(protocol_version(now, "held out", "tnp-d") == protocol_version(then, "held out", "tnp-d"));
  CHECK(same_points(now.data->source({.batch_size = 2})->task(0), then.data->source({.batch_size = 2})->task(0)));
}

TEST_CASE("table tasks: a recipe without a table has no tasks") {
  const Protocol recipe = load_protocol("own/table");
  CHECK(error_of([&] { recipe.data->source({.batch_size = 2}); }) ==
        "[table] no table found, expected npzoo train --table FILE");
  CHECK(error_of([&] { load_protocol("own/forecast").data->source({.batch_size = 2}); }) ==
        "[forecast] no table found, expected npzoo train --table FILE --time COLUMN");
  for (const char* images : {"own/images", "own/images-grey"})
    CHECK(error_of([&] { load_protocol(images).data->source({.batch_size = 2}); }) ==
          "[images] no pictures found, expected npzoo train --images FOLDER --size SIZE");
  const OwnData pictures{OwnPictures{.path = "p"}};
  CHECK(error_of([&] { recipe.data->on_own_data(pictures); }) ==
        "[own] p found, expected a table and its columns of inputs: the protocol is for other data");
  CHECK(error_of([&] { load_protocol("tnp/gp-rbf").data->on_own_data(pictures); }) ==
        "[own] these tasks are not made of a user's own data, expected those of a protocol such as own/table");
}
