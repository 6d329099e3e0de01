#include <doctest/doctest.h>

#include "npzoo/datasets/model_config.h"
#include "npzoo/engine/error.h"

using namespace npzoo;

namespace {

const ModelConfig kConfig{{"width", std::int64_t{64}}, {"rate", 0.5}, {"bias", true}, {"std", std::string("exp")}};

}  // namespace

TEST_CASE("[model config] typed values, an integer serves as a number, fallbacks") {
  ConfigReader reader(kConfig, "m");
  CHECK(reader.size("width", "") == 64);
  CHECK(reader.number("width", "", kFinite) == 64.0);
  CHECK(reader.number("rate", "", kFinite) == 0.5);
  CHECK(reader.get<bool>("bias", ""));
  CHECK(reader.get<std::string>("std", "") == "exp");
  CHECK(reader.choice("std", "", {"exp", "softplus"}) == "exp");
  CHECK(reader.size("absent", "", 3) == 3);
  CHECK(reader.number("rate", "", kFinite, 3.0) == 0.5);
  CHECK(reader.choice("absent", "", {"exp", "softplus"}, "softplus") == "softplus");
  CHECK_NOTHROW(reader.finish());
}

TEST_CASE("[model config] missing keys, wrong types and leftovers are named") {
  ConfigReader reader(kConfig, "m");
  CHECK_THROWS_WITH_AS(reader.depth("depth", ""), "[m] depth is missing, expected an integer", Error);
  CHECK_THROWS_WITH_AS(reader.size("rate", ""), "[m] rate is 0.5, expected an integer", Error);
  CHECK_THROWS_WITH_AS(reader.get<bool>("width", ""), "[m] width is 64, expected true or false", Error);
  CHECK_THROWS_WITH_AS(reader.number("std", "", kFinite), "[m] std is exp, expected a number", Error);
  CHECK_THROWS_WITH_AS(reader.get<std::string>("bias", "", "x"), "[m] bias is true, expected a string", Error);

  CHECK_THROWS_WITH_AS(reader.choice("std", "", {"a", "b", "c"}), "[m] std 'exp' found, expected a, b or c", Error);
  CHECK_THROWS_WITH_AS(reader.expect(false, "[m] width is {}", 64), "[m] width is 64", Error);

  ConfigReader hasty(kConfig, "m");
  CHECK_THROWS_WITH_AS(hasty.finish(), "[m] bias is an unknown key, expected one of: none", Error);
  hasty.number("rate", "", kFinite);
  hasty.size("width", "");
  hasty.get<bool>("bias", "");
  CHECK_THROWS_WITH_AS(hasty.finish(), "[m] std is an unknown key, expected one of: bias, rate, width", Error);
}
