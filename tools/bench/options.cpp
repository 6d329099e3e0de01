#include "tools/cli/flags.h"
#include "tools/cli/options_support.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMostPoints = 10'000'000;

/// `what` is what is timed.
void add_steps(CLI::App& sub, const std::string& what, std::int64_t& steps, std::int64_t& warmup) {
  add_whole(sub, "--steps", steps, {1}, "timed " + what);
  add_whole(sub, "--warmup", warmup, {0}, what + " before");
}

CLI::App& add_model(CLI::App& sub, const std::string& what, BenchModelCommand& c) {
  add_text(sub, "--protocol", c.bench.protocol, "whose data, presets and optimiser are used")->required();
  add_text(sub, "--model", c.bench.model, "name")->required();
  add_steps(sub, what, c.steps, c.warmup);
  add_whole(sub, "--batch", c.bench.batch, {1}, "tasks instead of the protocol's number");
  add_whole(sub, "--context", c.bench.context, {0, kMostPoints},
            "context points of a task instead of a typical number");
  add_whole(sub, "--targets", c.bench.targets, {1, kMostPoints}, "target points of a task instead of a typical number");
  add_seed(sub, "--seed", c.bench.seed, "of initial weights and data");
  return sub;
}

void add_data(CLI::App& app, BenchDataCommand& c) {
  CLI::App& sub = subcommand(app, "data", "Time to draw one batch of training data.", c.common);
  add_text(sub, "--protocol", c.protocol, "whose data is drawn")->required();
  add_steps(sub, "batches", c.steps, c.warmup);
  add_whole(sub, "--batch", c.batch, {1}, "tasks instead of the protocol's number");
  add_seed(sub, "--seed", c.seed, "of the data");
}

void add_scaling(CLI::App& app, BenchScalingCommand& c) {
  CLI::App& sub = subcommand(app, "scaling", "Time and memory of predictions as the number of points grows.", c.common);
  add_texts(sub, "--models", c.models, "names, a list like tnp-d,tnp-kr-full")->required();
  add_text(sub, "--protocol", c.protocol,
           "whose presets and dimensions are used; tnp-kr/gp1d-rbf, or the first that has one, where not given");
  add_sizes(sub, c.sizes);
}

void add_attention(CLI::App& app, BenchAttentionCommand& c) {
  CLI::App& sub =
      subcommand(app, "attention", "Speed of masked attention; without sizes, of a list of typical ones.", c.common);
  const auto add_size = [&sub](const char* name, std::optional<std::int64_t>& value, const char* what) {
    add_whole(sub, name, value, {1, kMostPoints}, what);
  };
  add_size("--queries", c.queries, "query rows of one task");
  add_size("--keys", c.keys, "keys of one task, as many as queries where not given");
  add_size("--heads", c.heads, "heads, 4 where not given");
  add_size("--width", c.width, "channels of one head, 16 where not given");
  add_size("--batch", c.batch, "tasks, 1 where not given");
  add_choice(sub, "--mask", c.mask, {"all", "prefix", "causal"},
             "keys that a row sees: all, prefix (another number for each task) or causal (row i sees i + 1)");
  add_whole(sub, "--repeats", c.repeats, {1}, "timed repetitions at most; fewer, but one, where they are long");
}

}  // namespace

void add_bench(CLI::App& app, BenchCommands& c) {
  CLI::App& bench = *app.add_subcommand("bench", "Measure speed and memory.");
  bench.fallthrough();
  bench.require_subcommand(1);
  add_model(subcommand(bench, "train-step", "Time and memory of one update in training.", c.train_step.common),
            "updates", c.train_step)
      .add_flag("--profile", c.train_step.profile, "tells which operations take the time");
  add_model(subcommand(bench, "forward", "Time and memory of the predictions for one batch.", c.forward.common),
            "predictions", c.forward);
  add_data(bench, c.data);
  add_scaling(bench, c.scaling);
  add_attention(bench, c.attention);
}

Command BenchCommands::chosen(const CLI::App& app) const {
  const CLI::App* bench = app.get_subcommand("bench");
  if (bench->got_subcommand("forward")) return forward;
  if (bench->got_subcommand("data")) return data;
  if (bench->got_subcommand("scaling")) return scaling;
  if (bench->got_subcommand("attention")) return attention;
  return train_step;
}

}  // namespace npzoo
