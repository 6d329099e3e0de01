#include "npzoo/datasets/task_config.h"

#include <algorithm>
#include <vector>

#include "npzoo/datasets/built_in_families.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

std::vector<TaskFamily>& families() {
  static std::vector<TaskFamily> families(built_in_families().begin(), built_in_families().end());
  return families;
}

}  // namespace

Batch TaskConfig::picture(std::int64_t tasks, std::uint64_t seed) const {
  return source({.batch_size = tasks, .seed = seed, .split = Split::evaluation})->batch(0);
}

AddedTaskFamily::AddedTaskFamily(const TaskFamily& family) : kind_(family.kind) {
  check(std::ranges::find(families(), family.kind, &TaskFamily::kind) == families().end(),
        "[tasks] there is a kind '{}' already, expected another name", family.kind);
  families().push_back(family);
}

AddedTaskFamily::~AddedTaskFamily() {
  std::erase_if(families(), [this](const TaskFamily& family) { return family.kind == kind_; });
}

std::span<const TaskFamily> task_families() { return families(); }

std::shared_ptr<const TaskConfig> read_task_config(TomlReader data) {
  std::vector<std::string_view> kinds;
  for (const TaskFamily& family : task_families()) kinds.push_back(family.kind);
  const std::string kind = data.choice("kind", kinds);
  auto config = std::ranges::find(task_families(), kind, &TaskFamily::kind)->read(data);
  data.finish();
  return config;
}

}  // namespace npzoo
