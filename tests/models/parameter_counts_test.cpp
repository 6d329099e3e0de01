#include <doctest/doctest.h>

#include "models/config_json.h"
#include "models/registry.h"

using namespace npzoo;

TEST_CASE("parameter counts: those of the authors' code") {
  for (const ModelInfo& info : built_in_models()) {
    CAPTURE(std::string(info.name));
    CHECK((info.authors.empty() || !info.sizes.empty()));  // code that can be recorded has a size
    for (const PublishedSize& size : info.sizes) {
      CAPTURE(std::string(size.protocol));
      CAPTURE(std::string(size.changes));
      ModelSpec spec = model_spec(load_protocol(size.protocol), info.name);
      for (const auto& [key, value] : model_config_from_json(size.changes, info.name)) spec.config[key] = value;
      CHECK(count_elements(named_parameters(*make_model(spec))) == size.parameters);
    }
  }
}
