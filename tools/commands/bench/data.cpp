#include <fmt/core.h>

#include "npzoo/datasets/data_folder.h"
#include "tools/bench/steps.h"
#include "tools/cli/command.h"

namespace npzoo::tools {

namespace {

struct BenchDataCommand {
  CommonOptions common;
  ProtocolOptions protocol;
  std::string data;
  StepCounts counts;
  std::optional<std::int64_t> batch;
  std::uint64_t seed = 0;
};

void add_flags(Flags& flags, BenchDataCommand& c) {
  add_flags(flags, c.common);
  add_flags(flags, c.protocol, "protocol of the data").required();
  add_data(flags, c.data);
  add_flags(flags, c.counts, "batches");
  flags.whole("--batch", c.batch, {1}, "tasks instead of the protocol's number");
  flags.seed("--seed", c.seed, "seed of the data");
}

int run(const BenchDataCommand& c) {
  apply(c.common);
  set_data_folder(c.data);
  const Protocol protocol = load_protocol(c.protocol);
  const std::int64_t batch = c.batch.value_or(protocol.training.batch_size);
  const auto tasks = protocol.data->source(
      {.batch_size = batch, .seed = c.seed, .split = Split::training, .device = default_device()});
  std::uint64_t index = 0;
  const Steps s = measure(c.counts, [&] { static_cast<void>(tasks->task(index++)); });
  if (c.common.json) {
    print_json(to_json(protocol, batch, s));
    return 0;
  }
  fmt::print("data of {}: batch {}, {}\n", protocol.name, batch, machine_in_words());
  print_times("batch", s);
  print_memory(s);
  return 0;
}

}  // namespace

extern const CommandInfo bench_data_command = command<BenchDataCommand, add_flags, run>(
    "Time to draw one batch of training data.", CommandGroup::check, "npzoo bench data --protocol tnp/gp-rbf");

}  // namespace npzoo::tools
