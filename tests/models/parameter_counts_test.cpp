#include <doctest/doctest.h>

#include "models/registry.h"

using namespace npzoo;

namespace {

std::int64_t parameters(const std::string& protocol, const std::string& model) {
  const auto made = make_model(model_spec(load_protocol(protocol), model));
  return count_elements(named_parameters(*made));
}

}  // namespace

TEST_CASE("parameter counts: those of the authors' code") {
  CHECK(parameters("tnp/gp-rbf", "cnp") == 215'682);
  CHECK(parameters("tnp/gp-rbf", "tnp-d") == 222'082);
  for (const std::string protocol : {"tnp-kr/gp1d-rbf", "tnp-kr/gp1d-matern", "tnp-kr/gp1d-periodic"}) {
    CAPTURE(protocol);
    CHECK(parameters(protocol, "cnp") == 149'378);
    CHECK(parameters(protocol, "tnp-d") == 222'082);
    CHECK(parameters(protocol, "tnp-kr-full") == 226'754);
  }
  CHECK(parameters("tnp-kr/gp2d-rbf", "tnp-kr-full") == 227'010);
}
