#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "npzoo/datasets/data_folder.h"
#include "npzoo/datasets/kinds/events/config.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/io/file.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/outputs.h"
#include "tools/cli/progress.h"

namespace npzoo {

namespace {

struct SampleCommand {
  CommonOptions common;
  ProtocolOptions protocol;
  std::string data;
  std::int64_t tasks = 1;
  std::uint64_t seed = 0;
  std::filesystem::path out, truth, context, targets;
};

void add_flags(Flags& flags, SampleCommand& c) {
  add_flags(flags, c.common);
  add_flags(flags, c.protocol, "name (see: npzoo list protocols) or path of a TOML file", "protocol").required();
  add_data(flags, c.data);
  flags.whole("--tasks", c.tasks, {1, 100'000}, "tasks to draw; of several, a column tells which one a row is of");
  flags.seed("--seed", c.seed, "of the tasks");
  flags.text("--out", c.out,
             "CSV to write: all points, targets without values, or all events of sequences; '-' for standard output");
  flags.text("--truth", c.truth, "CSV of the targets with their values");
  flags.text("--context", c.context, "CSV of the points of the context alone");
  flags.text("--targets", c.targets, "CSV of the inputs of the targets alone");
  flags.check_together([&c] {
    check(!c.out.empty() || !c.truth.empty() || !c.context.empty() || !c.targets.empty(),
          "sample needs a file to write: --out, --truth, --context or --targets");
  });
}

/// "x", or "x1" and "x2".
void add_names(std::vector<std::string>& header, char letter, std::int64_t count) {
  for (std::int64_t i = 1; i <= count; ++i)
    header.push_back(count == 1 ? std::string(1, letter) : fmt::format("{}{}", letter, i));
}

struct Point {
  std::vector<float> x, y;
  bool given = false;  // of the context
};

std::vector<float> row_of(const Tensor& points, std::int64_t task, std::int64_t i) {
  const auto width = static_cast<std::size_t>(points.dim(2));
  const auto row = points.values<float>().subspan(static_cast<std::size_t>(task * points.dim(1) + i) * width, width);
  return {row.begin(), row.end()};
}

/// The points of a task by their first input; targets at the places of the context say nothing new.
std::vector<Point> points_of(const Task& task, std::int64_t row) {
  std::vector<Point> points;
  const std::int64_t nc = task.lengths.defined() ? task.lengths.values<std::int64_t>()[row] : task.xc.dim(1);
  for (std::int64_t i = 0; i < nc; ++i) points.push_back({row_of(task.xc, row, i), row_of(task.yc, row, i), true});
  for (std::int64_t i = 0; i < task.xt.dim(1); ++i) {
    Point target{row_of(task.xt, row, i), row_of(task.yt, row, i)};
    if (std::ranges::find(points, target.x, &Point::x) == points.end()) points.push_back(std::move(target));
  }
  std::ranges::stable_sort(points, {}, &Point::x);
  return points;
}

/// As text. Throws Error for a number that is not finite.
template <class T>
std::string cell(T x, std::int64_t task) {
  check(std::isfinite(x), "[sample] task {} has the number {}, expected finite ones: the protocol's are too large",
        task, x);
  return fmt::format("{}", x);
}

/// A table that is being written; none where nobody asked for it.
class Output {
 public:
  Output(const std::filesystem::path& path, const std::vector<std::string>& header) {
    if (path.empty()) return;
    file_.emplace(path);
    write(header);
  }

  void write(const std::vector<std::string>& cells) {
    if (file_) file_->write(fmt::format("{}\n", fmt::join(cells, ",")));
  }
  void commit() {
    if (file_) file_->commit();
  }

 private:
  std::optional<AtomicFile> file_;
};

/// How much was written.
struct Written {
  std::int64_t tasks = 0, rows = 0, targets = 0;
};

/// Writes whole sequences of events.
Written write_events(const SampleCommand& c, const EventsConfig& config, Progress& progress) {
  check(c.truth.empty() && c.context.empty() && c.targets.empty(),
        "[sample] --truth, --context or --targets found, expected --out alone: sequences of events are written whole");
  Output out(c.out, {"sequence", "time", "mark"});
  Written written;
  for (const EventSequence& s : config.shown(c.tasks, c.seed)) {
    ++written.tasks;
    for (std::size_t i = 0; i < s.times.size(); ++i, ++written.rows)
      out.write({std::to_string(written.tasks), cell(s.times[i], written.tasks), std::to_string(s.marks[i])});
    progress.update(static_cast<double>(written.tasks));
  }
  out.commit();
  return written;
}

/// Writes the points of tasks.
Written write_points(const SampleCommand& c, const TaskConfig& config, Progress& progress) {
  const auto source = config.source({.batch_size = c.tasks, .seed = c.seed, .split = Split::evaluation});
  const Task task = source->task(0).to(Device::cpu);
  std::vector<std::string> inputs, all;
  if (c.tasks > 1) inputs.emplace_back("task");
  add_names(inputs, 'x', config.dim_x());
  all = inputs;
  add_names(all, 'y', config.dim_y());

  Output out(c.out, all), truth(c.truth, all), context(c.context, all), targets(c.targets, inputs);
  Written written{.tasks = c.tasks};
  for (std::int64_t t = 0; t < task.xt.dim(0); ++t) {
    for (const Point& point : points_of(task, t)) {
      std::vector<std::string> place, whole;
      if (c.tasks > 1) place.push_back(std::to_string(t + 1));
      for (const float x : point.x) place.push_back(cell(x, t + 1));
      whole = place;
      for (const float y : point.y) whole.push_back(cell(y, t + 1));
      (point.given ? context : truth).write(whole);
      if (!point.given) targets.write(place);
      std::vector<std::string> blank = place;
      blank.resize(all.size());
      out.write(point.given ? whole : blank);
      ++written.rows;
      written.targets += !point.given;
    }
    progress.update(static_cast<double>(t + 1));
  }
  for (Output* output : {&out, &truth, &context, &targets}) output->commit();
  return written;
}

Written write(const SampleCommand& c) {
  const Protocol protocol = load_protocol(c.protocol);
  Progress progress("sample", c.tasks, {.unit = "tasks", .passing = true});
  if (const EventsConfig* events = events_config(*protocol.data)) return write_events(c, *events, progress);
  return write_points(c, *protocol.data, progress);
}

int run(const SampleCommand& c) {
  apply(c.common);
  set_data_folder(c.data);
  check_outputs("sample", c.common,
                {{"--out", c.out}, {"--truth", c.truth}, {"--context", c.context}, {"--targets", c.targets}},
                {{"protocol", c.protocol.name}});
  for (const NamedFile& table :
       {NamedFile{"--out", c.out}, {"--truth", c.truth}, {"--context", c.context}, {"--targets", c.targets}})
    check_table_name("sample", table);
  const Written written = write(c);
  if (c.common.json)
    print_json(JsonValue::object({{"tasks", written.tasks}, {"rows", written.rows}, {"targets", written.targets}}));
  return 0;
}

}  // namespace

extern const CommandInfo sample_command =
    command<SampleCommand, add_flags, run>("Draw tasks of a protocol as a table with missing values.");

}  // namespace npzoo
