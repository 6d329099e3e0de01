#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "npzoo/datasets/kinds/latent_gp/observation.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/datasets/protocol_text.h"
#include "tests/datasets/task_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

std::string latent_gp_message(const std::string& before, const std::string& after) {
  return error_of_protocol(replaced(protocol_text("quick/counts"), before, after));
}

/// The protocol of counts with values observed otherwise.
std::shared_ptr<const TaskConfig> observed_by(const std::string& keys) {
  return parse_protocol(replaced(protocol_text("quick/counts"), "observed = \"poisson\"\noffset = 1.0\n", keys),
                        "f.toml")
      .data;
}

}  // namespace

TEST_CASE("[latent_gp] values are of the support, and functions of the seed and the batch") {
  for (const auto& row :
       {std::pair("observed = \"poisson\"\noffset = 1.0\n", "poisson"),
        std::pair("observed = \"negative-binomial\"\noffset = 1.0\nsize = 2.0\n", "negative-binomial"),
        std::pair("observed = \"bernoulli\"\noffset = 0.0\n", "bernoulli"),
        std::pair("observed = \"beta\"\noffset = 0.0\nprecision = 0.1\n", "beta"),
        std::pair("observed = \"student-t\"\noffset = 0.0\nscale = 0.1\ndegrees = 3\n", "student-t"),
        std::pair("observed = \"log-normal\"\noffset = 0.0\nscale = 0.1\n", "log-normal"),
        std::pair("observed = \"categorical\"\noffset = 0.0\nclasses = 3\n", "categorical"),
        std::pair("observed = \"zero-inflated-poisson\"\noffset = 0.0\nzeros = 0.3\n", "zero-inflated-poisson")}) {
    const std::string name = row.second;
    CAPTURE(name);
    const auto data = observed_by(row.first);
    const Distribution& d = *find_distribution(name);
    const std::size_t count = d.parameters() == 0 ? 3 : d.parameters();
    for (const DType dtype : {DType::float32, DType::float64}) {
      const auto source = data->source({.batch_size = 4, .seed = 3, .dtype = dtype});
      const Task task = source->task(2), again = source->task(2), other = source->task(3);
      for (const Tensor& y : {task.yc, task.yt})
        for (const double value : y.to(DType::float64).values<double>()) CHECK(d.supports(count, value));
      CHECK(same_bits(task.yt, again.yt));
      CHECK(task.yt.dtype() == dtype);
      CHECK_FALSE((task.yt.shape() == other.yt.shape() && same_bits(task.yt, other.yt)));
    }
  }
}

TEST_CASE("[latent_gp] counts have the moments of their mixture") {
  constexpr double kScale = 0.5;
  const Protocol protocol = parse_protocol(
      replaced(protocol_text("quick/counts"), "scale = { uniform = [0.6, 1.2] }", "scale = 0.5"), "f.toml");
  const auto source = protocol.data->source({.batch_size = 64, .dtype = DType::float64});
  double sum = 0, squares = 0, count = 0;
  for (std::uint64_t i = 0; i < 100; ++i)
    for (const double y : source->task(i).yt.values<double>()) {
      sum += y;
      squares += y * y;
      ++count;
    }
  const double mean = std::exp(1 + kScale * kScale / 2),
               std = std::sqrt(mean + mean * mean * std::expm1(kScale * kScale));
  CHECK(sum / count == doctest::Approx(mean).epsilon(0.02));
  CHECK(std::sqrt(squares / count - std::pow(sum / count, 2)) == doctest::Approx(std).epsilon(0.04));
  CHECK(protocol.data->training_range().value_std == doctest::Approx(std).epsilon(0.01));
  CHECK(protocol.data->dim_y() == 1);
}

TEST_CASE("[latent_gp] the distribution follows from the function, and its parameters are those of the keys") {
  Observation o{&zero_inflated_poisson_distribution(), 1.5};
  o.before = {-0.5};
  CHECK(o.parameters(0.5) == std::vector{-0.5, 2.0});
  CHECK(o.draw(0.5, 0.0) == 0);
  Observation classes{&categorical_distribution(), 0};
  classes.classes = 3;
  CHECK(classes.parameters(1) == std::vector{-8.0, 0.0, 0.0});
  const Observation bounded{&beta_distribution(), 0, {}, {std::log(1e-3)}};
  CHECK(bounded.draw(0, 0.9999) == 1 - 1e-6);
}

TEST_CASE("[latent_gp] keys are checked") {
  CHECK(latent_gp_message("observed = \"poisson\"", "observed = \"gamma\"").find("observed") != std::string::npos);
  CHECK(latent_gp_message("offset = 1.0\n", "").find("offset") != std::string::npos);
  CHECK(latent_gp_message("observed = \"poisson\"", "observed = \"beta\"").find("precision") != std::string::npos);
  CHECK(latent_gp_message("observed = \"poisson\"", "observed = \"zero-inflated-poisson\"\nzeros = 1.0")
            .find("a number between 0 and 1") != std::string::npos);
}
