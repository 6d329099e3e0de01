#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/engine/io/toml.h"

namespace npzoo {

/// How a model is trained and tested on data of the user's own.
struct OwnRecipe {
  const char* description;  // of the tasks
  const char* source;       // of the data
  std::int64_t steps, warmup_steps, batch_size;
  std::int64_t validation_every, validation_batches;
  std::int64_t evaluation_batches, evaluation_batch_size;
  const char* trial = nullptr;   // replaces all of the base's evaluation, which is of other tasks
  const char* metric = nullptr;  // replaces the base's
};

/// The text of a protocol with the presets of `base`, a complete text, and `data` as its [data]; `where` begins errors
/// in `base`. Training, validation and evaluation are those of `base` or, where `short_recipe` is asked for, of
/// `recipe`.
std::string own_protocol(std::string_view base, std::string_view where, const OwnRecipe& recipe, bool short_recipe,
                         const std::string& name, toml::table data);

template <class T>
toml::array toml_array(const std::vector<T>& values) {
  toml::array array;
  for (const T& value : values) array.push_back(value);
  return array;
}

}  // namespace npzoo
