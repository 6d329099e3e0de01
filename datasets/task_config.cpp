#include "npzoo/datasets/task_config.h"

#include <algorithm>
#include <vector>

#include "npzoo/datasets/built_in_families.h"
#include "npzoo/datasets/oracle.h"
#include "npzoo/datasets/own_data.h"
#include "npzoo/datasets/task_table.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/shared_rows.h"

namespace npzoo {

namespace {

SharedRows<TaskFamily>& families() {
  static auto* const known = new SharedRows<TaskFamily>(built_in_families());
  return *known;
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
  fail("[oracle] these tasks have no exact reference, expected tasks of a known process, such as those of tnp/gp-rbf");
}

OwnTasks TaskConfig::on_own_data(const OwnData& /*own*/) const {
  fail("[own] these tasks are not made of a user's own data, expected those of a protocol such as own/table");
}

AddedTaskFamily::AddedTaskFamily(const TaskFamily& family) : kind_(family.kind) {
  families().change([&](std::vector<TaskFamily>& known) {
    check(std::ranges::find(known, family.kind, &TaskFamily::kind) == known.end(),
          "[tasks] there is a kind '{}' already, expected another name", family.kind);
    known.push_back(family);
  });
}

AddedTaskFamily::~AddedTaskFamily() {
  families().change([this](std::vector<TaskFamily>& known) {
    std::erase_if(known, [this](const TaskFamily& family) { return family.kind == kind_; });
  });
}

std::span<const TaskFamily> task_families() { return families().rows(); }

std::string_view present_kind(std::string_view kind) {
  for (const TaskFamily& family : task_families())
    if (!kind.empty() && kind == family.former_name) return family.kind;
  return kind;
}

/// `known` is one table throughout, since another thread may add to it.
std::string read_kind(TomlReader& data, std::span<const TaskFamily> known) {
  constexpr KeyLine kLine = "kind of tasks; `npzoo help protocol KIND` lists its keys";
  std::vector<std::string_view> kinds;
  for (const TaskFamily& family : known) kinds.push_back(family.kind);
  std::string kind = data.is_text("kind") ? std::string(present_kind(data.text("kind", kLine))) : "";
  if (std::ranges::find(kinds, kind) == kinds.end()) kind = data.choice("kind", kLine, kinds);  // throws Error
  return kind;
}

std::shared_ptr<const TaskConfig> read_task_config(TomlReader data) {
  const std::span<const TaskFamily> known = task_families();
  const std::string kind = read_kind(data, known);
  auto config = std::ranges::find(known, kind, &TaskFamily::kind)->read(data);
  data.finish();
  return config;
}

}  // namespace npzoo
