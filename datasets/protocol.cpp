#include "npzoo/datasets/protocol.h"

#include <fmt/format.h>

#include <algorithm>

#include "npzoo/datasets/protocol_files.h"
#include "npzoo/datasets/protocol_text.h"
#include "npzoo/datasets/toml_reader.h"
#include "npzoo/engine/boundary.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/words.h"

namespace npzoo {

namespace {

OptimiserConfig read_optimiser(TomlReader reader) {
  OptimiserConfig o;
  o.kind = optimiser_kind(reader.choice("name", "optimiser", optimiser_names()));
  o.lr = reader.number("lr", "peak learning rate", kAnyPositive);  // training itself stops if it is too large
  o.beta1 = reader.number("beta1", "decay of the running mean of gradients", kBelowOne);
  o.beta2 = reader.number("beta2", "decay of the running mean of their squares", kBelowOne);
  o.epsilon = reader.number("epsilon", "added to the denominator of an update", kPositive);
  o.weight_decay =
      reader.number("weight_decay", "weight decay; adamw multiplies it with the learning rate", kNonNegative);
  reader.finish();
  return o;
}

ScheduleConfig read_schedule(TomlReader reader, std::int64_t steps) {
  ScheduleConfig s;
  s.kind = schedule_kind(reader.choice("name", "learning rate over time", schedule_names()));
  if (s.kind == ScheduleKind::cosine)
    s.warmup_steps = reader.integer("warmup_steps", "updates of linear warm-up", 0, steps);
  if (s.kind == ScheduleKind::halving) {
    s.first = reader.integer("first", "updates before the rate is halved", 1);
    s.every = reader.integer("every", "updates until it is halved again", 1);
  }
  if (s.kind == ScheduleKind::one_cycle) {
    s.warmup = reader.number("warmup", "share of the updates before the peak", kBelowOne);
    s.divisor = reader.number("divisor", "peak learning rate / first one", kAtLeastOne);
    s.final_divisor = reader.number("final_divisor", "first learning rate / last one", kAtLeastOne);
  }
  reader.finish();
  return s;
}

TrainingConfig read_training(TomlReader reader) {
  TrainingConfig t;
  t.steps = reader.integer("steps", "updates", 1);
  t.batch_size = reader.integer("batch_size", "tasks for each update", 1);
  t.optimiser = read_optimiser(reader.table("optimiser", "how gradients become updates"));
  t.schedule = read_schedule(reader.table("schedule", "learning rate over time"), t.steps);
  t.clip_norm = reader.number("clip_norm", "largest norm of the gradient; 0: no clipping", kNonNegative);
  t.keep_best =
      reader.choice("keep", "weights that count: of the best validation, or the last ones", {"best", "last"}) == "best";
  if (reader.has("parts"))
    t.parts = reader.integer("parts",
                             "parts of each batch, which processes can share (default: by its size; one on a GPU)", 1);
  reader.finish();
  return t;
}

ValidationConfig read_validation(TomlReader& reader, bool needed) {
  ValidationConfig v;
  v.every = reader.integer("every", "updates between validations; 0: none", 0);
  reader.expect(v.every > 0 || !needed, "every", "0", "an integer from 1 to 1000000000");
  v.batches = reader.integer("batches", "batches of a validation", 1, kMostScoredBatches);
  v.seed = static_cast<std::uint64_t>(reader.integer("seed", "seed of the tasks of validations", 0));
  if (reader.has("at_context"))
    v.at_context = reader.boolean(
        "at_context", "metrics.jsonl also gets RMSE and log-likelihood at the points of the context (default: false)");
  return v;
}

/// `tasks` changes of the data what a test may change.
std::shared_ptr<const TaskConfig> read_validation_data(TomlReader& validation, const TaskConfig& data) {
  if (!validation.has("tasks")) return {};
  TomlReader tasks =
      validation.table("tasks", "keys of the data that differ from training; `npzoo help protocol KIND` lists them");
  auto changed = data.with_test_overrides(tasks);
  tasks.finish();
  return changed;
}

OracleValues read_oracle(TomlReader reader) {
  OracleValues values;
  const auto read = [&reader](std::string_view key, KeyLine line, std::optional<double>& value,
                              const NumberRule& rule = kAnyFinite) {
    if (reader.has(key)) value = reader.number(key, line, rule);
  };
  read("known_marginal", "each target by itself, with known hyper-parameters", values.known_marginal);
  read("known_joint", "all targets jointly, with known hyper-parameters", values.known_joint);
  read("bayes_diagonal", "best Gaussian for each target by itself", values.bayes_diagonal);
  read("bayes_mixture", "best density of each target by itself", values.bayes_mixture);
  read("bayes_joint", "best joint density of the targets", values.bayes_joint);
  read("standard_error", "standard error of these values", values.standard_error, kNonNegative);
  reader.finish();
  return values;
}

std::map<std::string, Published> read_published(TomlReader reader) {
  std::map<std::string, Published> rows;
  for (const std::string& model : reader.keys()) {
    Published& row = rows[model];
    reader.any_form(model, "figure of this model", "a number, or [number, spread]");
    if (!reader.is_array(model)) {
      row.value = reader.number(model, kPartOfForm, kAnyFinite);
      continue;
    }
    const auto [value, error] = reader.two_numbers(model, kPartOfForm, kAnyFinite);
    if (error < 0) reader.reject(model, fmt::format("[{}, {}]", value, error), "an error >= 0");
    row = {value, error};
  }
  return rows;
}

std::map<std::string, std::map<std::string, Published>> read_published_figures(TomlReader reader) {
  std::map<std::string, std::map<std::string, Published>> figures;
  for (const std::string& figure : reader.keys())
    figures[figure] = read_published(reader.table(figure, "one published figure"));
  return figures;
}

std::map<std::string, Density> read_densities(TomlReader reader, const std::vector<TestConfig>& tests) {
  std::map<std::string, Density> densities;
  for (const std::string& name : reader.keys()) {
    const std::string density =
        reader.choice(name, "density of the published figure of this model", {"marginal", "mixture", "joint"});
    const bool is_published =
        std::ranges::any_of(tests, [&](const TestConfig& test) { return test.published.contains(name); });
    reader.expect(is_published, name, "that of a model without a published figure", "one that has a published figure");
    densities[name] = density == "joint" ? Density::joint : density == "mixture" ? Density::mixture : Density::marginal;
  }
  return densities;
}

Spread read_spread(TomlReader reader) {
  Spread spread;
  spread.kind =
      reader.choice("kind", "meaning of the ± of published rows: deviation over seeds, or standard error of the mean",
                    {"deviation", "error"}) == "error"
          ? SpreadKind::error
          : SpreadKind::deviation;
  if (reader.has("tasks")) {
    spread.tasks =
        reader.integer("tasks", "instead of seeds: test tasks of the one training of a published row", 2, 1'000'000);
  } else {
    spread.seeds = reader.integer("seeds", "trainings of a published row", 2, 1000);
    if (reader.has("assumed"))
      spread.assumed = reader.boolean("assumed", "whether the source does not say what the ± is");
  }
  reader.finish();
  return spread;
}

Metric read_metric(TomlReader& reader, std::int64_t channels) {
  const std::string name =
      reader.choice("metric", "how figures are printed", {"log-likelihood", "nll", "nll per channel"});
  if (name == "nll per channel") return {.negative = true, .channels = channels};
  return name == "nll" ? Metric::nll : Metric::log_likelihood;
}

ModelConfig read_values(TomlReader reader, KeyLine line) {
  ModelConfig values;
  for (const std::string& key : reader.keys()) values[key] = reader.value(key, line);
  return values;
}

/// How a `[data]` table is read.
using ReadTasks = std::shared_ptr<const TaskConfig> (*)(TomlReader);

EvaluationConfig read_evaluation(TomlReader reader, const TaskConfig& data, ReadTasks read_tasks) {
  EvaluationConfig e;
  e.batches = reader.integer("batches", "batches of an evaluation", 1, kMostScoredBatches);
  e.batch_size = reader.integer("batch_size", "tasks of a batch", 1, kMostTasksPerBatch);
  e.seed = static_cast<std::uint64_t>(reader.integer("seed", "seed of the test tasks", 0));
  if (reader.has("trial"))
    e.trial =
        reader.text("trial", "how models are scored; `npzoo help protocol` lists the trials (default: likelihood)");
  if (reader.has("rules"))
    e.rules = read_values(reader.table("rules", "rules of the trial"),
                          "key of the trial; `npzoo help protocol TRIAL` lists them");
  e.metric = read_metric(reader, data.dim_y());
  if (reader.has("spread")) e.spread = read_spread(reader.table("spread", "meaning of the ± of published rows"));
  for (TomlReader& test : reader.tables("tests", "a test of the models; it may also change keys of the data")) {
    TestConfig& config = e.tests.emplace_back();
    config.name = test.text("name", "name of the test");
    if (std::ranges::count(e.tests, config.name, &TestConfig::name) > 1)
      test.reject("name", fmt::format("'{}' again", config.name), "another name than the other tests");
    config.data = test.has("data")
                      ? read_tasks(test.table("data", "data of this test, if they are not those of training"))
                      : data.with_test_overrides(test);
    if (config.data->dim_x() != data.dim_x() || config.data->dim_y() != data.dim_y())
      test.reject("data", fmt::format("{} inputs and {} values per point", config.data->dim_x(), config.data->dim_y()),
                  fmt::format("{} and {} as in training", data.dim_x(), data.dim_y()));
    if (test.has("oracle"))
      config.oracle = read_oracle(test.table("oracle", "best possible log-likelihoods, as npzoo oracle computes them"));
    if (test.has("published")) config.published = read_published(test.table("published", "published headline figures"));
    if (test.has("published_figures"))
      config.published_figures = read_published_figures(
          test.table("published_figures", "published figures other than the headline, by their names"));
    test.finish();
  }
  if (reader.has("densities"))
    e.densities =
        read_densities(reader.table("densities", "densities of published figures, if they are not marginal"), e.tests);
  reader.finish();
  return e;
}

std::map<std::string, ModelConfig> read_models(TomlReader reader) {
  std::map<std::string, ModelConfig> models;
  for (const std::string& name : reader.keys())
    models[name] =
        read_values(reader.table(name, "preset of this model"), "option; `npzoo help protocol MODEL` lists them");
  return models;
}

Protocol read_protocol(TomlReader reader, ReadTasks read_tasks) {
  Protocol protocol;
  protocol.name = reader.text("name", "name, as --protocol takes it");
  protocol.description = reader.text("description", "one line for npzoo list protocols");
  protocol.source = reader.text("source", "paper, table, code and commit");
  protocol.data =
      read_tasks(reader.table("data", "tasks; `kind` says which, and `npzoo help protocol KIND` lists the other keys"));
  protocol.training = read_training(reader.table("training", "updates of weights"));
  TomlReader validation = reader.table("validation", "scores during training");
  protocol.validation = read_validation(validation, protocol.training.keep_best);
  protocol.validation_data = read_validation_data(validation, *protocol.data);
  validation.finish();
  protocol.evaluation =
      read_evaluation(reader.table("evaluation", "tests and published figures"), *protocol.data, read_tasks);
  protocol.models = read_models(reader.table("models", "presets"));
  reader.finish();
  return protocol;
}

/// Stands for tasks of any kind where only the other keys of a protocol matter.
class AnyTasks final : public TaskConfig {
 public:
  static std::shared_ptr<const TaskConfig> read(TomlReader data) {
    static_cast<void>(read_kind(data, task_families()));
    return std::make_shared<AnyTasks>();
  }

  std::int64_t dim_x() const override { return 1; }
  std::int64_t dim_y() const override { return 1; }
  std::unique_ptr<TaskSource> source(const SourceOptions& /*options*/) const override { return {}; }
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& /*test*/) const override {
    return std::make_shared<AnyTasks>();
  }
  TaskExtents typical_extents() const override { return {}; }
  TrainingRange training_range() const override { return {}; }
};

}  // namespace

const char* to_string(const Metric& metric) {
  if (metric.channels > 1) return "nll per channel";
  return metric.negative ? "nll" : "log-likelihood";
}

Protocol parse_protocol(std::string_view text, const std::string& where) {
  Protocol protocol = read_protocol(TomlReader(text, "[protocol] " + where), read_task_config);
  protocol.text = text;
  return protocol;
}

std::vector<DescribedKey> described_protocol_keys() {
  std::vector<DescribedKey> keys = described_file_keys();
  for (DescribedKey& key : described_keys([] { read_protocol(TomlReader("", ""), AnyTasks::read); }))
    keys.push_back(std::move(key));
  return keys;
}

Protocol load_protocol(const std::string& name_or_path) {
  return with_errors([&] { return parse_protocol(protocol_text(name_or_path), name_or_path); });
}

Protocol with_changes(Protocol protocol, std::span<const std::string> changes) {
  if (changes.empty()) return protocol;
  std::string where = protocol.name;
  for (const std::string& change : changes) where += fmt::format(" --set {}", change);
  return parse_protocol(changed_text(protocol.text, changes), where);
}

std::vector<std::string> protocol_names() {
  std::vector<std::string> names;
  for (const ProtocolFile& file : protocol_files()) names.emplace_back(file.name);
  std::ranges::sort(names);
  return names;
}

const ModelConfig& model_config(const Protocol& protocol, const std::string& model) {
  const auto preset = protocol.models.find(model);
  if (preset != protocol.models.end()) return preset->second;
  std::vector<std::string> names;
  for (const auto& [name, config] : protocol.models) names.push_back(name);
  fail("[protocol] {} has no preset for the model {}{}", protocol.name, model,
       expected_names(model, names, "npzoo list models --protocol NAME"));
}

}  // namespace npzoo
