#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/events/event_tasks.h"
#include "npzoo/models/trials/trial.h"
#include "tests/models/renewal_model.h"
#include "tests/small_protocol.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

std::string renewal_protocol(const std::string& extent) {
  return small_protocol("events", "kind = \"events\"\ncontext = 1\n" + extent +
                                      "process = { kind = \"renewal\", gaps = { kind = \"log-normal\", mean = -0.3, "
                                      "std = 0.8 } }\n");
}

TrialOptions event_options() {
  return {.tasks = {.batch_size = 4,
                    .seed = 3,
                    .split = Split::evaluation,
                    .dtype = DType::float64,
                    .device = default_device()},
          .batches = 20,
          .density = Density::joint};
}

double event_figure(const Findings& found, const std::string& name) {
  const auto at = std::ranges::find(found.figures, name, &Figure::name);
  REQUIRE(at != found.figures.end());
  CHECK(at->how == "teacher-forced");
  return at->value.value;
}

}  // namespace

TEST_CASE("events trial: the known process has no gap to itself, ends of sequences included") {
  const RenewalModel model({1.0});
  for (const char* extent : {"events = 12\n", "end = 9.0\n"}) {
    const Protocol p = parse_protocol(renewal_protocol(extent), "f.toml");
    const Findings found = find_trial("events").run(model, *p.data, event_options());
    REQUIRE(found.lacking);
    CHECK(std::abs(found.lacking->value) <= 1e-12);
    CHECK(found.tasks == 80);
    CHECK(found.headline().name == "log_likelihood");
    CHECK(found.headline().density == Density::joint);
    const double whole = event_figure(found, "log_likelihood");
    CHECK(whole == doctest::Approx(event_figure(found, "true_log_likelihood")).epsilon(1e-12));
    CHECK(whole == doctest::Approx(event_figure(found, "time_log_likelihood")).epsilon(1e-12));
    CHECK(event_figure(found, "mark_log_likelihood") == 0);
    CHECK(event_figure(found, "mark_accuracy") == 1);
    CHECK(event_figure(found, "poisson_log_likelihood") < whole);

    const auto poisson = Poisson::fitted(p.data->as_events()->training_sequences(), 1);
    double events = 0, squares = 0, of_sums = 0, sum = 0;
    const auto source = p.data->source(event_options().tasks);
    for (std::uint64_t i = 0; i < 20; ++i)
      for (const TaskEvents& task : events_of(source->task(i))) {
        double error = 0;
        for (auto e = static_cast<std::size_t>(task.first_target); e < task.sequence.times.size(); ++e) {
          const double gap = task.sequence.times[e] - task.sequence.times[e - 1];
          const double off = gap - std::exp(kLogMean + kLogStd * kLogStd / 2);
          error += off;
          squares += off * off;
          ++events;
        }
        of_sums += error * error;
        sum += poisson->log_likelihood(task.sequence, task.first_target);
      }
    CHECK(event_figure(found, "gap_rmse") == doctest::Approx(std::sqrt(squares / events)).epsilon(1e-10));
    CHECK(event_figure(found, "gap_rmse_of_sums") == doctest::Approx(std::sqrt(of_sums / events)).epsilon(1e-10));
    CHECK(event_figure(found, "poisson_log_likelihood") == doctest::Approx(sum / events).epsilon(1e-10));
    CHECK(found.headline_lines.back().starts_with("true renewal process"));
  }
}

TEST_CASE("events trial: a fitted Hawkes process is near the one that events are drawn from") {
  const RenewalModel model({0.5, 0.5});
  const Protocol p = parse_protocol(
      small_protocol(
          "events",
          "kind = \"events\"\ncontext = 1\nevents = 40\nprocess = { kind = \"hawkes\", baseline = [0.2, 0.3], "
          "excitation = [[0.8, 0.1], [0.4, 0.5]], decay = [[1.5, 1.5], [1.5, 1.5]] }\n",
          ""),
      "f.toml");
  const Findings found = find_trial("events").run(model, *p.data, event_options());
  const double truth = event_figure(found, "true_log_likelihood"),
               fitted = event_figure(found, "hawkes_log_likelihood");
  CHECK(std::abs(truth - fitted) < 0.01);
  CHECK(event_figure(found, "poisson_log_likelihood") < fitted - 0.05);
}

TEST_CASE("events trial: marks") {
  const RenewalModel model({0.2, 0.5, 0.3});
  const std::string poisson =
      "kind = \"events\"\ncontext = 1\nevents = 12\nprocess = { kind = \"poisson\", rates = [1, "
      "2, 1] }\n";
  const Protocol p = parse_protocol(small_protocol("events", poisson), "f.toml");
  const Findings found = find_trial("events").run(model, *p.data, event_options());
  std::vector<double> counts(3);
  const auto source = p.data->source(event_options().tasks);
  for (std::uint64_t i = 0; i < 20; ++i)
    for (const TaskEvents& task : events_of(source->task(i)))
      for (std::size_t e = 1; e < 12; ++e) ++counts[static_cast<std::size_t>(task.sequence.marks[e])];
  const double events = 80 * 11;
  CHECK(event_figure(found, "mark_accuracy") == doctest::Approx(counts[1] / events));
  CHECK(event_figure(found, "mark_log_likelihood") ==
        doctest::Approx((counts[0] * std::log(0.2) + counts[1] * std::log(0.5) + counts[2] * std::log(0.3)) / events));
  CHECK(event_figure(found, "time_log_likelihood") + event_figure(found, "mark_log_likelihood") ==
        doctest::Approx(event_figure(found, "log_likelihood")).epsilon(1e-12));
}

TEST_CASE("events trial: the same on any number of threads, and of the headline alone") {
  const RenewalModel model({1.0});
  const Protocol p = parse_protocol(renewal_protocol("end = 9.0\n"), "f.toml");
  const auto figures = [&](int threads, bool headline_only) {
    const ThreadCount count(threads);
    TrialOptions options = event_options();
    options.headline_only = headline_only;
    std::vector<double> all;
    for (const Figure& f : find_trial("events").run(model, *p.data, options).figures) all.push_back(f.value.value);
    return all;
  };
  const std::vector<double> one = figures(1, false);
  CHECK(figures(3, false) == one);
  CHECK(figures(9, false) == one);
  CHECK(figures(3, true) == std::vector<double>{one[0]});
}

TEST_CASE("events trial: errors") {
  const Protocol events = parse_protocol(renewal_protocol("events = 12\n"), "f.toml"), gp = load_protocol("quick/gp1d");
  const auto run = [](const Model& model, const Protocol& p) {
    return error_of([&] { find_trial("events").run(model, *p.data, event_options()); });
  };
  CHECK(run(RenewalModel({1.0}), gp) ==
        "[events] the tasks are not sequences of events, expected tasks such as those of events/hawkes");
  const auto cnp = varied_model(model_spec(events, "cnp"));
  CHECK(run(*cnp, events) == "[events] the model does not predict events, expected one that does, such as thp-plus");
}

TEST_CASE("event prediction: scores of each are those of all together, and intensities integrate to survival") {
  const NextEvent each = events_of(raw(DType::float64));
  const Tensor y = some_events();
  const EventScores scores = each.score(y);
  const std::vector<double> whole = doubles(each.log_likelihood(y));
  for (std::size_t i = 0; i < whole.size(); ++i)
    CHECK(scores.time.values<double>()[i] + scores.mark.values<double>()[i] ==
          doctest::Approx(whole[i]).epsilon(1e-12));
  const Tensor end = each.score(events(0.7, -1)).time;
  CHECK(difference(end, each.log_survival(Tensor::full({2, 3}, 0.7, DType::float64))) <= 1e-14);
  CHECK(difference(each.score(events(0, -1)).time, Tensor::zeros({2, 3}, DType::float64)) <= 1e-14);

  CHECK(error_of([&] { each.score(events(1, kMarks)); }) ==
        "[prediction] mark 4 found, expected one of 0 … 3, or -1 for an end");

  constexpr std::int64_t kSteps = 4000;  // of the midpoint rule, whose error is quadratic in their length
  Tensor elapsed = Tensor::empty({2, 3, kSteps}, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < elapsed.numel(); ++i)
    elapsed.data<double>()[i] = 0.7 * (static_cast<double>(i % kSteps) + 0.5) / kSteps;
  const Tensor hazard = each.intensities(elapsed);
  CHECK(hazard.shape() == Shape{2, 3, kSteps, kMarks});
  for (std::int64_t target = 0; target < 6; ++target) {
    double integral = 0;
    for (std::int64_t i = 0; i < kSteps * kMarks; ++i)
      integral += hazard.data<double>()[target * kSteps * kMarks + i] * 0.7 / kSteps;
    CHECK(-integral == doctest::Approx(doubles(end)[static_cast<std::size_t>(target)]).epsilon(1e-5));
  }
}
