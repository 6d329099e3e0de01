#include "tools/reports/weights_facts.h"

#include <fmt/format.h>

#include "npzoo/engine/io/file.h"
#include "npzoo/engine/words.h"
#include "npzoo/models/registry.h"

namespace npzoo::tools {

namespace {

JsonValue to_json(const std::vector<TestScore>& scores) {
  JsonValue rows = JsonValue::array();
  for (const TestScore& score : scores) {
    JsonValue row = JsonValue::object({{"test", score.test}, {"standard_error", score.standard_error}});
    row.set(score.figure, score.value);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

WeightsFacts facts_of(const std::filesystem::path& path, const Checkpoint& c) {
  const std::unique_ptr<Model> model = restore_model(c);
  return {.dim_x = model->dim_x(),
          .dim_y = model->dim_y(),
          .parameters = count_elements(named_parameters(*model)),
          .bytes = static_cast<std::int64_t>(std::filesystem::file_size(path)),
          .scores = c.exported ? scores_of(*c.exported) : std::vector<TestScore>()};
}

JsonValue to_json(const WeightsFacts& facts, const Checkpoint& c) {
  return JsonValue::object({{"model", c.run.spec.name},
                            {"protocol", c.run.protocol.name},
                            {"inputs", facts.dim_x},
                            {"values", facts.dim_y},
                            {"metric", facts.scores.empty() ? JsonValue() : JsonValue(facts.scores[0].figure)},
                            {"parameters", facts.parameters},
                            {"bytes", facts.bytes},
                            {"steps", c.step},
                            {"seed", c.run.seed},
                            {"commit", c.commit},
                            {"init", c.run.init ? JsonValue(c.run.init->source) : JsonValue()},
                            {"command", c.exported ? JsonValue(c.exported->command) : JsonValue()},
                            {"evaluation", to_json(facts.scores)}});
}

std::string format_bytes(std::int64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) * 1e-6); }

std::optional<std::string> card_beside(const std::filesystem::path& weights) {
  std::filesystem::path card = weights;
  card.replace_extension(".card.md");
  std::error_code error;
  if (!std::filesystem::is_regular_file(card, error)) return {};
  return read_text(card, std::size_t{1} << 20);
}

std::string card_from(const std::string& name, const WeightsFacts& facts, const Checkpoint& c) {
  const ModelInfo& model = model_info(c.run.spec.name);
  const TrainingConfig& training = c.run.protocol.training;
  const TrainingRange range = c.run.protocol.data->training_range();
  std::string card = fmt::format("# {}\n\n{} (`{}`; {}): {}, {}, {} parameters, {}.\n\n", name, model.title, model.name,
                                 model.paper, counted(facts.dim_x, "input"), counted(facts.dim_y, "value"),
                                 facts.parameters, format_bytes(facts.bytes));
  card += fmt::format("- Trained under `{}` ({}): {} of {} updates of {} tasks, seed {}", c.run.protocol.name,
                      c.run.protocol.description, c.step, training.steps, training.batch_size, c.run.seed);
  if (c.run.init) card += fmt::format(", from the weights `{}`", c.run.init->source);
  card += c.commit.empty() ? ".\n" : fmt::format(", by npzoo at commit {}.\n", c.commit);
  const std::string least = range.min_context < range.max_context ? fmt::format("{} to ", range.min_context) : "";
  card += fmt::format(
      "- Contexts of {}{} with inputs from {} to {}, functions of standard deviation {:.3g}, noise of {:.3g} in "
      "targets.\n",
      least, counted(range.max_context, "point"), range.inputs.low, range.inputs.high, range.value_std,
      range.target_noise);
  if (!facts.scores.empty()) card += fmt::format("- Scores: {}.\n", in_words(facts.scores));
  if (!c.exported && c.best_step >= 0)
    card +=
        fmt::format("- Best validation: log-likelihood {:.4f} after {} updates.\n", c.best_log_likelihood, c.best_step);
  if (c.exported) card += fmt::format("- Made by `{}`.\n", c.exported->command);
  return card;
}

}  // namespace npzoo::tools
