#include <doctest/doctest.h>

#include "npzoo/models/trials/trial.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Values that an option of a model must refuse or work with.
const std::vector<ModelConfig::mapped_type>& hostile_values() {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max(), kLeast = std::numeric_limits<std::int64_t>::min();
  static const std::vector<ModelConfig::mapped_type> values{std::int64_t{-1},
                                                            std::int64_t{0},
                                                            kMost,
                                                            kLeast,
                                                            -1.0,
                                                            0.0,
                                                            0.5,
                                                            1e308,
                                                            -1e308,
                                                            1e15,
                                                            1e-30,
                                                            1e-320,
                                                            kNaN,
                                                            kInfinity,
                                                            -kInfinity,
                                                            true,
                                                            false,
                                                            std::string(),
                                                            std::string("x")};
  return values;
}

bool is_one_line(const std::string& message) {
  return message.starts_with("[") && message.find('\n') == std::string::npos && message.size() < 300;
}

std::string text_of(const ModelConfig::mapped_type& value) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

/// Returns "" if the model refuses the options with one line, or if its loss is finite.
std::string fault_of(const ModelSpec& spec) {
  try {
    const auto model = make_model(spec);
    const Tensor loss_now = loss(*model, random_task(*model, {1, 3, 2}, DType::float32));
    return all_finite(loss_now) ? "" : "the loss is not finite";
  } catch (const Error& error) {
    return is_one_line(error.what()) ? "" : error.what();
  }
}

}  // namespace

TEST_CASE("model: every option refuses hostile values or works with them") {
  std::int64_t refused = 0, tried = 0;
  for (const ModelCase& c : small_models()) {
    if (std::get<std::int64_t>(c.spec.config.at("dim_x")) != 1) continue;
    if (model_info(c.spec.name).takes != TaskForm::events && std::get<std::int64_t>(c.spec.config.at("dim_y")) != 1)
      continue;
    for (const auto& option : c.spec.config)
      for (const auto& value : hostile_values()) {
        const std::string& key = option.first;
        ModelSpec spec = c.spec;
        spec.config[key] = value;
        ++tried;
        CHECK_MESSAGE(fault_of(spec) == "", c.label, ", ", key, " = ", text_of(value));
        refused += error_of([&] { make_model(spec); }) != "no error";
      }
  }
  CHECK(refused > tried / 2);
}

TEST_CASE("model: min_std is 0 or a size that float32 can square") {
  for (const std::string name : {"canp", "banp", "np", "tnp-kr-fast", "tnp-d", "convcnp"}) {
    for (const ModelCase& c : small_models()) {
      if (c.spec.name != name || !c.spec.config.contains("min_std")) continue;
      for (const double bad : {-1.0, -5.0, 1e-30, 9.2e18}) {
        ModelSpec spec = c.spec;
        spec.config["min_std"] = bad;
        CHECK(error_of([&] { make_model(spec); }) ==
              fmt::format("[{}] min_std is {}, expected 0 or a number from 1e-9 to 1e6", name, bad));
      }
    }
  }
  ModelSpec deep = small_model("lbanp-nd");
  deep.config["diag_depth"] = std::numeric_limits<std::int64_t>::min();
  CHECK(error_of([&] { make_model(deep); }) ==
        "[lbanp-nd] diag_depth is -9223372036854775808, expected an integer from 1 to 1024");
}

TEST_CASE("trial: rules are checked without a model") {
  for (const std::string& name : protocol_names()) {
    const EvaluationConfig e = load_protocol(name).evaluation;
    CHECK_MESSAGE(error_of([&] { find_trial(e.trial).check_rules(e.rules); }) == "no error", name);
  }
  const auto error_with = [](const char* trial, const ModelConfig& rules) {
    return error_of([&] { find_trial(trial).check_rules(rules); });
  };
  CHECK(error_with("likelihood", {{"steps", true}}) ==
        "[evaluation.rules] steps is an unknown key, expected one of: none");
  CHECK(error_with("events", {{"last", std::string("x")}}).starts_with("[evaluation.rules] last is an unknown key"));
  CHECK(error_with("bandit", {}) == "[bandit] policy is missing, expected a string");
  ModelConfig rules = load_protocol("tnp/wheel").evaluation.rules;
  rules["last"] = std::string("x");
  CHECK(error_with("bandit", rules) == "[bandit] last is x, expected an integer");
  CHECK(error_with("orders", {{"orders", std::int64_t{1}}}) == "[orders] orders = 1 found, expected 2 or more");
}
