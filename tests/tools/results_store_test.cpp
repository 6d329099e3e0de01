#include "tools/reproduce/results_store.h"

#include <doctest/doctest.h>

#include <cmath>

#include "npzoo/datasets/expectation.h"
#include "npzoo/engine/io/json.h"
#include "tools/cli/json_tree.h"

using namespace npzoo;
using namespace npzoo::tools;
using nlohmann::json;

namespace {

JsonValue run_of(const Protocol& protocol, std::uint64_t seed, const json& more) {
  json result = {{"test", "rbf"},
                 {"log_likelihood", 1.40},
                 {"standard_error", 0.013},
                 {"version", protocol_version(protocol, "rbf", "tnp-d")}};
  result.update(more);
  return json_value({{"model", "tnp-d"}, {"seed", seed}, {"steps", 100'000}, {"results", {result}}});
}

json row_of(const Protocol& protocol, const std::vector<JsonValue>& runs) {
  return make_store(protocol, runs).tree().value.at("rows").at(0);
}

}  // namespace

TEST_CASE("results store: rows have the figure with the smaller error, and the plain one as well") {
  const Protocol protocol = load_protocol("tnp/gp-rbf");
  const StoredExpectation* stored =
      find_expectation(built_in_expectations(), protocol, protocol.evaluation.tests[0]).stored;
  REQUIRE(stored);
  const auto& [value, error] = *stored->expectation.marginal;
  const json gap = {{"exact_gap", 0.139}, {"exact_gap_error", 0.002}},
             wide = {{"exact_gap", 0.139}, {"exact_gap_error", 0.5}};

  const json one = row_of(protocol, {run_of(protocol, 0, gap)});
  CHECK(one.at("controlled") == true);
  CHECK(one.at("ours").get<double>() == doctest::Approx(value - 0.139).epsilon(1e-12));
  CHECK(one.at("task_error").get<double>() == doctest::Approx(std::hypot(error, 0.002)));
  CHECK(one.at("standard_error") == one.at("task_error"));
  CHECK(one.at("plain") == 1.40);
  CHECK(one.at("plain_task_error") == 0.013);
  // The published figure keeps the noise of its own tasks.
  CHECK(one.at("half_interval").get<double>() > 1.96 * 0.013);
  CHECK(one.at("half_interval").get<double>() < 1.96 * 0.0145);

  // Without the gap, with a larger error, or if a run lacks it, the plain figure stays.
  const std::vector<JsonValue> plain[] = {{run_of(protocol, 0, json::object())},
                                          {run_of(protocol, 0, wide)},
                                          {run_of(protocol, 0, gap), run_of(protocol, 1, json::object())}};
  for (const auto& runs : plain) {
    const json row = row_of(protocol, runs);
    CHECK(row.at("controlled") == false);
    CHECK(row.at("ours").get<double>() == doctest::Approx(1.40));
    CHECK(row.at("task_error").get<double>() == doctest::Approx(0.013));
  }
}
