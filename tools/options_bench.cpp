#include "tools/options_support.h"

namespace npzoo {

namespace {

void add_train_step(CLI::App& app, BenchTrainStepCommand& c) {
  CLI::App& sub = subcommand(app, "train-step", "Time and memory of one update in training.", c.common);
  sub.add_option("--protocol", c.protocol, "whose data and optimiser are used")->required();
  sub.add_option("--model", c.model, "name")->required();
  sub.add_option("--steps", c.steps, "timed updates")->check(CLI::PositiveNumber)->capture_default_str();
  sub.add_option("--warmup", c.warmup, "updates before")->check(CLI::NonNegativeNumber)->capture_default_str();
  sub.add_option("--batch", c.batch, "tasks per update instead of the protocol's")->check(CLI::PositiveNumber);
  sub.add_option("--seed", c.seed, "of initial weights and data")->capture_default_str();
}

void add_scaling(CLI::App& app, BenchScalingCommand& c) {
  CLI::App& sub = subcommand(app, "scaling", "Time and memory of predictions as the number of points grows.", c.common);
  sub.add_option("--models", c.models, "names, a list like tnp-d,tnp-kr-full")->required()->delimiter(',');
  sub.add_option("--protocol", c.protocol,
                 "whose presets and dimensions are used; tnp-kr/gp1d-rbf, or the first that has one, where not given");
  add_sizes(sub, c.sizes);
}

void add_attention(CLI::App& app, BenchAttentionCommand& c) {
  CLI::App& sub =
      subcommand(app, "attention", "Speed of masked attention; without sizes, of a list of typical ones.", c.common);
  const auto add_size = [&sub](const char* name, std::optional<std::int64_t>& value, const char* what) {
    sub.add_option(name, value, what)->check(CLI::Range(1, 10'000'000));
  };
  add_size("--queries", c.queries, "query rows of one task");
  add_size("--keys", c.keys, "keys of one task, as many as queries where not given");
  add_size("--heads", c.heads, "heads, 4 where not given");
  add_size("--width", c.width, "channels of one head, 16 where not given");
  add_size("--batch", c.batch, "tasks, 1 where not given");
  sub.add_option("--mask", c.mask,
                 "keys that a row sees: all, prefix (another number for each task) or causal (row i sees i + 1)")
      ->check(CLI::IsMember({"all", "prefix", "causal"}));
  sub.add_option("--repeats", c.repeats, "timed repetitions at most; fewer, but one, where they are long")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

}  // namespace

void add_bench(CLI::App& app, BenchCommands& c) {
  CLI::App& bench = *app.add_subcommand("bench", "Measure speed and memory.");
  bench.fallthrough();
  bench.require_subcommand(1);
  add_train_step(bench, c.train_step);
  add_scaling(bench, c.scaling);
  add_attention(bench, c.attention);
}

Command BenchCommands::chosen(const CLI::App& app) const {
  const CLI::App* bench = app.get_subcommand("bench");
  if (bench->got_subcommand("scaling")) return scaling;
  if (bench->got_subcommand("attention")) return attention;
  return train_step;
}

}  // namespace npzoo
