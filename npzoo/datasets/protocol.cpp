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
  o.kind = optimiser_kind(reader.choice("name", optimiser_names()));
  o.lr = reader.number("lr", kAnyPositive);  // training itself tells of one that is too large
  o.beta1 = reader.number("beta1", kBelowOne);
  o.beta2 = reader.number("beta2", kBelowOne);
  o.epsilon = reader.number("epsilon", kPositive);
  o.weight_decay = reader.number("weight_decay", kNonNegative);
  reader.finish();
  return o;
}

ScheduleConfig read_schedule(TomlReader reader, std::int64_t steps) {
  ScheduleConfig s;
  s.kind = schedule_kind(reader.choice("name", schedule_names()));
  if (s.kind == ScheduleKind::cosine) s.warmup_steps = reader.integer("warmup_steps", 0, steps);
  if (s.kind == ScheduleKind::one_cycle) {
    s.warmup = reader.number("warmup", kBelowOne);
    s.divisor = reader.number("divisor", kAtLeastOne);
    s.final_divisor = reader.number("final_divisor", kAtLeastOne);
  }
  reader.finish();
  return s;
}

TrainingConfig read_training(TomlReader reader) {
  TrainingConfig t;
  t.steps = reader.integer("steps", 1);
  t.batch_size = reader.integer("batch_size", 1);
  t.optimiser = read_optimiser(reader.table("optimiser"));
  t.schedule = read_schedule(reader.table("schedule"), t.steps);
  t.clip_norm = reader.number("clip_norm", kNonNegative);
  t.keep_best = reader.choice("keep", {"best", "last"}) == "best";
  reader.finish();
  return t;
}

ValidationConfig read_validation(TomlReader& reader, bool needed) {
  ValidationConfig v;
  v.every = reader.integer("every", needed ? 1 : 0);
  v.batches = reader.integer("batches", 1, kMostScoredBatches);
  v.seed = static_cast<std::uint64_t>(reader.integer("seed", 0));
  return v;
}

/// `tasks` changes of the data what a test may change.
std::shared_ptr<const TaskConfig> read_validation_data(TomlReader& validation, const TaskConfig& data) {
  if (!validation.has("tasks")) return {};
  TomlReader tasks = validation.table("tasks");
  auto changed = data.with_test_overrides(tasks);
  tasks.finish();
  return changed;
}

OracleValues read_oracle(TomlReader reader) {
  OracleValues values;
  const auto read = [&reader](std::string_view key, std::optional<double>& value, const NumberRule& rule = kAnyFinite) {
    if (reader.has(key)) value = reader.number(key, rule);
  };
  read("known_marginal", values.known_marginal);
  read("known_joint", values.known_joint);
  read("bayes_diagonal", values.bayes_diagonal);
  read("bayes_mixture", values.bayes_mixture);
  read("bayes_joint", values.bayes_joint);
  read("standard_error", values.standard_error, kNonNegative);
  reader.finish();
  return values;
}

std::map<std::string, Published> read_published(TomlReader reader) {
  std::map<std::string, Published> rows;
  for (const std::string& model : reader.keys()) {
    Published& row = rows[model];
    if (!reader.is_array(model)) {
      row.value = reader.number(model, kAnyFinite);
      continue;
    }
    const auto [value, error] = reader.two_numbers(model, kAnyFinite);
    if (error < 0) reader.reject(model, fmt::format("[{}, {}]", value, error), "an error >= 0");
    row = {value, error};
  }
  return rows;
}

std::map<std::string, std::map<std::string, Published>> read_published_figures(TomlReader reader) {
  std::map<std::string, std::map<std::string, Published>> figures;
  for (const std::string& figure : reader.keys()) figures[figure] = read_published(reader.table(figure));
  return figures;
}

std::map<std::string, Density> read_densities(TomlReader reader, const std::vector<TestConfig>& tests) {
  std::map<std::string, Density> densities;
  for (const std::string& name : reader.keys()) {
    const std::string density = reader.choice(name, {"marginal", "mixture", "joint"});
    if (std::ranges::none_of(tests, [&](const TestConfig& test) { return test.published.contains(name); }))
      reader.reject(name, "that of a model without a published figure", "one that has a published figure");
    densities[name] = density == "joint" ? Density::joint : density == "mixture" ? Density::mixture : Density::marginal;
  }
  return densities;
}

Spread read_spread(TomlReader reader) {
  Spread spread;
  spread.kind = reader.choice("kind", {"deviation", "error"}) == "error" ? SpreadKind::error : SpreadKind::deviation;
  if (reader.has("tasks")) {
    spread.tasks = reader.integer("tasks", 2, 1'000'000);
  } else {
    spread.seeds = reader.integer("seeds", 2, 1000);
    if (reader.has("assumed")) spread.assumed = reader.boolean("assumed");
  }
  reader.finish();
  return spread;
}

Metric read_metric(TomlReader& reader, std::int64_t channels) {
  const std::string name = reader.choice("metric", {"log-likelihood", "nll", "nll per channel"});
  if (name == "nll per channel") return {.negative = true, .channels = channels};
  return name == "nll" ? Metric::nll : Metric::log_likelihood;
}

ModelConfig read_values(TomlReader reader) {
  ModelConfig values;
  for (const std::string& key : reader.keys()) values[key] = reader.value(key);
  return values;
}

EvaluationConfig read_evaluation(TomlReader reader, const TaskConfig& data) {
  EvaluationConfig e;
  e.batches = reader.integer("batches", 1, kMostScoredBatches);
  e.batch_size = reader.integer("batch_size", 1, kMostTasksPerBatch);
  e.seed = static_cast<std::uint64_t>(reader.integer("seed", 0));
  if (reader.has("trial")) e.trial = reader.text("trial");
  if (reader.has("rules")) e.rules = read_values(reader.table("rules"));
  e.metric = read_metric(reader, data.dim_y());
  if (reader.has("spread")) e.spread = read_spread(reader.table("spread"));
  for (TomlReader& test : reader.tables("tests")) {
    TestConfig& config = e.tests.emplace_back();
    config.name = test.text("name");
    if (std::ranges::count(e.tests, config.name, &TestConfig::name) > 1)
      test.reject("name", fmt::format("'{}' again", config.name), "a name of its own");
    config.data = test.has("data") ? read_task_config(test.table("data")) : data.with_test_overrides(test);
    if (config.data->dim_x() != data.dim_x() || config.data->dim_y() != data.dim_y())
      test.reject("data", fmt::format("{} inputs and {} values per point", config.data->dim_x(), config.data->dim_y()),
                  fmt::format("{} and {} as in training", data.dim_x(), data.dim_y()));
    if (test.has("oracle")) config.oracle = read_oracle(test.table("oracle"));
    if (test.has("published")) config.published = read_published(test.table("published"));
    if (test.has("published_figures"))
      config.published_figures = read_published_figures(test.table("published_figures"));
    test.finish();
  }
  if (reader.has("densities")) e.densities = read_densities(reader.table("densities"), e.tests);
  reader.finish();
  return e;
}

std::map<std::string, ModelConfig> read_models(TomlReader reader) {
  std::map<std::string, ModelConfig> models;
  for (const std::string& name : reader.keys()) models[name] = read_values(reader.table(name));
  return models;
}

}  // namespace

const char* to_string(const Metric& metric) {
  if (metric.channels > 1) return "nll per channel";
  return metric.negative ? "nll" : "log-likelihood";
}

Protocol parse_protocol(std::string_view text, const std::string& where) {
  TomlReader reader(text, "[protocol] " + where);
  Protocol protocol;
  protocol.name = reader.text("name");
  protocol.description = reader.text("description");
  protocol.source = reader.text("source");
  protocol.data = read_task_config(reader.table("data"));
  protocol.training = read_training(reader.table("training"));
  TomlReader validation = reader.table("validation");
  protocol.validation = read_validation(validation, protocol.training.keep_best);
  protocol.validation_data = read_validation_data(validation, *protocol.data);
  validation.finish();
  protocol.evaluation = read_evaluation(reader.table("evaluation"), *protocol.data);
  protocol.models = read_models(reader.table("models"));
  protocol.text = text;
  reader.finish();
  return protocol;
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
