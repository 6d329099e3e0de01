#include "npzoo/datasets/task_config.h"

#include <algorithm>
#include <vector>

#include "npzoo/datasets/built_in_families.h"
#include "npzoo/datasets/oracle.h"
#include "npzoo/datasets/own_data.h"
#include "npzoo/datasets/task_table.h"
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

TaskForm TaskConfig::form() const {
  if (as_events()) return TaskForm::events;
  return as_series() ? TaskForm::series : TaskForm::points;
}

std::int64_t TaskConfig::write(std::int64_t tasks, std::uint64_t seed, TaskTable& table) const {
  const auto drawn = source({.batch_size = tasks, .seed = seed, .split = Split::evaluation});
  const Task batch = drawn->task(0).to(Device::cpu);
  write_points(batch, tasks > 1, table);
  return batch.xt.dim(0);
}

OracleFindings TaskConfig::oracle(const OracleOptions& /*options*/) const {
  fail("[oracle] these tasks have no exact reference, expected tasks of a known process, as those of tnp/gp-rbf");
}

OwnTasks TaskConfig::on_own_data(const OwnData& /*own*/) const {
  fail("[own] these tasks are not made of a user's own data, expected those of a protocol such as own/table");
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

std::string_view present_kind(std::string_view kind) {
  for (const TaskFamily& family : task_families())
    if (!kind.empty() && kind == family.former_name) return family.kind;
  return kind;
}

std::string read_kind(TomlReader& data) {
  constexpr KeyLine kLine = "kind of tasks; `npzoo help protocol KIND` lists its keys";
  std::vector<std::string_view> kinds;
  for (const TaskFamily& family : task_families()) kinds.push_back(family.kind);
  std::string kind = data.is_text("kind") ? std::string(present_kind(data.text("kind", kLine))) : "";
  if (std::ranges::find(kinds, kind) == kinds.end()) kind = data.choice("kind", kLine, kinds);  // throws Error
  return kind;
}

std::shared_ptr<const TaskConfig> read_task_config(TomlReader data) {
  const std::string kind = read_kind(data);
  auto config = std::ranges::find(task_families(), kind, &TaskFamily::kind)->read(data);
  data.finish();
  return config;
}

}  // namespace npzoo
