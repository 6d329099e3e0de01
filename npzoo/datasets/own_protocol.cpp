#include "npzoo/datasets/own_protocol.h"

#include <utility>

#include "npzoo/datasets/protocol_text.h"

namespace npzoo {

namespace {

/// What is common to all recipes; --steps, --lr and --set change it.
constexpr const char* kOwnRecipe = R"(
[training]
clip_norm = 1.0
keep = "best"
optimiser = { name = "adam", lr = 5e-4, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.0 }
schedule = { name = "cosine" }

[validation]
seed = 0

[evaluation]
seed = 0
metric = "log-likelihood"
)";

toml::table complete(const OwnRecipe& recipe) {
  toml::table root = parse_toml(kOwnRecipe, "[own]");
  toml::table& training = *root["training"].as_table();
  training.insert("steps", recipe.steps);
  training.insert("batch_size", recipe.batch_size);
  training["schedule"].as_table()->insert("warmup_steps", recipe.warmup_steps);
  toml::table& validation = *root["validation"].as_table();
  validation.insert("every", recipe.validation_every);
  validation.insert("batches", recipe.validation_batches);
  toml::table& evaluation = *root["evaluation"].as_table();
  evaluation.insert("batches", recipe.evaluation_batches);
  evaluation.insert("batch_size", recipe.evaluation_batch_size);
  if (recipe.trial != nullptr) evaluation.insert("trial", recipe.trial);
  return root;
}

}  // namespace

std::string own_protocol(std::string_view base, std::string_view where, const OwnRecipe& recipe, bool short_recipe,
                         const std::string& name, toml::table data) {
  toml::table root = parse_toml(base, where);
  for (auto&& [key, value] : complete(recipe))
    if (short_recipe || (key == "evaluation" && recipe.trial != nullptr)) root.insert_or_assign(key, value);
  root.insert_or_assign("name", name);
  root.insert_or_assign("description", recipe.description);
  root.insert_or_assign("source", recipe.source);
  root.insert_or_assign("data", std::move(data));
  toml::table& evaluation = *root["evaluation"].as_table();
  evaluation.erase("densities");  // of published rows, and there are none
  if (recipe.metric != nullptr) evaluation.insert_or_assign("metric", recipe.metric);
  evaluation.insert_or_assign("tests", toml::array{toml::table{{"name", "held out"}}});
  return toml_text(root);
}

}  // namespace npzoo
