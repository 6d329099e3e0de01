#include "tools/bench/steps.h"
#include "tools/cli/command.h"

namespace npzoo::tools {

namespace {

void add_flags(Flags& flags, ModelBench& c) { add_flags(flags, c, "predictions"); }

int run(const ModelBench& c) {
  apply(c.common);
  const Protocol protocol = load_protocol(c.bench.protocol);
  const Forward forward(protocol, c.bench);
  report(c, "forward", protocol, forward.task(), measure(c.counts, [&forward] { static_cast<void>(forward()); }));
  return 0;
}

}  // namespace

extern const CommandInfo bench_forward_command =
    command<ModelBench, add_flags, run>("Time and memory of the predictions for one batch.", CommandGroup::check,
                                        "npzoo bench forward --protocol quick/gp1d --model tnp-d");

}  // namespace npzoo::tools
