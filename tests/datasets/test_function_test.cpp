#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "npzoo/datasets/kinds/test_function/functions.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/datasets/task_config.h"
#include "npzoo/datasets/toml_reader.h"
#include "npzoo/ops/concat/concat.h"
#include "tests/datasets/task_fixtures.h"
#include "tests/small_protocol.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

const TestFunction& function(std::string_view name) {
  return *std::ranges::find(test_functions(), name, &TestFunction::name);
}

double at(std::string_view name, const std::vector<double>& x) { return function(name).value(x); }

std::shared_ptr<const TaskConfig> tasks_of(const std::string& keys) {
  return read_task_config(TomlReader("kind = \"test_function\"\n" + keys, "[data]"));
}

std::shared_ptr<const TaskConfig> branin(std::int64_t candidates, std::int64_t initial = 3) {
  return tasks_of("function = \"branin\"\ndims = 2\ncandidates = " + std::to_string(candidates) +
                  "\ninitial = " + std::to_string(initial) + "\ndomain = [-1.0, 3.0]");
}

SourceOptions options(std::uint64_t seed = 1, Split split = Split::evaluation) {
  return {.batch_size = 4, .seed = seed, .split = split, .dtype = DType::float64};
}

}  // namespace

TEST_CASE("test functions: minima as published, at the places that they have them") {
  const auto near = [](double value) { return doctest::Approx(value).epsilon(1e-6); };
  CHECK(std::abs(at("ackley", {0, 0, 0})) < 1e-12);
  CHECK(at("branin", {std::numbers::pi, 2.275}) == near(0.39788736));
  CHECK(at("branin", {-std::numbers::pi, 12.275}) == near(0.39788736));
  CHECK(at("cosine", {0, 0, 0, 0}) == near(-0.4));
  CHECK(at("drop-wave", {0, 0}) == near(-1));
  CHECK(at("goldstein-price", {0, -1}) == near(3));
  CHECK(at("hartmann-3", {0.114614, 0.555649, 0.852547}) == near(-3.86278215));
  CHECK(at("hartmann-6", {0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573}) == near(-3.32236801));
  CHECK(std::abs(at("levy", {1, 1, 1})) < 1e-12);
  CHECK(at("michalewicz", {2.202906, 1.570796}) == near(-1.80130341));
  CHECK(std::abs(at("rastrigin", {0, 0})) < 1e-12);
  CHECK(at("rosenbrock", {1, 1, 1}) == 0);
}

TEST_CASE("test functions: values elsewhere, worked out by hand") {
  const auto near = [](double value) { return doctest::Approx(value).epsilon(1e-12); };
  CHECK(at("ackley", {1, 1}) == near(20 - 20 * std::exp(-0.2)));
  CHECK(at("branin", {0, 6}) == near(10 * (1 - 1 / (8 * std::numbers::pi)) + 10));
  CHECK(at("cosine", {1, 0.5}) == near(1 + 0.1 + 0.25));
  CHECK(at("drop-wave", {3, 4}) == near(-(1 + std::cos(60.)) / 14.5));
  CHECK(at("goldstein-price", {0, 0}) == near(600));
  CHECK(at("levy", {5, 5}) == near(1 + 10 * std::pow(std::sin(2 * std::numbers::pi + 1), 2) + 1));
  CHECK(at("rastrigin", {0.5, 1}) == near(10 + 0.25 + 10 + 1));
  CHECK(at("rosenbrock", {0, 1}) == near(101));
}

TEST_CASE("test functions: no place of the box is below the minimum, and each is read by its name") {
  for (const TestFunction& f : test_functions()) {
    CAPTURE(f.name);
    const std::int64_t dims = f.dims == 0 ? 2 : f.dims;
    const auto config = tasks_of("function = \"" + std::string(f.name) + "\"\ndims = " + std::to_string(dims) +
                                 "\ncandidates = 4000\ninitial = 1\ndomain = [0.0, 1.0]");
    CHECK(config->dim_x() == dims);
    const Task task = config->source(options())->task(0);
    const auto y = task.yt.values<double>();
    double sum = 0, squares = 0;
    for (const double v : y) {
      REQUIRE(std::isfinite(v));
      sum += v;
      squares += v * v;
    }
    const auto n = static_cast<double>(y.size());
    // Sobol points of other seeds than those of which the mean is 0 and the deviation 1.
    CHECK(std::abs(sum / n) < 0.05);
    CHECK(squares / n == doctest::Approx(1).epsilon(0.1));
  }
}

TEST_CASE("test function tasks: places of their own, values of the function there") {
  const auto config = branin(64);
  const auto source = config->source(options());
  const Task task = source->task(0);
  CHECK(task.xc.shape() == Shape{4, 3, 2});
  CHECK(task.xt.shape() == Shape{4, 64, 2});
  CHECK(task.yt.shape() == Shape{4, 64, 1});
  // Two values and their places tell shift and scale; all others must agree.
  const auto value_at = [](const Tensor& x, std::size_t i) {
    const auto place = x.values<double>().subspan(2 * i, 2);
    return at("branin", {-5 + 15 * (place[0] + 1) / 4, 15 * (place[1] + 1) / 4});
  };
  const auto y = task.yt.values<double>(), yc = task.yc.values<double>();
  const double scale = (value_at(task.xt, 1) - value_at(task.xt, 0)) / (y[1] - y[0]),
               shift = value_at(task.xt, 0) - scale * y[0];
  for (std::size_t i = 0; i < y.size(); ++i)
    CHECK(shift + scale * y[i] == doctest::Approx(value_at(task.xt, i)).epsilon(1e-9));
  for (std::size_t i = 0; i < yc.size(); ++i)
    CHECK(shift + scale * yc[i] == doctest::Approx(value_at(task.xc, i)).epsilon(1e-9));
  for (const double x : task.xt.values<double>()) CHECK((-1 <= x && x < 3));
  CHECK(same_bits(source->task(0).xt, task.xt));
  CHECK_FALSE(same_bits(source->task(1).xt, task.xt));
  CHECK_FALSE(same_bits(config->source(options(2))->task(0).xt, task.xt));
  CHECK_FALSE(same_bits(config->source(options(1, Split::training))->task(0).xc, task.xc));
  CHECK_FALSE(same_bits(slice(task.xt, 0, 0, 1), slice(task.xt, 0, 1, 2)));
}

TEST_CASE("test function tasks: errors") {
  const auto error = [](const std::string& keys) { return error_of([&] { tasks_of(keys); }); };
  const std::string rest = "\ncandidates = 10\ninitial = 1\n";
  CHECK(error("function = \"branin\"\ndims = 3\ndomain = [0.0, 1.0]" + rest).find("branin") != std::string::npos);
  CHECK(error("function = \"branin\"\ndims = 2\ndomain = [1.0, 1.0]" + rest).find("low < high") != std::string::npos);
  CHECK(error("function = \"ackley\"\ndims = 21\ndomain = [0.0, 1.0]" + rest).find("dims") != std::string::npos);
  CHECK(error("function = \"ackley\"\ndims = 2\ndomain = [0.0, 1.0]\ncandidates = 10\ninitial = 0").find("initial") !=
        std::string::npos);
}

TEST_CASE("protocols: a test may be of another kind of tasks, with as many inputs") {
  const Protocol protocol = load_protocol("tnp/bo2d");
  CHECK(protocol.evaluation.tests.size() == 9);
  CHECK(protocol.evaluation.tests.at(0).data->source(options())->task(0).xt.shape() == Shape{4, 1000, 2});
  CHECK(protocol.data->source(options())->task(0).xt.dim(2) == 2);
  const auto with_test = [](int dims) {
    const std::string of =
        "kind = \"test_function\"\nfunction = \"ackley\"\ncandidates = 9\ninitial = 1\n"
        "domain = [-2.0, 2.0]\ndims = ";
    return small_protocol("other", of + "2\n", "[evaluation.tests.data]\n" + of + std::to_string(dims) + "\n");
  };
  CHECK(parse_protocol(with_test(2), "other").evaluation.tests.at(0).data->dim_x() == 2);
  CHECK(error_of([&] { parse_protocol(with_test(3), "other"); }).find("3 inputs and 1 values per point") !=
        std::string::npos);
  const Protocol three = load_protocol("tnp/bo3d");
  CHECK(three.data->dim_x() == 3);
  CHECK(three.evaluation.tests.at(0).name == "hartmann-3");
}
