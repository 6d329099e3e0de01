#include "npzoo/engine/optim/schedule.h"

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;
using doctest::Approx;

TEST_CASE("schedule: constant") {
  for (std::int64_t step : {0, 7, 99}) CHECK(learning_rate({.kind = ScheduleKind::constant}, 5e-4, step, 100) == 5e-4);
}

TEST_CASE("schedule: cosine, with and without a warm-up") {
  const auto at = [](std::int64_t warmup, std::int64_t step) {
    return learning_rate({.kind = ScheduleKind::cosine, .warmup_steps = warmup}, 2, step, 100);
  };
  CHECK(at(0, 0) == 2);
  CHECK(at(0, 50) == Approx(1));
  CHECK(at(0, 25) == Approx(1 + std::sqrt(0.5)));
  CHECK(at(0, 100) == Approx(0));
  CHECK(at(3, 0) == Approx(0.5));
  CHECK(at(3, 2) == Approx(1.5));
  CHECK(at(3, 3) == 2);
  CHECK(at(20, 60) == Approx(1));
  // As long as the run: no step is after it.
  CHECK(at(100, 0) == Approx(2 / 101.0));
  CHECK(at(100, 99) == Approx(200 / 101.0));
}

TEST_CASE("schedule: one cycle") {
  const auto at = [](double warmup, std::int64_t step) {
    return learning_rate({.kind = ScheduleKind::one_cycle, .warmup = warmup, .divisor = 25, .final_divisor = 1e4}, 2,
                         step, 100);
  };
  CHECK(at(0.3, 0) == Approx(0.08));
  CHECK(at(0.3, 15) == Approx(1.04));
  CHECK(at(0.3, 30) == 2);
  CHECK(at(0.3, 65) == Approx(1.000004));
  CHECK(at(0.3, 100) == Approx(8e-6));
  CHECK(at(0, 0) == 2);
}

TEST_CASE("schedule: up, then down") {
  for (const ScheduleConfig& schedule :
       {ScheduleConfig{.kind = ScheduleKind::cosine, .warmup_steps = 20},
        ScheduleConfig{.kind = ScheduleKind::one_cycle, .warmup = 0.2, .divisor = 10, .final_divisor = 100}}) {
    double before = 0;
    for (std::int64_t step = 0; step < 100; ++step) {
      const double rate = learning_rate(schedule, 1, step, 100);
      CHECK((step <= 20 ? rate > before : rate < before));
      CHECK(rate <= 1);
      before = rate;
    }
  }
}

TEST_CASE("schedule: halved after two epochs, and after each one that follows") {
  const ScheduleConfig schedule{.kind = ScheduleKind::halving, .first = 20, .every = 10};
  const auto at = [&](std::int64_t step) { return learning_rate(schedule, 1, step, 100); };
  for (const std::int64_t step : {0, 19}) CHECK(at(step) == 1);
  for (const std::int64_t step : {20, 29}) CHECK(at(step) == 0.5);
  CHECK(at(30) == 0.25);
  CHECK(at(99) == 1.0 / 256);
  CHECK(learning_rate({.kind = ScheduleKind::halving, .first = 1, .every = 1}, 1, 1'000'000'000, 1'000'000'001) <
        1e-300);
}

TEST_CASE("schedule: errors") {
  CHECK(error_of([] { schedule_kind("step"); }) ==
        "[schedule] 'step' found, expected constant, cosine, halving or one-cycle");
}
