#include <fmt/format.h>

#include <optional>

#include "npzoo/datasets/data_folder.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/datasets/task_table.h"
#include "npzoo/engine/io/file.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/outputs.h"
#include "tools/cli/progress.h"

namespace npzoo::tools {

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
  flags.whole("--tasks", c.tasks, {1, 100'000}, "tasks to sample; several get a column `task`");
  flags.seed("--seed", c.seed, "seed of the tasks");
  flags.text("--out", c.out,
             "CSV to write: all points, targets without values, or all events of sequences; '-' for standard output");
  flags.text("--truth", c.truth, "CSV to write: the targets with their values");
  flags.text("--context", c.context, "CSV to write: the context points only");
  flags.text("--targets", c.targets, "CSV to write: the inputs of the targets only");
  flags.check_together([&c] {
    check(!c.out.empty() || !c.truth.empty() || !c.context.empty() || !c.targets.empty(),
          "sample needs a file to write: --out, --truth, --context or --targets");
  });
}

/// A table that is being written; none if it was not requested.
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

/// The requested files.
class Outputs final : public TaskTable {
 public:
  explicit Outputs(const SampleCommand& c) : command_(c) {}

  void begin(const Columns& columns) override {
    check(
        columns.has_targets || (command_.truth.empty() && command_.context.empty() && command_.targets.empty()),
        "[sample] --truth, --context or --targets found, expected --out alone: sequences of events are written whole");
    std::vector<std::string> all = columns.place;
    all.insert(all.end(), columns.values.begin(), columns.values.end());
    out_.emplace(command_.out, all);
    truth_.emplace(command_.truth, all);
    context_.emplace(command_.context, all);
    targets_.emplace(command_.targets, columns.place);
  }
  void add(const Row& row) override {
    std::vector<std::string> whole = row.place, blank = row.place;
    whole.insert(whole.end(), row.values.begin(), row.values.end());
    blank.resize(whole.size());
    (row.given ? context_ : truth_)->write(whole);
    if (!row.given) targets_->write(row.place);
    out_->write(row.given ? whole : blank);
    ++rows;
    target_rows += !row.given;
    progress_.update(static_cast<double>(row.task + 1));
  }
  void commit() {
    for (std::optional<Output>* output : {&out_, &truth_, &context_, &targets_}) (*output)->commit();
  }

  std::int64_t rows = 0, target_rows = 0;

 private:
  const SampleCommand& command_;
  Progress progress_{"sample", command_.tasks, {.unit = "tasks", .passing = true}};
  std::optional<Output> out_, truth_, context_, targets_;
};

int run(const SampleCommand& c) {
  apply(c.common);
  set_data_folder(c.data);
  check_outputs("sample", c.common,
                {{"--out", c.out}, {"--truth", c.truth}, {"--context", c.context}, {"--targets", c.targets}},
                {{"protocol", c.protocol.name}});
  for (const NamedFile& table :
       {NamedFile{"--out", c.out}, {"--truth", c.truth}, {"--context", c.context}, {"--targets", c.targets}})
    check_table_name("sample", table);
  const Protocol protocol = load_protocol(c.protocol);
  Outputs outputs(c);
  const std::int64_t tasks = protocol.data->write(c.tasks, c.seed, outputs);
  outputs.commit();
  if (c.common.json)
    print_json(JsonValue::object({{"tasks", tasks}, {"rows", outputs.rows}, {"targets", outputs.target_rows}}));
  return 0;
}

}  // namespace

extern const CommandInfo sample_command =
    command<SampleCommand, add_flags, run>("Sample tasks from a protocol and write them as a table.",
                                           CommandGroup::train, "npzoo sample tnp/gp-rbf --tasks 200 --out table.csv");

}  // namespace npzoo::tools
