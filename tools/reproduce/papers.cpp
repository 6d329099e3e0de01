#include "tools/reproduce/papers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "npzoo/engine/io/json.h"
#include "npzoo/engine/words.h"
#include "npzoo/models/registry.h"
#include "tools/cli/columns.h"
#include "tools/cli/json_tree.h"
#include "tools/cli/messages.h"
#include "tools/reproduce/results_store.h"

namespace npzoo::tools {

namespace {

using nlohmann::json;

constexpr RowState kStates[] = {RowState::done,   RowState::running, RowState::begun,
                                RowState::failed, RowState::owed,    RowState::impossible};

/// Returns the seeds of each model in the file of results.
std::map<std::string, std::set<std::uint64_t>> collected_seeds(const ReproduceOptions& c, const Protocol& protocol) {
  std::map<std::string, std::set<std::uint64_t>> seeds;
  const std::filesystem::path path = results_path(c.results, protocol);
  if (!std::filesystem::exists(path)) return seeds;
  const JsonValue store = update_store(path, protocol, {});
  for (const json& row : store.tree().value.at("rows"))
    for (const json& seed : row.at("seeds")) seeds[row.at("model")].insert(seed.get<std::uint64_t>());
  return seeds;
}

/// Returns the row of a model: done if one seed is done, else the progress of the furthest seed.
MatrixRow row_of(const Protocol& protocol, const std::string& model, const std::vector<RunEnd>& runs, bool whole,
                 std::set<std::uint64_t> seeds) {
  MatrixRow row{.protocol = protocol.name, .model = model};
  std::int64_t steps = 0;
  for (const RunEnd& run : runs) {
    if (run.model != model) continue;
    if (run.done && whole) seeds.insert(run.seed);
    steps = std::max(steps, run.steps);
    if (run.elsewhere) row.state = RowState::running;
    if (!run.error.empty() && row.state == RowState::owed) row = {protocol.name, model, RowState::failed, run.error};
  }
  if (!seeds.empty())
    return {protocol.name, model, RowState::done,
            fmt::format("seed{} {}", seeds.size() > 1 ? "s" : "", fmt::join(seeds, ", "))};
  if (row.state == RowState::failed) return row;
  if (steps > 0 || row.state == RowState::running)
    row.note = fmt::format("{} of {} updates", steps, protocol.training.steps);
  if (row.state == RowState::owed && steps > 0) row.state = RowState::begun;
  return row;
}

}  // namespace

const std::vector<Paper>& papers() {
  static const std::vector<Paper> all{
      {"tnp-kr",
       "Transformer Neural Process - Kernel Regression (Jenson et al. 2024)",
       {"tnp-kr/gp1d-rbf", "tnp-kr/gp1d-matern", "tnp-kr/gp1d-periodic", "tnp-kr/bo1d-rbf", "tnp-kr/bo1d-matern",
        "tnp-kr/bo1d-periodic", "tnp-kr/gp2d-rbf", "tnp-kr/mnist", "tnp-kr/celeba32", "tnp-kr/cifar10"},
       {"np", "cnp", "bnp", "anp", "canp", "banp", "convcnp", "tnp-d", "tnp-kr-fast", "tnp-kr-full"}},
      {"anp",
       "Attentive Neural Processes (Kim et al. 2019)",
       {"anp/gp1d", "anp/gp1d-fixed", "anp/bo1d", "anp/mnist", "anp/celeba32"},
       {"np", "anp"}},
      {"eqtnp",
       "Efficient Queries Transformer Neural Processes (Feng et al. 2022)",
       {"tnp/gp-rbf", "tnp/celeba32", "tnp/emnist"},
       {"cnp", "canp", "np", "anp", "bnp", "banp", "tnp-d", "eqtnp"}},
      {"cmanp",
       "Memory Efficient Neural Processes via Constant Memory Attention Block (Feng et al. 2024)",
       {"tnp/gp-rbf", "tnp/wheel", "tnp/celeba32", "tnp/celeba64", "tnp/celeba128", "tnp/emnist", "events/reddit",
        "events/mooc"},
       {"cnp", "canp", "np", "anp", "bnp", "banp", "tnp-d", "tnp-nd", "lbanp", "lbanp-nd", "cmanp", "cmanp-and",
        "thp-plus", "cmhp"}},
      {"taylorformer",
       "Taylorformer (Nivron et al. 2023)",
       {"taylorformer/gp-rbf",       "taylorformer/gp-matern", "taylorformer/gp-periodic",  "taylorformer/celeba32",
        "taylorformer/emnist",       "taylorformer/exchange",  "taylorformer/exchange-192", "taylorformer/exchange-336",
        "taylorformer/exchange-720", "taylorformer/ettm2",     "taylorformer/ettm2-192",    "taylorformer/ettm2-336",
        "taylorformer/ettm2-720",    "autoformer/exchange",    "autoformer/exchange-192",   "autoformer/exchange-336",
        "autoformer/exchange-720",   "autoformer/ettm2",       "autoformer/ettm2-192",      "autoformer/ettm2-336",
        "autoformer/ettm2-720"},
       {"np", "anp", "taylorformer", "taylorformer-tnp", "autoformer", "informer"}},
  };
  return all;
}

std::string paper_names() {
  std::string names;
  for (const Paper& paper : papers()) names += fmt::format("{}{}", names.empty() ? "" : ", ", paper.name);
  return names;
}

const Paper& find_paper(const std::string& name) {
  const auto found = std::ranges::find(papers(), name, &Paper::name);
  if (found != papers().end()) return *found;
  fail("[reproduce] there is no paper '{}', expected {}", name, paper_names());
}

std::vector<std::string> models_of(const Paper& paper, const Protocol& protocol,
                                   const std::vector<std::string>& asked) {
  std::vector<std::string> names;
  for (const std::string name : paper.models)
    if (protocol.models.contains(name) && (asked.empty() || std::ranges::find(asked, name) != asked.end()))
      names.push_back(name);
  return names;
}

std::string missing_data(const Protocol& protocol) {
  try {
    const SourceOptions training{.batch_size = protocol.training.batch_size};
    static_cast<void>(protocol.data->source(training));
    for (const TestConfig& test : protocol.evaluation.tests)
      static_cast<void>(test.data->source({.batch_size = protocol.evaluation.batch_size, .split = Split::evaluation}));
  } catch (const Error& error) {
    return one_line(error.what());
  }
  return {};
}

const char* to_string(RowState state) {
  switch (state) {
    case RowState::done: return "done";
    case RowState::running: return "running";
    case RowState::begun: return "begun";
    case RowState::failed: return "failed";
    case RowState::owed: return "owed";
    case RowState::impossible: return "impossible";
  }
  return "";
}

std::vector<MatrixRow> matrix_rows(const ReproduceOptions& c, const std::string& missing) {
  const Protocol protocol = load_protocol(c.table);
  auto seeds = collected_seeds(c, protocol);
  const bool whole = c.steps.value_or(protocol.training.steps) == protocol.training.steps &&
                     c.batches.value_or(protocol.evaluation.batches) == protocol.evaluation.batches;
  const std::vector<RunEnd> runs = look_at_runs(c);
  std::vector<MatrixRow> rows;
  for (const std::string& model : c.models) {
    MatrixRow& row = rows.emplace_back(row_of(protocol, model, runs, whole, seeds[model]));
    if (row.state == RowState::owed && !missing.empty()) row = {protocol.name, model, RowState::impossible, missing};
  }
  return rows;
}

void print_matrix(const Paper& paper, std::span<const MatrixRow> rows) {
  std::vector<MatrixRow> lines;  // models of a protocol with one state and note together
  for (const MatrixRow& row : rows) {
    const auto same = std::ranges::find_if(lines, [&row](const MatrixRow& line) {
      return line.protocol == row.protocol && line.state == row.state && line.note == row.note;
    });
    if (same == lines.end())
      lines.push_back(row);
    else
      same->model += ", " + row.model;
  }
  std::vector<Column> columns{{"protocol"}, {"state"}, {"models"}, {"seeds, updates or reason"}};
  for (const MatrixRow& line : lines) {
    const std::string cells[] = {line.protocol, to_string(line.state), line.model, line.note};
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
  }
  std::string counts;
  for (const RowState state : kStates)
    if (const auto count = std::ranges::count(rows, state, &MatrixRow::state); count > 0)
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, to_string(state));
  fmt::print("{}: {}\n\n", paper.name, paper.title);
  print_columns(columns);
  fmt::print("\n{} rows: {}\n", rows.size(), counts);
}

JsonValue to_json(std::span<const MatrixRow> rows) {
  JsonValue matrix = JsonValue::array();
  for (const MatrixRow& row : rows)
    matrix.push_back(JsonValue::object(
        {{"protocol", row.protocol}, {"model", row.model}, {"state", to_string(row.state)}, {"note", row.note}}));
  return matrix;
}

}  // namespace npzoo::tools
