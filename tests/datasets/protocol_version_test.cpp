#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>

#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/error.h"

using namespace npzoo;

namespace {

const std::string& text() {
  static const std::string text = load_protocol("tnp/gp-rbf").text;
  return text;
}

/// After the first `marker`, if there is one, `before` becomes `after`.
std::string changed(std::string_view before, std::string_view after, std::string_view marker = "") {
  std::string result = text();
  const std::size_t at = result.find(before, result.find(marker));
  REQUIRE(at != std::string::npos);
  return result.replace(at, before.size(), after);
}

std::string version(const std::string& text, const char* test = "rbf", const char* model = "tnp-d") {
  return protocol_version(parse_protocol(text, "f.toml"), test, model);
}

}  // namespace

TEST_CASE("[protocol version] changes with the rules of a figure") {
  std::set<std::string> versions{version(text()), version(text(), "matern52"), version(text(), "rbf", "cnp"),
                                 version(text(), "rbf", "gpt")};
  CHECK(versions.size() == 4);
  for (const std::string& other : {
           changed("domain = [-2.0, 2.0]", "domain = [-2.0, 2.5]"),
           changed("lengthscale = { uniform = [0.1, 0.6] }", "lengthscale = { uniform = [0.1, 0.7] }", "[data]"),
           changed("lengthscale = { uniform = [0.1, 0.6] }", "lengthscale = { uniform = [0.1, 0.7] }", "[[evaluation"),
           changed("lengthscale = { uniform = [0.1, 0.6] }", "lengthscale = { beta = [3, 7] }", "[[evaluation"),
           changed("context_noise = 0.02", "context_noise = 0.020000000000000004"),
           changed("shared = false", "shared = true"),
           changed("steps = 100_000", "steps = 100_001"),
           changed("batch_size = 16", "batch_size = 17", "[training]"),
           changed("lr = 5e-4", "lr = 6e-4"),
           changed("name = \"adam\"", "name = \"yogi\""),
           changed("every = 5000", "every = 1000"),
           changed("seed = 0", "seed = 1", "[validation]"),
           changed("batches = 3000", "batches = 3001"),
           changed("batch_size = 16", "batch_size = 17", "[evaluation]"),
           changed("seed = 0", "seed = 1", "[evaluation]"),
           changed("num_layers = 6", "num_layers = 5", "[models.tnp-d]"),
           changed("bound_std = false", "bound_std = true", "[models.tnp-d]"),
       })
    CHECK(versions.insert(version(other)).second);
}

TEST_CASE("[protocol version] does not change with comments on a figure") {
  const std::string before = version(text());
  for (const std::string& same : {
           "# a comment\n" + text(),
           changed("name = \"tnp/gp-rbf\"", "name = \"mine\""),
           changed("description = \"1D", "description = \"2D"),
           changed("Rules: ", "The rules: "),
           changed("bayes_diagonal = 1.459", "bayes_diagonal = 1.5"),
           changed("standard_error = 0.005", ""),
           changed("tnp-d = [1.39, 0.00]", "tnp-d = [1.38, 0.01]"),
           changed("metric = \"log-likelihood\"", "metric = \"nll\""),
           changed("tnp-a = \"joint\"", ""),
           changed("uniform = [0.1, 0.6]", "uniform = [0.2, 0.6]", "name = \"matern52\""),
           changed("dim_hid = 128", "dim_hid = 64", "[models.cnp]"),
           changed("steps = 100_000", "steps = 100000"),
           changed("lr = 5e-4", "lr = 0.0005"),
           changed("domain = [-2.0, 2.0]", "domain = [-2, 2.00]"),
           changed("dims = 1\ndomain = [-2.0, 2.0]", "domain = [-2.0, 2.0]\ndims = 1"),
           changed("clip_norm = 0.0", "clip_norm = -0.0"),
       })
    CHECK(version(same) == before);
  CHECK(version(changed("name = \"matern52\"", "name = \"m\""), "m") == version(text(), "matern52"));
}

// Results are kept with these, on whatever machine they were measured. Another one here takes them all out of the
// tables.
TEST_CASE("[protocol version] is the same everywhere") {
  CHECK(version(text()) == "3e87c1d0254f38e0acdb0db40b7adae6");
  CHECK_THROWS_WITH_AS(version(text(), "cosine"), "[protocol] tnp/gp-rbf has no test 'cosine'", Error);
}
