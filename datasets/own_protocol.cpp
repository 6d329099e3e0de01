#include "npzoo/datasets/own_protocol.h"

#include <utility>

#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/toml.h"

namespace npzoo {

namespace {

/// Puts presets, training and validation of `base` into a recipe, and how it evaluates.
void replace_rules(toml::table base, toml::table& recipe) {
  for (const char* key : {"models", "training", "validation"}) recipe.insert_or_assign(key, std::move(*base.get(key)));
  toml::table& own = *recipe["evaluation"].as_table();
  if (own.contains("trial")) return;  // the base's evaluation is of other tasks
  toml::table& evaluation = *base["evaluation"].as_table();
  for (const char* key : {"densities", "spread"}) evaluation.erase(key);  // of published rows, and there are none
  for (const char* key : {"tests", "metric"}) evaluation.insert_or_assign(key, std::move(*own.get(key)));
  recipe.insert_or_assign("evaluation", std::move(evaluation));
}

struct RecipeName {
  std::string operator()(const OwnTable& /*table*/) const { return "own/table"; }
  std::string operator()(const OwnSeries& /*series*/) const { return "own/forecast"; }
  std::string operator()(const OwnEvents& /*events*/) const { return "own/events"; }
  std::string operator()(const OwnPictures& pictures) const { return pictures.grey ? "own/images-grey" : "own/images"; }
};

}  // namespace

std::string own_recipe(const OwnData& own) { return std::visit(RecipeName(), own.data); }

bool is_own_recipe(std::string_view protocol) { return protocol.starts_with("own/"); }

OwnProtocol own_protocol(const OwnData& own, const std::string& base, std::span<const std::string> changes) {
  const Protocol recipe = load_protocol(own_recipe(own));
  toml::table root = parse_toml(recipe.text, recipe.name);
  if (!base.empty()) replace_rules(parse_toml(load_protocol(base).text, base), root);
  OwnTasks tasks = recipe.data->on_own_data(own);
  toml::table& data = *root["data"].as_table();
  for (auto&& [key, value] : parse_toml(tasks.data, recipe.name)) data.insert_or_assign(key, std::move(value));
  const std::string name = absolute_path(path_of(own)).lexically_normal().filename().string();
  root.insert_or_assign("name", name);
  return {with_changes(parse_protocol(toml_text(root), name), changes), std::move(tasks.skipped)};
}

}  // namespace npzoo
