#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>

#include "npzoo/datasets/events/event_tasks.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/io/toml.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// A place in a TOML file: names of keys and indices of arrays.
using Path = std::vector<std::string>;

/// Values that every key must refuse or work with.
void put_hostile_values(std::vector<std::unique_ptr<toml::node>>& values) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max(), kLeast = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t x : {std::int64_t{-1}, std::int64_t{0}, kMost, kLeast})
    values.push_back(std::make_unique<toml::value<std::int64_t>>(x));
  for (const double x : {-0.5, 1e308, -1e308, 1e15, 1e-30, kNaN, kInfinity})
    values.push_back(std::make_unique<toml::value<double>>(x));
  values.push_back(std::make_unique<toml::value<std::string>>("x"));
  values.push_back(std::make_unique<toml::value<bool>>(true));
  values.push_back(std::make_unique<toml::array>());
  values.push_back(std::make_unique<toml::table>());
}

/// Calls f for each key and for each element of an array, with what a reader may tell apart.
void walk(const toml::node& node, Path& path, std::string kind,
          const std::function<void(const Path&, const std::string&)>& f) {
  if (!path.empty()) f(path, kind);
  if (const toml::table* table = node.as_table()) {
    for (const char* key : {"kind", "set", "targets", "split", "form"})
      if (const auto value = (*table)[key].value<std::string>()) kind += " " + *value;
    for (const auto& [key, value] : *table) {
      path.emplace_back(key.str());
      walk(value, path, kind, f);
      path.pop_back();
    }
  } else if (const toml::array* array = node.as_array(); array && !array->empty()) {
    path.emplace_back("0");
    walk((*array)[0], path, kind, f);
    path.pop_back();
  }
}

/// Puts a copy of `value` where the path leads.
void replace_at(toml::node& root, const Path& path, const toml::node& value) {
  toml::node* at = &root;
  for (std::size_t i = 0; i + 1 < path.size(); ++i)
    at = at->is_table() ? at->as_table()->get(path[i]) : at->as_array()->get(0);
  value.visit([&](const auto& copy) {
    if (at->is_table())
      at->as_table()->insert_or_assign(path.back(), copy);
    else
      at->as_array()->replace(at->as_array()->cbegin(), copy);
  });
}

bool is_protocol_error(const std::string& message) {
  return message.starts_with("[") && message.find('\n') == std::string::npos;
}

bool is_finite(const Tensor& x) {
  return std::ranges::all_of(doubles(x), [](double v) { return std::isfinite(v); });
}

/// Throws Error if these tasks cannot be; returns false if a number of them is not finite. Draws only where that is
/// quick and needs no file.
bool works(const TaskConfig& data, bool has_file) {
  if (has_file) return true;
  const TaskExtents extents = data.typical_extents();
  const TrainingRange range = data.training_range();
  if (extents.context < 0 || extents.targets < 1) return false;
  for (const double x : {range.inputs.low, range.inputs.high, range.value_std, range.widest_std, range.narrowest_std})
    if (!std::isfinite(x)) return false;
  if (extents.context + extents.targets > 300) return true;
  const Task task = data.source({.batch_size = 1, .split = Split::evaluation})->task(0);
  return is_finite(task.xc) && is_finite(task.yc) && is_finite(task.xt) && is_finite(task.yt);
}

/// Returns "" if the protocol is refused with one line or if its tasks are finite.
std::string fault_of(const std::string& text, bool has_file, bool draws) {
  try {
    const Protocol p = parse_protocol(text, "f.toml");
    if (!draws) return "";
    for (const TaskConfig* data : {p.data.get(), p.validation_data.get(), p.evaluation.tests[0].data.get()})
      if (data && !works(*data, has_file)) return "tasks are not finite";
    return "";
  } catch (const Error& error) {
    return is_protocol_error(error.what()) ? "" : error.what();
  }
}

}  // namespace

TEST_CASE("[protocol] every key refuses hostile values or works with them") {
  std::vector<std::unique_ptr<toml::node>> values;
  put_hostile_values(values);
  std::set<std::string> seen;
  for (const std::string& name : protocol_names()) {
    toml::table root = parse_toml(load_protocol(name).text, name);
    root.insert_or_assign("models", toml::table{});  // whose options the models' own tests walk
    const std::string kind = root["data"]["kind"].value_or(std::string());
    const bool has_file =
        kind == "images" || kind == "forecast" || kind == "table_tasks" || root["data"]["file"].is_string();
    Path path;
    std::vector<Path> paths;
    walk(root, path, kind, [&](const Path& at, const std::string& more) {
      const bool general = at[0] == "training" || (at[0] == "evaluation" && at.size() < 3) || at.size() == 1;
      if (seen.insert(fmt::format("{}: {}", general ? "" : more, fmt::join(at, "."))).second) paths.push_back(at);
    });
    for (const Path& at : paths)
      for (const auto& value : values) {
        toml::table changed = root;
        replace_at(changed, at, *value);
        const std::string text = toml_text(changed);
        const bool draws = at[0] == "data" || (at[0] == "evaluation" && at.size() > 2);
        CHECK_MESSAGE(fault_of(text, has_file, draws) == "", name, ": ", fmt::format("{}", fmt::join(at, ".")), " in ",
                      text);
      }
  }
  CHECK(seen.size() > 200);
}

TEST_CASE("[events] a simulated time is finite") {
  const std::vector<std::string> far{"data.process.gaps.mean=800"};
  const Protocol p = with_changes(load_protocol("events/renewal"), far);
  const auto* events = p.data->as_events();
  const std::string message = error_of([&] { events->shown(1, 0); });
  CHECK(message == "[events] a simulated time is inf, expected a process whose gaps are finite");
}

TEST_CASE("[set] a changed protocol takes no densities of published figures") {
  const std::vector<std::string> change{"evaluation.densities=[nan,nan]"};
  CHECK(error_of([&] { with_changes(load_protocol("quick/gp1d"), change); }) ==
        "[set] \"evaluation.densities=[nan,nan]\" found, expected another key: a changed protocol has no published "
        "figures");
}
