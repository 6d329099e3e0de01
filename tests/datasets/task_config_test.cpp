#include "npzoo/datasets/task_config.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "npzoo/datasets/events/event_tasks.h"
#include "npzoo/datasets/kinds/gp/config.h"
#include "npzoo/datasets/oracle.h"
#include "npzoo/datasets/series/series_tasks.h"
#include "npzoo/datasets/task_table.h"
#include "npzoo/ops/concat/concat.h"
#include "tests/datasets/task_fixtures.h"
#include "tests/toy_tasks.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Returns the message for an unknown kind.
std::string message_of_kind(const std::string& found) {
  std::vector<std::string> kinds;
  for (const TaskFamily& family : task_families()) kinds.push_back(fmt::format("\"{}\"", family.kind));
  return fmt::format("[protocol] f.toml: data.kind is '{}', expected one of {}", found, fmt::join(kinds, ", "));
}

Tensor row(const Tensor& x, std::int64_t b) { return slice(x, 0, b, b + 1); }

}  // namespace

TEST_CASE("[tasks] a kind is known as long as it is there") {
  const std::string unknown = message_of_kind("lines");
  CHECK(unknown.find("\"gp\"") != std::string::npos);
  CHECK(error_of_protocol(lines_protocol()) == unknown);
  {
    const AddedTaskFamily added(kLines);
    const Protocol p = parse_protocol(lines_protocol(), "f.toml");
    CHECK(p.data->dim_x() == 1);
    CHECK(p.data->dim_y() == 2);
    CHECK(gp_distribution(*p.data) == nullptr);
    CHECK(gp_distribution(*load_protocol("quick/gp1d").data) != nullptr);
    CHECK(error_of_protocol(replaced(lines_protocol(), "\"lines\"\nitems", "\"line\"\nitems")) ==
          message_of_kind("line"));
    CHECK(message_of_kind("line").ends_with(", \"lines\""));
    CHECK(error_of([] { const AddedTaskFamily again(kLines); }) ==
          "[tasks] there is a kind 'lines' already, expected another name");
  }
  CHECK(error_of_protocol(lines_protocol()) == unknown);
}

TEST_CASE("[tasks] protocols are read while another thread adds a kind and removes it") {
  const std::string unknown = message_of_kind("lines"), text = lines_protocol();
  std::atomic<bool> done = false;
  std::thread adding([&] {
    for (int i = 0; i < 200; ++i) const AddedTaskFamily added(kLines);
    done = true;
  });
  int wrong = 0;
  do {
    const std::string found = error_of_protocol(text);
    wrong += found != unknown && found != "no error";
    wrong += error_of([] { parse_protocol(load_protocol("quick/gp1d").text, "f.toml"); }) != "no error";
  } while (!done);
  adding.join();
  CHECK(wrong == 0);
  CHECK(error_of_protocol(text) == unknown);
}

TEST_CASE("[tasks] a kind names the application of its models") {
  const AddedTaskFamily added(kLines);
  const auto application = [](const Protocol& protocol) { return protocol.data->application(); };
  CHECK(application(parse_protocol(lines_protocol(), "f.toml")) == Application::points);
  CHECK(application(load_protocol("quick/gp1d")) == Application::points);
  CHECK(application(load_protocol("npzoo/any-2d")) == Application::tables);
  CHECK(application(load_protocol("autoformer/etth2")) == Application::forecasts);
  CHECK(application(load_protocol("quick/hawkes")) == Application::events);
}

TEST_CASE("[tasks] a kind reads its own keys, strictly") {
  const AddedTaskFamily added(kLines);
  const std::string text = lines_protocol();
  CHECK(error_of_protocol(replaced(text, "items = 10\n", "")) ==
        "[protocol] f.toml: data.items is missing, expected an integer from 1 to 1000000000");
  CHECK(error_of_protocol(replaced(text, "steepness = 1.0", "steepness = 0")) ==
        "[protocol] f.toml: data.steepness is 0, expected a number > 0");
  CHECK(error_of_protocol(replaced(text, "items = 10", "items = 10\ndims = 1")) ==
        "[protocol] f.toml: data.dims is an unknown key, expected one of: items, kind, points, steepness");
  CHECK(error_of_protocol(lines_protocol("steepness = -1.0")) ==
        "[protocol] f.toml: evaluation.tests[0].steepness is -1.0, expected a number > 0");
  CHECK(error_of_protocol(lines_protocol("items = 3")) ==
        "[protocol] f.toml: evaluation.tests[0].items is an unknown key, expected one of: name");
}

TEST_CASE("[tasks] changes of a test apply to it alone, and change the version of its figures") {
  const AddedTaskFamily added(kLines);
  const Protocol plain = parse_protocol(lines_protocol(), "f.toml");
  const Protocol steep = parse_protocol(lines_protocol("steepness = 3.0"), "f.toml");
  const auto task = [](const TaskConfig& config) { return config.source({2, 0, Split::evaluation})->task(1); };
  CHECK(same_data(plain, steep));
  CHECK(same_points(task(*plain.data), task(*steep.data)));
  CHECK(same_points(task(*plain.data), task(*plain.evaluation.tests[0].data)));
  CHECK_FALSE(same_points(task(*plain.data), task(*steep.evaluation.tests[0].data)));
  CHECK(protocol_version(plain, "lines", "cnp") != protocol_version(steep, "lines", "cnp"));

  const Protocol fewer = parse_protocol(replaced(lines_protocol(), "items = 10", "items = 9"), "f.toml");
  CHECK_FALSE(same_data(plain, fewer));
  CHECK(same_data(plain, parse_protocol(replaced(lines_protocol(), "items = 10", "items  =  1_0  # ten"), "f.toml")));
}

TEST_CASE("[tasks] requirements for every source") {
  const AddedTaskFamily added(kLines);
  std::vector<Protocol> protocols{parse_protocol(lines_protocol(), "f.toml")};
  for (const std::string& name : protocol_names()) protocols.push_back(load_protocol(name));
  for (const Protocol& p : protocols) {
    CAPTURE(p.name);
    if (!is_at_hand(p)) continue;
    for (const Split split : {Split::training, Split::evaluation}) {
      const auto source = p.data->source({2, 1, split});
      CHECK(source->device() == Device::cpu);
      const Batch first = source->batch(0);
      const Task& task = first.task;
      CHECK((task.xc.dim(0) == 2 && task.xc.dim(2) == p.data->dim_x() && task.yc.dim(2) == p.data->dim_y()));
      CHECK((task.xt.dim(1) == task.yt.dim(1) && task.xt.dim(2) == p.data->dim_x()));
      CHECK(task.yt.dtype() == DType::float32);
      CHECK(same_points(task, p.data->source({2, 1, split})->task(0)));
      CHECK_FALSE(same_points(task, source->task(1)));
      const Task exact = p.data->source({2, 1, split, DType::float64})->task(0);
      CHECK(same_bits(exact.yt.to(DType::float32), task.yt));
    }
    const TaskExtents typical = p.data->typical_extents();
    const TrainingRange range = p.data->training_range();
    CHECK((range.min_context <= typical.context && typical.context <= range.max_context));
    CHECK(typical.targets >= 1);
    const Task drawn = p.data->picture(3, 0).task;
    CHECK(drawn.xt.dim(0) == 3);
    const auto [low, high] = std::ranges::minmax(doubles(drawn.xt));
    CHECK((range.inputs.low - 1e-6 <= low && high <= range.inputs.high + 1e-6));
  }
}

TEST_CASE("[tasks] a finite set is seen once an epoch in training, and once in a test") {
  const AddedTaskFamily added(kLines);
  const Protocol p = parse_protocol(lines_protocol(), "f.toml");
  const auto test = p.data->source({4, 0, Split::evaluation});
  CHECK(test->size() == 3);
  CHECK(test->task(2).xt.dim(0) == 2);
  CHECK(batches_of(*test, 100) == 3);
  CHECK(batches_of(*test, 2) == 2);
  const auto training = p.data->source({5, 0, Split::training});
  CHECK_FALSE(training->size());
  CHECK(batches_of(*training, 100) == 100);
  for (const std::uint64_t epoch : {0, 1}) {
    std::set<std::vector<double>> seen;
    for (const std::uint64_t index : {2 * epoch, 2 * epoch + 1}) {
      const Task task = training->task(index);
      for (std::int64_t b = 0; b < 5; ++b) seen.insert(doubles(row(task.yt, b)));
    }
    CHECK(seen.size() == 10);
  }
}

TEST_CASE("[tasks] an oracle needs a known process") {
  const AddedTaskFamily added(kLines);
  const Protocol lines = parse_protocol(lines_protocol(), "f.toml");
  CHECK(error_of([&] { lines.data->oracle({}); }) ==
        "[oracle] these tasks have no exact reference, expected tasks of a known process, such as those of tnp/gp-rbf");
  std::vector<std::string> stages;
  const OracleOptions options{
      .tasks = 2, .batch_size = 2, .nodes = 4, .progress = [&](const char* stage, auto done, auto of) {
        if (done == 0) stages.push_back(fmt::format("{} {}", stage, of));
      }};
  const OracleFindings found = load_protocol("quick/gp1d").data->oracle(options);
  CHECK(stages == std::vector<std::string>{"known 12", "oracle 2"});
  CHECK((found.figures.size() == 5 && found.known_tasks == 24 && found.integration.has_value()));
  const OracleFindings events = load_protocol("events/poisson").data->oracle({.tasks = 2});
  CHECK((events.figures.size() == 1 && std::string(events.unit) == "event" && !events.integration));
}

TEST_CASE("[tasks] the form of tasks") {
  const AddedTaskFamily added(kLines);
  CHECK(parse_protocol(lines_protocol(), "f.toml").data->form() == TaskForm::points);
  CHECK(load_protocol("tnp/celeba32").data->form() == TaskForm::points);
  const auto events = load_protocol("events/hawkes").data, series = load_protocol("taylorformer/exchange").data;
  CHECK((events->form() == TaskForm::events && events->as_events() != nullptr && events->as_series() == nullptr));
  CHECK((series->form() == TaskForm::series && series->as_series() != nullptr && series->as_events() == nullptr));
  CHECK(events->extra_sizes() == ModelConfig{{"num_classes", std::int64_t{2}}});
}

/// A table of tasks as text.
struct WrittenTasks final : TaskTable {
  std::string text;

  void begin(const Columns& columns) override {
    text = fmt::format("{} | {}\n", fmt::join(columns.place, ","), fmt::join(columns.values, ","));
  }
  void add(const Row& row) override {
    text += fmt::format("{}{} {} | {}\n", row.given ? "" : "? ", row.task, row.place[0], fmt::join(row.values, ","));
  }
};

TEST_CASE("[tasks] any tasks are written as a table") {
  const AddedTaskFamily added(kLines);
  const Protocol p = parse_protocol(lines_protocol(), "f.toml");
  WrittenTasks one, three;
  CHECK(p.data->write(1, 0, one) == 1);
  CHECK(one.text.starts_with("x | y1,y2\n"));
  CHECK(std::ranges::count(one.text, '\n') == 1 + 9);
  CHECK(std::ranges::count(one.text, '?') == 6);
  CHECK(p.data->write(3, 0, three) == 3);
  CHECK(three.text.starts_with("task,x | y1,y2\n"));
  CHECK(std::ranges::count(three.text, '\n') == 1 + 3 * 9);
  WrittenTasks sequences;
  CHECK(load_protocol("events/poisson").data->write(2, 0, sequences) == 2);
  CHECK(sequences.text.starts_with("sequence,time | mark\n0 1 | "));
  const float infinite = std::numeric_limits<float>::infinity();
  CHECK(error_of([&] { number_cell(infinite, 2); }) ==
        "[sample] task 3 has the number inf, expected finite ones: the protocol's are too large");
}

TEST_CASE("[tasks] the truth of a Gaussian process") {
  const Protocol p = load_protocol("tnp/gp-rbf");
  const Batch batch = p.data->source({3, 1, Split::evaluation})->batch(0);
  CHECK(batch.truth->name() == "exact GP");
  const auto marginal = batch.truth->log_likelihood(batch.task, Density::marginal);
  REQUIRE(marginal);
  CHECK(marginal->size() == 3);
  CHECK(batch.truth->log_likelihood(batch.task, Density::mixture) == marginal);
  const auto points = static_cast<double>(batch.task.xt.dim(1));
  CHECK(mean_log_likelihood(*batch.truth, batch.task, Density::marginal) ==
        ((*marginal)[0] + (*marginal)[1] + (*marginal)[2]) / (3 * points));

  const std::vector<double> x = doubles(row(batch.task.xt, 1)), y = doubles(row(batch.task.yt, 1));
  const auto curve = batch.truth->curve(batch.task, 1, x);
  REQUIRE(curve);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += log_normal_density(y[i], curve->mean[i], curve->std[i] * curve->std[i]);
  CHECK(sum == doctest::Approx((*marginal)[1]).epsilon(1e-9));

  const Batch silent = load_protocol("tnp-kr/gp1d-rbf").data->source({3, 1, Split::evaluation})->batch(0);
  CHECK(silent.truth->log_likelihood(silent.task, Density::marginal).has_value());
  CHECK_FALSE(silent.truth->log_likelihood(silent.task, Density::joint));
  CHECK_FALSE(mean_log_likelihood(*silent.truth, silent.task, Density::joint));
}

TEST_CASE("[tasks] a picture of a Gaussian process: dense targets without noise, a truth of noisy values") {
  const Protocol p = load_protocol("tnp/gp-rbf");
  const Batch batch = p.data->picture(2, 3);
  CHECK(batch.task.xt.dim(1) > 200);
  const std::vector<double> far{100.0};  // where the context tells nothing
  const GpDistribution& d = *gp_distribution(*p.data);
  const auto curve = batch.truth->curve(batch.task, 0, far);
  CHECK(curve->std[0] > d.kernels[0].scale.a);
  const std::vector<double> at = doubles(row(batch.task.xc, 0));
  const std::int64_t own = batch.task.lengths.values<std::int64_t>()[0];
  const auto near = batch.truth->curve(batch.task, 0, std::span(at).first(static_cast<std::size_t>(own)));
  for (const double std : near->std) CHECK(std >= 0.999 * d.target_noise);
}
