#include <doctest/doctest.h>

#include "models/registry.h"

using namespace npzoo;

namespace {

std::int64_t parameters(const std::string& protocol, const std::string& model, const ModelConfig& changes = {}) {
  ModelSpec spec = model_spec(load_protocol(protocol), model);
  for (const auto& [key, value] : changes) spec.config[key] = value;
  const auto made = make_model(spec);
  return count_elements(named_parameters(*made));
}

/// The same model for points of a picture in one and in three colours.
const ModelConfig kGrey{{"dim_x", std::int64_t{2}}}, kColour{{"dim_x", std::int64_t{2}}, {"dim_y", std::int64_t{3}}};

}  // namespace

TEST_CASE("parameter counts: those of the authors' code") {
  CHECK(parameters("tnp/gp-rbf", "cnp") == 215'682);
  CHECK(parameters("tnp/gp-rbf", "tnp-d") == 222'082);
  CHECK(parameters("tnp/gp-rbf", "eqtnp") == 492'354);
  CHECK(parameters("tnp/gp-rbf", "eqtnp", kGrey) == 492'482);
  CHECK(parameters("tnp/gp-rbf", "eqtnp", kColour) == 493'126);
  CHECK(parameters("tnp/gp-rbf", "lbanp") == 792'514);
  CHECK(parameters("tnp/gp-rbf", "lbanp", {{"num_latents", std::int64_t{8}}}) == 784'834);
  CHECK(parameters("tnp/gp-rbf", "lbanp", kGrey) == 792'642);
  CHECK(parameters("tnp/gp-rbf", "lbanp", kColour) == 793'286);
  CHECK(parameters("tnp/gp-rbf", "cmanp") == 1'341'634);
  CHECK(parameters("tnp/gp-rbf", "cmanp", kGrey) == 1'341'762);
  CHECK(parameters("tnp/gp-rbf", "cmanp", kColour) == 1'342'406);
  for (const std::string protocol : {"tnp-kr/gp1d-rbf", "tnp-kr/gp1d-matern", "tnp-kr/gp1d-periodic"}) {
    CAPTURE(protocol);
    CHECK(parameters(protocol, "cnp") == 149'378);
    CHECK(parameters(protocol, "tnp-d") == 222'082);
    CHECK(parameters(protocol, "tnp-kr-full") == 226'754);
    CHECK(parameters(protocol, "tnp-kr-fast") == 226'754);  // the projections are not trained
  }
  CHECK(parameters("tnp-kr/gp2d-rbf", "tnp-kr-full") == 227'010);
}
