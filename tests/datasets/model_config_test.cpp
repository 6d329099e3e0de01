#include <doctest/doctest.h>

#include "npzoo/datasets/model_config.h"
#include "npzoo/engine/error.h"

using namespace npzoo;

namespace {

const ModelConfig kConfig{{"width", std::int64_t{64}}, {"rate", 0.5}, {"bias", true}, {"std", std::string("exp")}};

}  // namespace

TEST_CASE("[model config] typed values, an integer serves as a number, fallbacks") {
  ConfigReader reader(kConfig, "m");
  CHECK(reader.get<std::int64_t>("width") == 64);
  CHECK(reader.get<double>("width") == 64.0);
  CHECK(reader.get<double>("rate") == 0.5);
  CHECK(reader.get<bool>("bias"));
  CHECK(reader.get<std::string>("std") == "exp");
  CHECK(reader.get<std::int64_t>("absent", 3) == 3);
  CHECK(reader.get<double>("rate", 3.0) == 0.5);
  CHECK_NOTHROW(reader.finish());
}

TEST_CASE("[model config] missing keys, wrong types and leftovers are named") {
  ConfigReader reader(kConfig, "m");
  CHECK_THROWS_WITH_AS(reader.get<std::int64_t>("depth"), "[m] depth is missing, expected an integer", Error);
  CHECK_THROWS_WITH_AS(reader.get<std::int64_t>("rate"), "[m] rate is 0.5, expected an integer", Error);
  CHECK_THROWS_WITH_AS(reader.get<bool>("width"), "[m] width is 64, expected true or false", Error);
  CHECK_THROWS_WITH_AS(reader.get<double>("std"), "[m] std is exp, expected a number", Error);
  CHECK_THROWS_WITH_AS(reader.get<std::string>("bias", "x"), "[m] bias is true, expected a string", Error);

  ConfigReader hasty(kConfig, "m");
  CHECK_THROWS_WITH_AS(hasty.finish(), "[m] bias is an unknown key, expected one of: none", Error);
  hasty.get<double>("rate");
  hasty.get<std::int64_t>("width");
  hasty.get<bool>("bias");
  CHECK_THROWS_WITH_AS(hasty.finish(), "[m] std is an unknown key, expected one of: bias, rate, width", Error);
}
