#include "npzoo/models/registry.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <limits>
#include <mutex>
#include <vector>

#include "npzoo/engine/boundary.h"
#include "npzoo/engine/words.h"

namespace npzoo {

namespace {

/// The models that are known. A table never changes and is never freed, because readers hold spans of it: adding or
/// removing a model puts another table in its place.
struct KnownModels {
  using Table = std::vector<ModelInfo>;

  std::mutex writers;
  std::deque<Table> tables;  // guarded by writers
  std::atomic<const Table*> now;

  KnownModels() : tables(1, Table(built_in_models().begin(), built_in_models().end())), now(&tables.back()) {}

  template <class F>
  void change(const F& f) {
    const std::lock_guard lock(writers);
    Table next = tables.back();
    f(next);
    now.store(&tables.emplace_back(std::move(next)), std::memory_order_release);
  }

  static KnownModels& instance() {
    static auto* const known = new KnownModels;
    return *known;
  }
};

}  // namespace

std::span<const ModelInfo> models() { return *KnownModels::instance().now.load(std::memory_order_acquire); }

AddedModel::AddedModel(const ModelInfo& info) : name_(info.name) {
  KnownModels::instance().change([&](KnownModels::Table& known) {
    check(std::ranges::find(known, name_, &ModelInfo::name) == known.end(),
          "[models] there is a model '{}' already, expected another name", name_);
    known.push_back(info);
  });
}

AddedModel::~AddedModel() {
  KnownModels::instance().change([this](KnownModels::Table& known) {
    std::erase_if(known, [this](const ModelInfo& m) { return m.name == name_; });
  });
}

const ModelInfo& model_info(const std::string& name) {
  const std::span<const ModelInfo> known = models();
  const auto found = std::ranges::find(known, name, &ModelInfo::name);
  if (found != known.end()) return *found;
  std::vector<std::string> names;
  for (const ModelInfo& m : known) names.emplace_back(m.name);
  fail("[models] there is no model '{}'{}", name, expected_names(name, names, "npzoo list models"));
}

std::int64_t targets_at_a_time(Density density, std::int64_t wanted) {
  return density == Density::joint ? std::numeric_limits<std::int64_t>::max() : wanted;
}

ModelSpec model_spec(const Protocol& protocol, const std::string& model) {
  ModelSpec spec{model_info(model).name, model_config(protocol, model)};
  spec.config["dim_x"] = protocol.data->dim_x();
  spec.config["dim_y"] = protocol.data->dim_y();
  if (protocol.data->form() == model_info(model).takes)
    for (const auto& [key, value] : protocol.data->extra_sizes()) spec.config[key] = value;
  return spec;
}

std::unique_ptr<Model> make_model(const ModelSpec& spec, const InitialWeights& weights) {
  return with_errors([&] { return model_info(spec.name).make(spec.config, weights); });
}

}  // namespace npzoo
