#include "tools/reproduce/results_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/json.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/trials/score_test.h"
#include "npzoo/models/trials/verdict.h"
#include "tools/cli/json_tree.h"

namespace npzoo::tools {

namespace {

using nlohmann::json;

auto key_of(const json& run) {
  return std::tuple(run.at("model").get<std::string>(), run.at("seed").get<std::uint64_t>(),
                    run.at("steps").get<std::int64_t>());
}

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double number_in(const json& object, const char* key) {
  const json& value = object.at(key);
  return value.is_null() ? kUnknown : value.get<double>();
}

json number_or_null(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }
json number_or_null(const std::optional<double>& value) { return value ? number_or_null(*value) : json(nullptr); }

/// Empty of a result that does not tell: it is of no version that anybody knows.
std::string version_of(const json& result) { return result.value("version", std::string()); }

/// Returns the figure of a result that tables show; old results have log-likelihoods only.
std::string headline_of(const json& result) { return result.value("headline", std::string("log_likelihood")); }

/// A figure of a result by its name: "free_running.mse" stands as mse in the group free_running. NaN if it is not
/// there.
Estimate figure_in(const json& result, const std::string& name) {
  const json* group = &result;
  std::string key = name;
  for (std::size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.')) {
    const auto found = group->find(key.substr(0, dot));
    if (found == group->end()) return {kUnknown};
    group = &*found;
    key.erase(0, dot + 1);
  }
  const std::string error = name == headline_of(result) ? "standard_error" : key + "_error";
  const auto number = [group](const std::string& k) {
    return group->contains(k) ? number_in(*group, k.c_str()) : kUnknown;
  };
  return {number(key), number(error)};
}

/// Throws json::exception where something is missing that rows are made of.
void check_run(const json& run) {
  static_cast<void>(key_of(run));
  for (const char* key : {"batch_size", "lr"}) static_cast<void>(run.at(key).get<double>());
  for (const json& result : run.at("results")) {
    static_cast<void>(result.at("test").get<std::string>());
    static_cast<void>(version_of(result));
    static_cast<void>(number_in(result, headline_of(result).c_str()));
  }
}

bool is_current(const Protocol& protocol, const json& run, const json& result) {
  const std::string test = result.at("test");
  const bool tested = std::ranges::any_of(protocol.evaluation.tests, [&](const auto& t) { return t.name == test; });
  return tested && version_of(result) == protocol_version(protocol, test, run.at("model"));
}

bool holds(const json& runs, const json& run, const json& result) {
  return std::ranges::any_of(runs, [&](const json& other) {
    return key_of(other) == key_of(run) && std::ranges::any_of(other.at("results"), [&](const json& measured) {
             return measured.at("test") == result.at("test") && version_of(measured) == version_of(result);
           });
  });
}

/// Returns the published rows of the headline and of the other figures.
std::vector<const PublishedRows*> all_published(const TestConfig& test) {
  std::vector<const PublishedRows*> all{&test.published};
  for (const auto& [figure, rows] : test.published_figures) all.push_back(&rows);
  return all;
}

/// Models of the registry in its order, then those that only the protocol or the store know.
std::vector<std::string> all_models(const Protocol& protocol, const json& runs) {
  std::vector<std::string> names, others;
  for (const ModelInfo& info : models()) names.emplace_back(info.name);
  for (const TestConfig& test : protocol.evaluation.tests)
    for (const PublishedRows* rows : all_published(test))
      for (const auto& [model, row] : *rows) others.push_back(model);
  for (const json& run : runs) others.push_back(run.at("model"));
  std::ranges::sort(others);
  for (const std::string& model : others)
    if (std::ranges::find(names, model) == names.end()) names.push_back(model);
  return names;
}

json spread_of(const Spread& spread) {
  if (spread.kind == SpreadKind::unknown) return nullptr;
  return {{"kind", spread.kind == SpreadKind::error ? "error" : "deviation"},
          {"seeds", spread.seeds},
          {"tasks", spread.tasks},
          {"assumed", spread.assumed}};
}

/// The subject of a row: a figure on a test.
struct Subject {
  const TestConfig& test;
  std::string figure;  // empty: the headline of a likelihood trial, whose name depends on the model
  const PublishedRows& published;
  /// Turns the figure into one of which more is better, and back.
  Metric metric;
};

/// Returns the reference for a figure of a model.
Reference reference_of(const EvaluationConfig& rules, const Subject& subject, const std::string& model) {
  if (subject.figure.empty()) return reference_for(rules, subject.test, model);
  const auto row = subject.published.find(model);
  if (row == subject.published.end()) return {};
  PublishedFigure published = published_figure(rules.spread, subject.published, row->second);
  published.value = to_log_likelihood(subject.metric, published.value);
  return {.published = published};
}

/// A model on a test: what is published of it and what is possible.
json known_row(const EvaluationConfig& rules, const Subject& subject, const std::string& model) {
  const bool joint = density_of(rules, model) == Density::joint;
  json row = {{"model", model},
              {"test", subject.test.name},
              {"figure", !subject.figure.empty() ? subject.figure
                         : joint                 ? "joint_log_likelihood"
                                                 : "log_likelihood"},
              {"published", nullptr},
              {"published_error", nullptr},
              {"published_decimals", 0},
              {"oracle", nullptr},
              {"oracle_error", nullptr},
              {"oracle_kind", nullptr}};
  if (const auto found = subject.published.find(model); found != subject.published.end()) {
    row["published"] = found->second.value;
    row["published_error"] = number_or_null(found->second.error);
    row["published_decimals"] = printed_decimals(subject.published);
  }
  if (const auto best = reference_of(rules, subject, model).best) {
    row["oracle"] = in_metric(subject.metric, best->best.value);
    row["oracle_error"] = error_in_metric(subject.metric, best->best.standard_error);
    row["oracle_kind"] = best->oracle;
  }
  return row;
}

/// Figures of one run on a test, in both forms (see Controlled).
struct RunFigures {
  std::uint64_t seed = 0;
  Estimate plain;
  std::optional<Estimate> controlled{};
};

/// The way with the smaller error, if every run has it.
bool is_controlled(const std::vector<RunFigures>& runs) {
  return std::ranges::all_of(runs, [](const RunFigures& run) {
    return run.controlled && run.controlled->standard_error < run.plain.standard_error;
  });
}

SeedMean mean_of(const std::vector<RunFigures>& runs, bool controlled) {
  std::vector<Estimate> estimates;
  for (const RunFigures& run : runs) estimates.push_back(controlled ? *run.controlled : run.plain);
  return mean_over_seeds(estimates);
}

/// The same, and what was reached.
json compared_row(const EvaluationConfig& rules, const Subject& subject, const std::string& model,
                  const std::vector<RunFigures>& runs) {
  const bool controlled = is_controlled(runs);
  const SeedMean plain = mean_of(runs, false);
  SeedMean ours = controlled ? mean_of(runs, true) : plain;
  ours.fresh_error = plain.task_error;
  std::vector<std::uint64_t> seeds;
  for (const RunFigures& run : runs) seeds.push_back(run.seed);
  const Judgement judgement = judge(ours, reference_of(rules, subject, model));
  const Metric& metric = subject.metric;

  json row = known_row(rules, subject, model);
  row["seeds"] = seeds;
  row["ours"] = number_or_null(in_metric(metric, ours.value));
  row["standard_error"] = number_or_null(error_in_metric(metric, ours.standard_error));
  row["task_error"] = number_or_null(error_in_metric(metric, ours.task_error));
  row["controlled"] = controlled;
  row["plain"] = number_or_null(in_metric(metric, plain.value));
  row["plain_task_error"] = number_or_null(error_in_metric(metric, plain.task_error));
  row["runs"] = json::array();
  for (const double run : ours.runs) row["runs"].push_back(number_or_null(in_metric(metric, run)));
  row["difference"] = number_or_null(in_metric(metric, judgement.difference));
  row["half_interval"] = number_or_null(error_in_metric(metric, judgement.half_width));
  row["collapsed"] = json::array();
  for (const std::size_t run : judgement.collapsed) row["collapsed"].push_back(seeds[run]);
  const bool judged = judgement.verdict != Verdict::none;
  row["verdict"] = judged ? json(to_string(judgement.verdict)) : json(nullptr);
  return row;
}

/// The runs of a store, none if the file is missing. Throws Error for a file that is no store of this protocol.
json load_runs(const std::filesystem::path& path, const Protocol& protocol) {
  if (!std::filesystem::exists(path)) return json::array();
  const std::string text = read_text(path);
  try {
    const json store = parse_json(text, fmt::format("[results] {} holds no results", path.string()));
    const std::string found = store.at("protocol");
    check(found == protocol.name, "[results] {} holds results of {}, expected those of {}", path.string(), found,
          protocol.name);
    const json& runs = store.at("runs");
    check(runs.is_array(), "[results] {}: runs is a JSON {}, expected an array", path.string(), runs.type_name());
    for (const json& run : runs) check_run(run);
    return runs;
  } catch (const json::exception& e) {
    fail("[results] {} holds no results: {}", path.string(), e.what());
  }
}

/// `added`, and of `runs` the results that `added` has no other of with the same model, seed, steps, test and version;
/// sorted by model, seed and steps.
json merge_runs(const json& runs, const json& added) {
  std::multimap<std::tuple<std::string, std::uint64_t, std::int64_t>, json> sorted;
  for (const json& run : runs) {
    json kept = run;
    kept["results"] = json::array();
    for (const json& result : run.at("results"))
      if (!holds(added, run, result)) kept["results"].push_back(result);
    if (!kept["results"].empty()) sorted.emplace(key_of(run), kept);
  }
  for (const json& run : added) sorted.emplace(key_of(run), run);
  json merged = json::array();
  for (const auto& [key, run] : sorted) merged.push_back(run);
  return merged;
}

/// The figure of a result by the expectation of the posterior, if that is stored and the result has the gap to it.
std::optional<Estimate> controlled_result(const Protocol& protocol, const TestConfig& test, const std::string& model,
                                          const json& result) {
  if (!result.contains("exact_gap") || !result.contains("exact_gap_error")) return {};
  const Estimate lacking{number_in(result, "exact_gap"), number_in(result, "exact_gap_error")};
  const StoredExpectation* stored = find_expectation(built_in_expectations(), protocol, test).stored;
  const auto controlled = controlled_figure(stored, density_of(protocol.evaluation, model), lacking);
  return controlled ? std::optional(controlled->value) : std::nullopt;
}

/// The results of a model on a test that are of the protocol as it is, each with its run.
std::vector<std::pair<const json*, const json*>> current_results(const Protocol& protocol, const json& runs,
                                                                 const TestConfig& test, const std::string& model) {
  std::vector<std::pair<const json*, const json*>> found;
  for (const json& run : runs)
    if (run.at("model") == model)
      for (const json& result : run.at("results"))
        if (result.at("test") == test.name && is_current(protocol, run, result)) found.emplace_back(&run, &result);
  return found;
}

/// Those runs that have the figure.
std::vector<RunFigures> figures_of(const Protocol& protocol, const json& runs, const Subject& subject,
                                   const std::string& model) {
  std::vector<RunFigures> figures;
  for (const auto& [run, result] : current_results(protocol, runs, subject.test, model)) {
    const std::uint64_t seed = run->at("seed");
    if (subject.figure.empty()) {
      figures.push_back(
          {seed, figure_in(*result, headline_of(*result)), controlled_result(protocol, subject.test, model, *result)});
      continue;
    }
    const Estimate found = figure_in(*result, subject.figure);
    if (!std::isnan(found.value))
      figures.push_back({seed, {to_log_likelihood(subject.metric, found.value), found.standard_error}});
  }
  return figures;
}

/// Whether less of a figure is better, as the results say.
bool less_is_better(const json& runs, const std::string& figure) {
  for (const json& run : runs)
    for (const json& result : run.at("results"))
      if (result.contains("better") && result.at("better").contains(figure))
        return result.at("better").at(figure) == "lower";
  return true;  // of a published regret or error that was not measured
}

/// Returns the figures of a test: its headline and the published figures. Other trials' headlines are figures like
/// others.
std::vector<Subject> subjects_of(const EvaluationConfig& rules, const TestConfig& test, const json& runs) {
  if (rules.trial == "likelihood") return {{test, "", test.published, rules.metric}};
  static const PublishedRows kNone;
  std::vector<Subject> subjects;
  for (const auto& [figure, rows] : test.published_figures)
    subjects.push_back({test, figure, rows, {.negative = less_is_better(runs, figure)}});
  for (const json& run : runs)
    for (const json& result : run.at("results"))
      if (const std::string name = headline_of(result);
          result.at("test") == test.name && std::ranges::find(subjects, name, &Subject::figure) == subjects.end())
        subjects.push_back({test, name, kNone, {.negative = less_is_better(runs, name)}});
  return subjects;
}

json store_of(const Protocol& protocol, const json& runs) {
  const EvaluationConfig& rules = protocol.evaluation;
  json rows = json::array(), not_run = json::array(), other_versions = json::array();
  for (const json& run : runs)
    for (const json& result : run.at("results"))
      if (!is_current(protocol, run, result))
        other_versions.push_back({{"model", run.at("model")},
                                  {"seed", run.at("seed")},
                                  {"test", result.at("test")},
                                  {"version", version_of(result)}});
  for (const TestConfig& test : rules.tests)
    for (const Subject& subject : subjects_of(rules, test, runs))
      for (const std::string& model : all_models(protocol, runs)) {
        if (const auto figures = figures_of(protocol, runs, subject, model); !figures.empty())
          rows.push_back(compared_row(rules, subject, model, figures));
        else if (subject.published.contains(model))
          not_run.push_back(known_row(rules, subject, model));
      }
  return {{"protocol", protocol.name},
          {"source", protocol.source},
          {"trial", rules.trial},
          {"metric", to_string(rules.metric)},
          {"spread", spread_of(rules.spread)},
          {"runs", runs},
          {"rows", rows},
          {"not_run", not_run},
          {"other_versions", other_versions}};
}

}  // namespace

std::filesystem::path results_path(const std::filesystem::path& directory, const Protocol& protocol) {
  std::string name = protocol.name;
  std::ranges::replace(name, '/', '-');
  return directory / (name + ".json");
}

void check_store(const std::filesystem::path& path, const Protocol& protocol) {
  static_cast<void>(load_runs(path, protocol));
}

JsonValue make_store(const Protocol& protocol, const std::vector<JsonValue>& runs) {
  return json_value(store_of(protocol, JsonValue::array(runs).tree().value));
}

JsonValue update_store(const std::filesystem::path& path, const Protocol& protocol,
                       const std::vector<JsonValue>& added) {
  const std::filesystem::path directory = path.parent_path();
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  check(!error, "[results] {} cannot be created: {}", directory.string(), error.message());
  const Descriptor lock = wait_for_directory(directory);
  const json runs = merge_runs(load_runs(path, protocol), JsonValue::array(added).tree().value);
  JsonValue store = json_value(store_of(protocol, runs));
  const std::string text = store.dump(1) + "\n";
  if (std::filesystem::exists(path) && read_text(path) == text) return store;
  AtomicFile file(path);
  file.write(text);
  file.commit();
  return store;
}

void drop_verdicts(JsonValue& store) {
  json without = store.tree().value;
  for (json& row : without["rows"]) row["verdict"] = nullptr;
  store = json_value(std::move(without));
}

}  // namespace npzoo::tools
