#include "tools/reproduce/results_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/io/json.h"
#include "npzoo/models/trials/verdict.h"
#include "tools/cli/columns.h"
#include "tools/cli/json_tree.h"

namespace npzoo::tools {

namespace {

using nlohmann::json;

/// Returns the decimals of our figures: errors and regrets have one more than in the paper.
int decimals_of(const json& row) {
  constexpr int kOfNats = 3;
  const bool nats = row.at("figure").get<std::string>().ends_with("log_likelihood");
  return nats ? kOfNats : std::max(kOfNats, row.at("published_decimals").get<int>() + 1);
}

/// Tests of other trials have more than one figure.
bool has_one_figure(const json& store) { return store.at("trial") == "likelihood"; }

std::string figure(const json& value, const json& error, int decimals) {
  if (value.is_null()) return "-";
  const std::string text = fmt::format("{:.{}f}", value.get<double>(), decimals);
  return error.is_null() ? text : fmt::format("{} ± {:.{}f}", text, error.get<double>(), decimals);
}

/// The mean, and of several runs each of them: one that collapsed hides in a mean.
std::string ours_cell(const json& row) {
  std::string text = figure(row.at("ours"), row.at("standard_error"), decimals_of(row));
  if (row.at("controlled").get<bool>()) text += " *";
  if (row.at("runs").size() < 2) return text;
  std::string runs;
  for (const json& run : row.at("runs")) runs += (runs.empty() ? "" : ", ") + figure(run, nullptr, decimals_of(row));
  return fmt::format("{} ({})", text, runs);
}

std::string difference_cell(const json& row) {
  return row.at("difference").is_null() ? "" : figure(row.at("difference"), row.at("half_interval"), decimals_of(row));
}

std::string oracle_cell(const json& row) {
  const std::string text = figure(row.at("oracle"), nullptr, decimals_of(row));
  const bool known = !row.at("oracle_kind").is_null() && row.at("oracle_kind").get<std::string>().starts_with("known_");
  return known ? fmt::format("({})", text) : text;
}

void add_row(std::vector<Column>& columns, const json& row, const std::string& instead, bool with_figure) {
  const auto text = [&row](const char* key) { return row.at(key).get<std::string>(); };
  const bool run = instead.empty();
  const std::string cells[] = {
      text("test") + (with_figure ? " " + text("figure") : ""),
      text("model"),
      run ? std::to_string(row.at("seeds").size()) : "",
      run ? ours_cell(row) : instead,
      figure(row.at("published"), row.at("published_error"), row.at("published_decimals")),
      oracle_cell(row),
      run ? difference_cell(row) : "",
      run && row.at("verdict").is_string() ? text("verdict") : "",
  };
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
}

std::string measured_in(const json& store) {
  if (!has_one_figure(store))
    return fmt::format("the trial {}, each figure in its unit", store.at("trial").get<std::string>());
  return fmt::format("{}, nats per target point, {}", store.at("metric").get<std::string>(),
                     store.at("metric") == to_string(Metric::log_likelihood) ? "higher is better" : "lower is better");
}

std::string spread_in_words(const json& spread) {
  if (spread.is_null()) return "of unknown meaning";
  const auto count = [&spread](const char* key) { return spread.at(key).get<std::int64_t>(); };
  return fmt::format("{} over {}{}", spread.at("kind") == "error" ? "standard error" : "deviation",
                     count("seeds") > 0 ? fmt::format("{} seeds", count("seeds"))
                                        : fmt::format("{} tasks of one training", count("tasks")),
                     spread.at("assumed").get<bool>() ? " (assumed: the source does not define its ±)" : "");
}

void print_other_versions(const json& store) {
  std::string names;
  for (const json& result : store.at("other_versions"))
    names += fmt::format("{}{}, seed {} ({})", names.empty() ? "" : "; ", result.at("model").get<std::string>(),
                         result.at("seed").get<std::uint64_t>(), result.at("test").get<std::string>());
  if (!names.empty())
    fmt::print("measured under another version of {}, so not averaged: {}\n", store.at("protocol").get<std::string>(),
               names);
}

}  // namespace

void print_table(const JsonValue& results, const std::vector<std::string>& failed) {
  const json& store = results.tree().value;
  const auto holds = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  std::vector<std::string> tests;
  for (const char* list : {"rows", "not_run"})
    for (const json& row : store.at(list))
      if (const std::string test = row.at("test"); !holds(tests, test)) tests.push_back(test);

  const bool one = has_one_figure(store);
  std::vector<Column> columns{{one ? "test" : "test, figure"},
                              {"model"},
                              {"seeds"},
                              {"ours"},
                              {"published"},
                              {"oracle"},
                              {"difference"},
                              {"verdict"}};
  for (const std::string& test : tests) {
    for (const json& row : store.at("rows"))
      if (row.at("test") == test) add_row(columns, row, "", !one);
    for (const json& row : store.at("not_run"))
      if (row.at("test") == test) add_row(columns, row, holds(failed, row.at("model")) ? "failed" : "not run", !one);
  }
  fmt::print("{}: {}\n\n", store.at("protocol").get<std::string>(), measured_in(store));
  print_columns(columns);
  fmt::print(
      "\nours: mean over seeds ± its standard error (each seed); with one seed, ± the standard error over its "
      "test tasks\n");
  if (std::ranges::any_of(store.at("rows"), [](const json& row) { return row.at("controlled").get<bool>(); }))
    fmt::print(
        "*: the expectation of the exact posterior minus the distance of the model, which has a smaller error\n");
  fmt::print(
      "published: ± {}\n"
      "oracle: the best possible value; in brackets if it knows the hyper-parameters, which no model does\n"
      "difference: ours minus published ± half of its 95 % interval, without the noise of seeds if ours is one "
      "seed\n",
      spread_in_words(store.at("spread")));
  print_other_versions(store);
}

std::vector<std::string> leaks(const JsonValue& results) {
  const json& store = results.tree().value;
  std::vector<std::string> found;
  for (const json& row : store.at("rows"))
    if (row.at("verdict") == to_string(Verdict::above_oracle))
      found.push_back(fmt::format(
          "{} on {}: {} {} is better than the oracle, {}, so the model sees the values to predict",
          row.at("model").get<std::string>(), row.at("test").get<std::string>(), store.at("metric").get<std::string>(),
          figure(row.at("ours"), row.at("standard_error"), decimals_of(row)),
          figure(row.at("oracle"), row.at("oracle_error"), decimals_of(row))));
  return found;
}

}  // namespace npzoo::tools
