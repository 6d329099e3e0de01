#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "npzoo/models/training/named_weights.h"
#include "python/core/calls.h"
#include "python/core/model.h"
#include "tools/reports/weights_facts.h"

namespace npzoo::python {

using namespace nb::literals;
using namespace tools;

namespace {

nb::list list_models() {
  nb::list all;
  for (const ModelInfo& info : npzoo::models()) {
    nb::dict row;
    row["name"] = info.name;
    row["title"] = info.title;
    row["paper"] = info.paper;
    all.append(row);
  }
  return all;
}

nb::list list_weights() {
  nb::list all;
  for (const NamedWeights& weights : named_weights()) {
    nb::dict row;
    row["name"] = weights.name;
    row["path"] = weights.path.string();
    all.append(row);
  }
  return all;
}

nb::dict protocol_facts(const std::string& name, const std::vector<std::string>& changes) {
  const Protocol protocol = unlocked([&] { return with_changes(load_protocol(name), changes); });
  nb::dict facts;
  facts["name"] = protocol.name;
  facts["description"] = protocol.description;
  facts["source"] = protocol.source;
  facts["inputs"] = protocol.data->dim_x();
  facts["values"] = protocol.data->dim_y();
  facts["steps"] = protocol.training.steps;
  facts["batch_size"] = protocol.training.batch_size;
  nb::list presets, tests;
  for (const auto& [model, config] : protocol.models) presets.append(model);
  for (const TestConfig& test : protocol.evaluation.tests) tests.append(test.name);
  facts["models"] = presets;
  facts["tests"] = tests;
  facts["text"] = protocol.text;
  return facts;
}

struct Card {
  std::string text, facts;  // Markdown; JSON
};

Card card(const std::string& name) {
  const auto path = find_weights(name);
  const Checkpoint checkpoint = load_checkpoint(path);
  const WeightsFacts facts = facts_of(path, checkpoint);
  const std::string own = card_from(full_weights_name(name), facts, checkpoint);
  const auto beside = card_beside(path);
  return {beside ? *beside + "\n" + own : own, to_json(facts, checkpoint).dump()};
}

}  // namespace

void add_catalogue(nb::module_& module) {
  module.def("models", &list_models);
  module.def("weights", &list_weights);
  module.def("protocols", [] { return protocol_names(); });
  module.def("protocol_facts", &protocol_facts, "name"_a, "changes"_a);
  module.def(
      "card",
      [](const std::string& name) {
        const Card made = unlocked([&] { return card(name); });
        return nb::make_tuple(made.text, made.facts);
      },
      "name"_a);
  module.def("default_weights", &default_weights, "dim_x"_a);
}

}  // namespace npzoo::python
