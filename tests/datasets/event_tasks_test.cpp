#include "npzoo/datasets/events/event_tasks.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "npzoo/datasets/events/event_columns.h"
#include "npzoo/datasets/events/process_prior.h"
#include "npzoo/datasets/events/table.h"
#include "npzoo/datasets/own_protocol.h"
#include "tests/datasets/task_fixtures.h"
#include "tests/small_protocol.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr const char* kProcess = R"(process = { kind = "hawkes", baseline = [0.2, 0.3], excitation = [[0.8, 0.1], )"
                                 R"([0.4, 0.5]], decay = [[2.0, 1.0], [1.5, 1.0]] }
)";

std::string event_protocol(const std::string& data) {
  return small_protocol("events", "kind = \"events\"\n" + data, "");
}

const EventTasks& events_of_protocol(const Protocol& p) { return *p.data->as_events(); }

std::filesystem::path event_file(const TemporaryDirectory& directory, const std::string& text) {
  std::ofstream(directory / "e.csv") << text;
  return directory / "e.csv";
}

std::vector<NamedSequence> read_events(const std::string& text, const EventTableForm& form = {}) {
  const TemporaryDirectory directory;
  return read_event_table(event_file(directory, text), form).sequences;
}

std::vector<NamedSequence> read_jodie(const std::string& text, const EventTableForm& form) {
  const TemporaryDirectory directory;
  return read_jodie_table(event_file(directory, text), form).sequences;
}

/// Without the folder.
std::string event_refusal(const std::string& text, const EventTableForm& form = {}) {
  const TemporaryDirectory directory;
  const std::string message = error_of([&] { read_event_table(event_file(directory, text), form); });
  return replaced(message, (directory / "e.csv").string(), "e.csv");
}

std::vector<double> event_row(const Tensor& x, std::int64_t row) {
  const std::vector<double> all = doubles(x);
  const std::int64_t width = x.dim(1) * x.dim(2);
  return {all.begin() + row * width, all.begin() + (row + 1) * width};
}

/// Three sequences, of 1, 4 and 2 events.
std::string three_sequences() {
  return "mark,sequence,other,time\n1,a,x,0.5\n0,b,x,0\n2,b,,1.5\n1,c,x,3\n1,b,x,2\n0,c,x,3.25\n1,b,x,4\n";
}

}  // namespace

TEST_CASE("events: a table's sequences") {
  const auto all = read_events(three_sequences(), {.marks = 3});
  REQUIRE(all.size() == 3);
  CHECK((all[0].name == "a" && all[1].name == "b" && all[2].name == "c"));
  CHECK(all[1].events.times == std::vector<double>{0, 1.5, 2, 4});
  CHECK(all[1].events.marks == std::vector<std::int64_t>{0, 2, 1, 1});
  CHECK(all[1].events.end == 4);
  const auto other = read_events("s;t\n1;2,5\n1;5\n", {.sequence = "s", .time = "t", .unit = 2, .end = 4});
  CHECK(other[0].events.times == std::vector<double>{1.25, 2.5});
  CHECK(other[0].events.marks == std::vector<std::int64_t>{0, 0});
  CHECK(other[0].events.end == 4);
  const auto apart = read_events("sequence,time\na,1\na,1\na,1\na,5\n", {.least_gap = 0.25});
  CHECK(apart[0].events.times == std::vector<double>{1, 1.25, 1.5, 5});
  const auto started = read_events("sequence,time\na,101\na,103\n", {.end = 104, .start = 100});
  CHECK(started[0].events.times == std::vector<double>{1, 3});
  CHECK(started[0].events.end == 4);
  CHECK(warning_of_late_start(started, {.start = 100}) == "");
  const auto late = read_events("sequence,time\na,1700000000\na,1700000060\n", {});
  CHECK(warning_of_late_start(late, {}) ==
        "the first event is at 1700000000, long after time 0, where observation begins: subtract the time at which it "
        "began from all "
        "times");
}

TEST_CASE("events: rows of a sequence may come newest first") {
  const TemporaryDirectory directory;
  const std::string text = "sequence,time,mark\na,9,1\nb,1,0\na,4,0\na,4,2\nb,3,1\na,2,0\n";
  const EventTable table =
      read_event_table(event_file(directory, text), {.marks = 3, .least_gap = 0.5, .either_order = true});
  CHECK(table.reversed == 1);
  CHECK(table.moved == 1);
  CHECK(table.sequences[0].events.times == std::vector<double>{2, 4, 4.5, 9});
  CHECK(table.sequences[0].events.marks == std::vector<std::int64_t>{0, 2, 0, 1});
  CHECK(table.sequences[1].events.times == std::vector<double>{1, 3});
  CHECK(event_refusal("sequence,time\na,3\na,1\na,2\n", {.either_order = true}) ==
        "[e.csv:3] column \"time\" holds \"1\", expected more than 3, the time of the previous event of the sequence: "
        "sort "
        "the rows by time, or name the column of sequences");
  const auto midnight = read_events("sequence,time\na,2024-01-02T06:00\na,2024-01-02T18:00\n",
                                    {.from_first_event = true, .from_midnight = true});
  CHECK(midnight[0].events.times == std::vector<double>{0.25, 0.75});
}

TEST_CASE("events: impossible tables are errors") {
  const std::string head = "sequence,time,mark\na,1,0\n";
  CHECK(
      event_refusal(head + "a,0.5,0\n") ==
      "[e.csv:3] column \"time\" holds \"0.5\", expected more than 1, the time of the previous event of the sequence");
  CHECK(event_refusal(head + "b,7,0\na,1,0\n") ==
        "[e.csv:4] column \"time\" holds \"1\", expected more than 1, the time of the previous event of the sequence: "
        "move the later one by a little, or give a least_gap");
  CHECK(event_refusal("sequence,time\na,1e15\na,1e15\n", {.least_gap = 0.01})
            .ends_with("expected a time small enough to differ from the one before by 0.01"));
  CHECK(event_refusal(head + "a,0.5,0\n", {.least_gap = 0.1}) ==
        "[e.csv:3] column \"time\" holds \"0.5\", expected at least 1, the time of the previous event of the sequence");
  CHECK(event_refusal(head + "b,-0.5,0\n") == "[e.csv:3] column \"time\" holds \"-0.5\", expected a time of 0 or more");
  CHECK(event_refusal(head + "b,2.5,0\n", {.end = 2}) ==
        "[e.csv:3] column \"time\" holds \"2.5\", expected at most the end, 2");
  CHECK(event_refusal(head + "b,2020-01-01,0\n") ==
        "[e.csv:3] column \"time\" holds \"2020-01-01\", expected a number, like the others of the column");
  CHECK(
      event_refusal("sequence,time\na,2020-01-01\n") ==
      "[e.csv:2] column \"time\" holds \"2020-01-01\", expected a number, not a date: write the time since observation "
      "began, as 2.5 days");
  CHECK(event_refusal(head + "b,2,1\n") == "[e.csv:3] column \"mark\" holds \"1\", expected the mark 0");
  for (const char* mark : {"3", "-1", "0.5"})
    CHECK(event_refusal(head + "b,2," + mark + "\n", {.marks = 3}) ==
          std::string("[e.csv:3] column \"mark\" holds \"") + mark + "\", expected a mark, one of 0 … 2");
  CHECK(event_refusal(head + "b,2,buy\n", {.marks = 3}) ==
        "[e.csv:3] column \"mark\" holds \"buy\", expected a number: write the kinds of events as 0 … 2");
  CHECK(event_refusal(head + "b,1e40,0\n", {.unit = 10}) ==
        "[e.csv:3] column \"time\" holds \"1e40\", expected at most 1e+16");
  CHECK(event_refusal(head, {.start = 2}) == "[e.csv:2] column \"time\" holds \"1\", expected a time of 2 or more");
  CHECK(event_refusal(head + ",2,0\n") == "[e.csv:3] the sequence has no name, expected one in every row");
  CHECK(event_refusal("sequence,time\na,1\n", {.marks = 2}) ==
        "[e.csv:1] has no column \"mark\", found \"sequence\", \"time\"");
  CHECK(event_refusal("sequence,time\n") == "[e.csv] has no events, expected at least one");
}

TEST_CASE("events: files of JODIE") {
  const std::string head = "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n";
  const auto all = read_jodie(head + "7,1,0.0,0,0.1,0.2,0.3\n8,0,2.0,0,0.1,-0.2,5\n7,1,10,1,1,2,3\n7,0,10,0,1,2,3\n",
                              {.marks = 2, .unit = 10, .least_gap = 0.5});
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "7");
  CHECK(all[0].events.times == std::vector<double>{0, 1, 1.5});
  CHECK(all[0].events.marks == std::vector<std::int64_t>{1, 1, 0});
  const auto error = [](const std::string& text) { return error_of([&] { read_jodie(text, {.marks = 2}); }); };
  CHECK(error(head + "7,1,0.0\n")
            .ends_with("e.csv:2] has too few fields, expected user, item, timestamp, label and features"));
  CHECK(
      error("a,b\n1,2\n")
          .ends_with("e.csv] has 2 columns, expected user, item, timestamp, label and features, separated by commas"));
  CHECK(error(head + "7,2,0.0,0,1\n").ends_with("column \"item_id\" holds \"2\", expected a mark, one of 0 … 1"));
}

TEST_CASE("events: sequences as tasks") {
  const auto all = read_events(three_sequences(), {.marks = 3, .end = 4});
  std::vector<SequencePiece> pieces;
  for (const NamedSequence& one : all) pieces.push_back({&one.events, 0, one.events.events()});
  const SourceOptions options{.dtype = DType::float64};
  const Task task = event_task(pieces, {.context = 2}, options);
  CHECK(task.xc.shape() == Shape{3, 2, 1});
  CHECK(task.yt.shape() == Shape{3, 2, 2});
  CHECK(event_row(task.xc, 1) == std::vector<double>{0, 1});
  CHECK(event_row(task.yc, 1) == std::vector<double>{0, 0, 1.5, 2});
  CHECK(event_row(task.xt, 1) == std::vector<double>{2, 3});
  CHECK(event_row(task.yt, 1) == std::vector<double>{0.5, 1, 2, 1});  // its end is its last event
  CHECK(event_row(task.yc, 0) == std::vector<double>{0.5, 1, 0, kNoEvent});
  CHECK(event_row(task.yt, 0) == std::vector<double>{3.5, kNoEvent, 0, kNoEvent});
  CHECK(event_row(task.yt, 2) == std::vector<double>{0.75, kNoEvent, 0, kNoEvent});
  CHECK(std::ranges::equal(task.lengths.values<std::int64_t>(), std::vector<std::int64_t>{1, 2, 2}));
  CHECK(std::ranges::equal(task.target_lengths.values<std::int64_t>(), std::vector<std::int64_t>{1, 2, 1}));
  CHECK(doubles(task.target_weights) == std::vector<double>{1, 0, 1, 1, 1, 0});
  CHECK(doubles(task.target_totals) == std::vector<double>(3, 2.0 / 3));

  const auto events = events_of(task);
  for (std::size_t b = 0; b < 3; ++b) {
    CHECK(events[b].sequence.times == all[b].events.times);
    CHECK(events[b].sequence.marks == all[b].events.marks);
    CHECK(events[b].sequence.end == 4);
  }
  CHECK((events[0].first_target == 1 && events[1].first_target == 2));

  const Task piece = event_task({{&all[1].events, 1, 3}}, {.context = 1}, options);
  CHECK(event_row(piece.xc, 0) == std::vector<double>{1});
  CHECK(event_row(piece.yc, 0) == std::vector<double>{1.5, 2});
  CHECK(event_row(piece.yt, 0) == std::vector<double>{0.5, 1});
  CHECK_FALSE(piece.lengths.defined());
  // The clock of a later piece is that of its sequence, and not of the event before.
  const Task later = event_task({{&all[1].events, 2, 4}}, {.context = 1}, options);
  CHECK(event_row(later.yc, 0) == std::vector<double>{2, 1});
  CHECK(event_row(later.yt, 0) == std::vector<double>{2, 1});
  CHECK(events_of(later)[0].sequence.times == std::vector<double>{2, 4});
  // Without a context the first event is a target, whose gap is since the event before.
  CHECK(event_row(event_task({{&all[1].events, 2, 4}}, {.context = 0}, options).yt, 0) ==
        std::vector<double>{0.5, 1, 2, 1});
}

TEST_CASE("events: the truth of simulated tasks is that of their process") {
  for (const char* extent : {"events = 20\n", "end = 25.0\n"}) {
    const Protocol p = parse_protocol(event_protocol(std::string("context = 3\n") + extent + kProcess), "f.toml");
    const EventTasks& config = events_of_protocol(p);
    const Batch batch = config.source({4, 1, Split::evaluation, DType::float64})->batch(2);
    CHECK(batch.truth->name() == "true Hawkes process");
    CHECK_FALSE(batch.truth->log_likelihood(batch.task, Density::mixture));
    const auto scores = *batch.truth->log_likelihood(batch.task, Density::joint);
    Random random(1, static_cast<std::uint64_t>(Split::evaluation) << 56 | 2);
    for (const double score : scores) {
      const EventSequence s =
          config.process()->draw(extent[1] == 'v' ? SimulatedExtent{.events = 20} : SimulatedExtent{.end = 25}, random);
      CHECK(score == doctest::Approx(config.process()->log_likelihood(s, 3)).epsilon(1e-12));
    }
    CHECK(batch.task.target_weights.defined() == (extent[1] == 'n'));
    CHECK(config.marks() == 2);
    CHECK(config.shown(3, 5).size() == 3);
    // Stationary rates are (I − α / β)⁻¹ μ, 0.476 and 0.854; without a past there are fewer events at first.
    const auto rates = Poisson::fitted(config.training_sequences(), config.marks())->rates();
    CHECK((rates[0] > 0.3 && rates[0] < 0.476));
    CHECK((rates[1] > 0.5 && rates[1] < 0.854));
  }
}

TEST_CASE("events: each task may have a process of its own, whose density is its truth") {
  const Protocol p =
      parse_protocol(event_protocol("context = 1\nevents = 30\nprocesses = \"any\"\nmarks = 3\n"), "f.toml");
  const EventTasks& config = events_of_protocol(p);
  CHECK(config.marks() == 3);
  CHECK(config.process() == nullptr);
  const Batch batch = config.source({4, 1, Split::evaluation, DType::float64})->batch(2);
  CHECK(batch.truth->name() == "true process of each sequence");
  const auto scores = *batch.truth->log_likelihood(batch.task, Density::joint);
  Random random(1, static_cast<std::uint64_t>(Split::evaluation) << 56 | 2);
  for (const double score : scores) {
    const auto process = draw_process(3, random);
    const EventSequence s = process->draw({.events = 30}, random);
    CHECK(score == doctest::Approx(process->log_likelihood(s, 1)).epsilon(1e-9));
  }
  CHECK(std::isfinite(config.oracle({.tasks = 20, .seed = 3}).figures[0].value->value));
}

TEST_CASE("events: the columns of a table, and whether it holds events") {
  const TemporaryDirectory directory;
  const auto columns = [&](const std::string& text, const NamedEventColumns& named = {}) {
    Table table = Table::read(event_file(directory, text));
    const EventColumns found = choose_event_columns(table, named, "--inputs");
    return found.sequence + '|' + found.time + '|' + found.mark;
  };
  CHECK(columns("sequence,time,mark\na,1,0\n") == "sequence|time|mark");
  CHECK(columns("when,what\n2024-01-02,repair\n2024-01-05,failure\n") == "|when|what");
  CHECK(columns("when,what,who\n2024-01-02,repair,a\n2024-01-05,failure,b\n") == "|when|");
  CHECK(columns("when,what,who\n2024-01-02,repair,a\n2024-01-05,failure,b\n", {.sequence = "who"}) == "who|when|what");
  CHECK(columns("t,x\n1,2\n", {.time = "t", .mark = ""}) == "|t|");
  CHECK(error_of([&] { columns("t,x\n1,2\n"); })
            .ends_with(
                "has 0 columns of dates and none called time, expected --inputs to name the column of times: one of "
                "t, x"));
  const auto holds = [&](const std::string& text) { return holds_events(event_file(directory, text)); };
  CHECK(holds("sequence,time,mark\n1,0.5,0\n1,0.7,1\n"));
  CHECK(holds("time\n0.5\n0.7\n"));
  CHECK(holds("when,what\n2024-01-02,repair\n2024-01-05,failure\n2024-01-09,repair\n"));
  CHECK_FALSE(holds("when,note\n2024-01-02,cold and wet\n2024-01-05,warm\n"));
  CHECK_FALSE(holds("when,rain\n2024-01-02,3.2 mm\n2024-01-05,0 mm\n2024-01-06,0 mm\n"));
  CHECK_FALSE(holds("time,load\n1,0.5\n2,0.7\n"));
  CHECK_FALSE(holds("when,load\n2024-01-02,\n2024-01-03,4\n"));
  CHECK_FALSE(holds("time,mark\n1,2\n2,\n"));       // a gap to fill
  CHECK_FALSE(holds("time,mark\n1,73.5\n2,81\n"));  // of an examination
  CHECK_FALSE(holds("date,mark,load\n2024-01-02,1,2\n"));
  CHECK_FALSE(holds("mark,sequence\n1,2\n"));
  CHECK_FALSE(holds("when,load\n2024-01-02,off\n2024-01-03,4\n"));  // numbers, of which one cannot be read
}

TEST_CASE("events: a file's sequences are divided, and seen once") {
  const TemporaryDirectory directory;
  std::string text = "id,when\n";
  for (int s = 0; s < 10; ++s)
    for (int i = 1; i <= 3 + s; ++i) text += std::to_string(s) + ',' + std::to_string(100 * s + i) + '\n';
  const std::string data =
      "context = 1\nfile = \"" + event_file(directory, text).string() +
      "\"\nform = \"table\"\nmarks = 1\nsequence = \"id\"\ntime = \"when\"\nunit = 1.0\nend = \"last "
      "event\"\nleast_gap = 0.0\npoints = 5\nheld_out = [0.2, 0.3]\n";
  const Protocol p = parse_protocol(event_protocol(data), "f.toml");
  const auto firsts = [](const Task& task, std::set<std::int64_t>& seen) {
    for (std::int64_t b = 0; b < task.xc.dim(0); ++b) {
      const std::vector<double> gap = event_row(task.yc, b), number = event_row(task.xc, b);
      if (number[0] == 0) seen.insert(static_cast<std::int64_t>(gap[0]) / 100);
    }
  };
  std::set<std::int64_t> all;
  std::size_t count = 0;
  for (const Split split : {Split::validation, Split::evaluation}) {
    const auto source = p.data->source({2, 0, split});
    std::set<std::int64_t> part;
    for (std::int64_t i = 0; i < *source->size(); ++i) firsts(source->task(static_cast<std::uint64_t>(i)), part);
    CHECK(part.size() == (split == Split::validation ? 2 : 3));
    count += part.size();
    all.merge(part);
  }
  CHECK(count == 5);
  const auto training = p.data->source({5, 0, Split::training});
  CHECK_FALSE(training->size());
  std::set<std::int64_t> trained;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const Task task = training->task(i);
    CHECK(task.xc.dim(0) == 5);
    CHECK(task.xt.dim(1) <= 4);
    firsts(task, trained);
  }
  CHECK(trained.size() == 5);
  for (const std::int64_t s : trained) CHECK(all.insert(s).second);
  CHECK(events_of_protocol(p).training_sequences().size() == 5);
  CHECK(events_of_protocol(p).process() == nullptr);
}

TEST_CASE("events: one own sequence is divided by time") {
  const TemporaryDirectory directory;
  std::string text = "t;kind\n";
  for (int i = 0; i < 100; ++i)
    text += fmt::format("2024-01-{:02}T{:02}:00;{}\n", 1 + i / 24, i % 24, i % 3 == 0 ? "tea" : "coffee");
  const OwnData own{OwnEvents{.path = event_file(directory, text), .sequence = "", .time = "t", .mark = "kind"}};
  const std::vector<std::string> changes{"data.points=16", "data.context=2"};
  const Protocol p = own_protocol(own, "", changes).protocol;
  const EventTasks& tasks = events_of_protocol(p);
  CHECK(tasks.table_form().mark_names == std::vector<std::string>{"coffee", "tea"});
  CHECK(tasks.unit() == doctest::Approx(1.0 / 24).epsilon(0.005));  // three digits of an hour, in days
  const auto targets = [&](Split split) {
    std::vector<std::int64_t> found;
    const auto source = p.data->source({.batch_size = 4, .split = split});
    for (std::int64_t i = 0; i < source->size().value_or(20); ++i) {
      const Task task = source->task(static_cast<std::uint64_t>(i));
      const std::vector<double> x = doubles(task.xt), y = doubles(task.yt);
      for (std::size_t t = 0; t < x.size(); ++t)
        if (y[2 * t + 1] != kNoEvent) {
          found.push_back(static_cast<std::int64_t>(x[t]));
          CHECK(y[2 * t + 1] == (found.back() % 3 == 0 ? 1 : 0));
        }
    }
    return found;
  };
  const auto numbers = [](std::int64_t first, std::int64_t end) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = first; i < end; ++i) all.push_back(i);
    return all;
  };
  CHECK(targets(Split::validation) == numbers(70, 80));
  CHECK(targets(Split::evaluation) == numbers(80, 100));
  CHECK(std::ranges::max(targets(Split::training)) < 70);
}

TEST_CASE("events: keys that cannot be") {
  const std::string head = "context = 1\n";
  const auto error = [](const std::string& data) { return error_of_protocol(event_protocol(data)); };
  CHECK(error(head + kProcess) == "[protocol] f.toml: data.end is missing, and events too, expected one of them");
  CHECK(error(head + kProcess + "end = 1.0\nevents = 5\n") ==
        "[protocol] f.toml: data.end is there beside events, expected one of them");
  CHECK(error(head + kProcess + "events = 1\n") ==
        "[protocol] f.toml: data.events is 1, expected an integer from 2 to 1048576");
  CHECK(error(head + "events = 5\nprocess = { kind = \"poisson\", rates = [1], mu = 1 }\n") ==
        "[protocol] f.toml: data.process.mu is an unknown key, expected one of: kind, rates");
  const std::string file =
      head +
      "file = \"no/such.csv\"\nform = \"table\"\nmarks = 1\nsequence = \"id\"\ntime = \"when\"\nunit "
      "= 1.0\nend = 1.0\nleast_gap = 0.0\npoints = 5\nheld_out = [0.2, 0.2]\n";
  CHECK(error(replaced(file, "[0.2, 0.2]", "[0.5, 0.5]")) ==
        "[protocol] f.toml: data.held_out is all of the sequences, expected shares for validation and test that leave "
        "some for training");
  CHECK(error(replaced(file, "end = 1.0", "end = \"never\"")) ==
        "[protocol] f.toml: data.end is 'never', expected one of \"last event\"");
  CHECK(error(replaced(file, "marks = 1", "marks = 2")) ==
        "[protocol] f.toml: data.mark is missing, expected a string");
  CHECK(error(replaced(file, "\"table\"", "\"parquet\"")) ==
        "[protocol] f.toml: data.form is 'parquet', expected one of \"table\", \"jodie\", \"own\"");
}
