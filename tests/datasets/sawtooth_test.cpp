#include "npzoo/datasets/kinds/sawtooth/source.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "npzoo/datasets/protocol.h"
#include "npzoo/datasets/protocol_text.h"
#include "tests/datasets/task_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

std::string sawtooth_message(const std::string& before, const std::string& after) {
  return error_of_protocol(replaced(protocol_text("convcnp/sawtooth"), before, after));
}

}  // namespace

TEST_CASE("[sawtooth] the series is a ramp from 0 to 1 that falls at every whole cycle and a half") {
  // With many terms it is t − ⌊t⌋ where t = frequency · (x + shift) + ½; the rest of the series is below
  // 1 / (π terms · 2 |sin(π t)|).
  constexpr std::int64_t kTerms = 4000;
  for (const double x : {-1.7, -0.3, 0.0, 0.21, 1.9})
    for (const double frequency : {3.0, 4.37})
      for (const double shift : {-5.0, 0.0, 2.3}) {
        const double t = frequency * (x + shift) + 0.5, tooth = t - std::floor(t);
        const double rest = 1 / (2 * std::numbers::pi * kTerms * std::abs(std::sin(std::numbers::pi * t)));
        if (rest > 1e-2) continue;
        CHECK(std::abs(sawtooth(x, frequency, shift, kTerms) - tooth) <= 2 * rest + 1e-10);
      }
  // One term is a sine.
  CHECK(sawtooth(0.1, 3, 0, 1) == doctest::Approx(0.5 + std::sin(0.6 * std::numbers::pi) / std::numbers::pi));
}

TEST_CASE("[sawtooth] tasks of convcnp/sawtooth are waves of their own, with so many points as theirs") {
  const auto source = load_protocol("convcnp/sawtooth").data->source({.batch_size = 3, .dtype = DType::float64});
  std::set<std::int64_t> contexts, targets;
  double low = 1, high = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const Batch batch = source->batch(i);
    CHECK_FALSE(batch.truth);
    const Task& task = batch.task;
    contexts.insert(task.xc.dim(1));
    targets.insert(task.xt.dim(1));
    for (const double y : task.yc.values<double>()) {
      low = std::min(low, y);
      high = std::max(high, y);
    }
    for (const Tensor& x : {task.xc, task.xt})
      CHECK(std::ranges::all_of(x.values<double>(), [](double at) { return -2 <= at && at < 2; }));
  }
  CHECK((*contexts.begin() == 3 && *contexts.rbegin() == 100));
  CHECK((*targets.begin() == 3 && *targets.rbegin() == 100));
  // Ten terms or more overshoot the jump by less than a tenth of it (Gibbs).
  CHECK((-0.1 < low && low < 0.05 && 0.95 < high && high < 1.1));
}

TEST_CASE("[sawtooth] context and targets of a task are values of one wave, with a period from 1/5 to 1/3") {
  const auto source = load_protocol("convcnp/sawtooth").data->source({.batch_size = 8, .dtype = DType::float64});
  for (std::uint64_t i = 0; i < 4; ++i) {
    const Task task = source->batch(i).task;
    for (std::int64_t b = 0; b < 8; ++b) {
      const auto error = [&](double frequency, double shift, std::int64_t terms) {
        double worst = 0;
        for (const auto& [x, y] : {std::pair{task.xc, task.yc}, std::pair{task.xt, task.yt}})
          for (std::int64_t k = b * x.dim(1); k < (b + 1) * x.dim(1); ++k)
            worst =
                std::max(worst, std::abs(sawtooth(x.data<double>()[k], frequency, shift, terms) - y.data<double>()[k]));
        return worst;
      };
      // Draws are those of the batch's stream: sizes, then frequency, shift, terms and points of each task.
      Random random(0, static_cast<std::uint64_t>(Split::training) << 56 | i);
      random.integer(3, 101);
      random.integer(3, 101);
      double frequency = 0, shift = 0;
      std::int64_t terms = 0;
      for (std::int64_t before = 0; before <= b; ++before) {
        frequency = random.uniform(3, 5);
        shift = random.uniform(-5, 5);
        terms = random.integer(10, 21);
        for (std::int64_t k = 0; k < task.xc.dim(1) + task.xt.dim(1); ++k) random.uniform(-2, 2);
      }
      CHECK(error(frequency, shift, terms) == 0);
      CHECK(error(frequency * 1.01, shift, terms) > 1e-3);
    }
  }
}

TEST_CASE("[sawtooth] waves of sconvcnp/sawtooth have heights from 1 to 2 around 0") {
  const auto data = load_protocol("sconvcnp/sawtooth").data;
  const auto source = data->source({.batch_size = 4, .dtype = DType::float64});
  double squares = 0, count = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Task task = source->batch(i).task;
    CHECK((3 <= task.xc.dim(1) && task.xc.dim(1) <= 50 && 3 <= task.xt.dim(1) && task.xt.dim(1) <= 50));
    Random random(0, static_cast<std::uint64_t>(Split::training) << 56 | i);
    random.integer(3, 51);
    random.integer(3, 51);
    const double frequency = random.uniform(3, 5), shift = random.uniform(-5, 5);
    const std::int64_t terms = random.integer(10, 21);
    const double height = random.uniform(1, 2);
    for (std::int64_t k = 0; k < task.xc.dim(1); ++k)
      CHECK(task.yc.data<double>()[k] ==
            doctest::Approx(height * (sawtooth(task.xc.data<double>()[k], frequency, shift, terms) - 0.5))
                .epsilon(1e-12));
    for (const double y : task.yt.values<double>()) {
      squares += y * y;
      ++count;
    }
  }
  CHECK(std::sqrt(squares / count) == doctest::Approx(data->training_range().value_std).epsilon(0.03));
}

TEST_CASE("[sawtooth] keys are read strictly") {
  CHECK(sawtooth_message("frequency = [3.0, 5.0]", "frequency = [5.0, 3.0]")
            .ends_with("data.frequency is [5, 3], expected low < high"));
  CHECK(sawtooth_message("frequency = [3.0, 5.0]", "frequency = [0.0, 3.0]").find("data.frequency") !=
        std::string::npos);
  CHECK(sawtooth_message("shift = [-5.0, 5.0]", "shift = [1.0, 1.0]")
            .ends_with("data.shift is [1, 1], expected low < high"));
  CHECK(sawtooth_message("domain = [-2.0, 2.0]", "domain = 3").find("data.domain") != std::string::npos);
  CHECK(sawtooth_message("terms = [10, 21]", "terms = [0, 21]").find("data.terms") != std::string::npos);
  CHECK(sawtooth_message("context = [3, 101]", "context = [3, 3]").find("data.context") != std::string::npos);
  CHECK(sawtooth_message("target_count = [3, 101]", "target_count = [0, 3]").find("data.target_count") !=
        std::string::npos);
  CHECK(sawtooth_message("terms = [10, 21]", "terms = [10, 21]\nheights = [2.0, 1.0]")
            .ends_with("data.heights is [2, 1], expected low < high"));
  CHECK(sawtooth_message("terms = [10, 21]", "terms = [10, 21]\namplitude = 2.0")
            .find("data.amplitude is an unknown key") != std::string::npos);
}
