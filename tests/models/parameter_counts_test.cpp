#include <doctest/doctest.h>

#include <algorithm>

#include "npzoo/models/config_json.h"
#include "npzoo/models/registry.h"

using namespace npzoo;

TEST_CASE("parameter counts: those of the authors' code") {
  for (const ModelInfo& info : built_in_models()) {
    CAPTURE(std::string(info.name));
    // Code that can be recorded has a size, unless it has parameters that nothing uses, which it penalises.
    const bool more_in_theirs =
        std::ranges::any_of(info.authors, [](const auto& code) { return code.adam.penalty > 0; });
    CHECK((info.authors.empty() || more_in_theirs || !info.sizes.empty()));
    for (const PublishedSize& size : info.sizes) {
      CAPTURE(std::string(size.protocol));
      CAPTURE(std::string(size.changes));
      ModelSpec spec = model_spec(load_protocol(size.protocol), info.name);
      for (const auto& [key, value] : model_config_from_json(size.changes, info.name)) spec.config[key] = value;
      CHECK(count_elements(named_parameters(*make_model(spec))) == size.parameters);
    }
  }
}
