#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "tests/forked.h"
#include "tests/gpu.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr std::int64_t kTrainSteps = 12;
constexpr const char* kTrained[] = {"tnp-kr-fast", "taylorformer"};  // random features, running statistics
constexpr const char* kAsked[] = {"tnp-a", "tnp-buffer", "cmanp-and", "banp",       "convcnp",
                                  "anp",   "thp",        "tnp-nd",    "tnp-kr-fast"};

TrainingRun run_beside_others(const char* model) {
  TrainingRun run = small_run();
  run.spec = small_model(model);
  if (std::string_view(model) == "tnp-kr-fast") run.spec.config["redraw_every"] = std::int64_t{3};
  return run;
}

/// Trains and calls `stepped` after each step.
template <class F>
Checkpoint trained_beside_others(const char* model, const F& stepped) {
  Trainer trainer(run_beside_others(model));
  while (trainer.steps_done() < kTrainSteps) {
    trainer.step();
    stepped();
  }
  trainer.validate();
  return trainer.checkpoint();
}

/// Draws the weights of a model and returns its answers.
std::vector<Tensor> answers_of(const char* name) {
  const auto model = varied_model(small_model(name));
  const Task task = random_task(*model, {});
  const auto prediction = model->query(*condition(*model, context_of(task)), task.xt);
  Draws draws = some_draws();
  return {prediction->marginals().mean, prediction->joint_log_likelihood(task.yt), prediction->sample(3, draws),
          loss(*model, task)};
}

}  // namespace

TEST_CASE("threads: two trainers, eight predictors and a forked child have the bits that they have alone") {
  const ThreadCount workers(3);
  std::vector<Checkpoint> expected_states, states(std::size(kTrained));
  for (const char* model : kTrained) expected_states.push_back(trained_beside_others(model, [] {}));
  std::vector<std::vector<Tensor>> expected;
  for (const char* model : kAsked) expected.push_back(answers_of(model));

  std::atomic<int> steps = 0, wrong = 0, rounds = 0;
  std::atomic<bool> done = false;
  std::vector<std::thread> trainers, predictors;
  for (std::size_t i = 0; i < std::size(kTrained); ++i)
    trainers.emplace_back([&, i] { states[i] = trained_beside_others(kTrained[i], [&] { ++steps; }); });
  for (std::size_t i = 0; i < std::size(kAsked); ++i)
    predictors.emplace_back([&, i] {
      do {
        wrong += !same_bits(answers_of(kAsked[i]), expected[i]);
        ++rounds;
      } while (!done);
    });
  while (steps < 4) std::this_thread::yield();
  if (kForksAmongThreads && !on_hardware_gpu())  // where a child may not use the GPU of its parent
    CHECK(status_of_child([&] { return same_bits(answers_of(kAsked[0]), expected[0]) ? 0 : 1; }) == 0);
  for (std::thread& trainer : trainers) trainer.join();
  done = true;
  for (std::thread& predictor : predictors) predictor.join();
  CHECK(wrong == 0);
  CHECK(rounds >= std::ssize(kAsked));
  for (std::size_t i = 0; i < std::size(kTrained); ++i) CHECK(same_state(states[i], expected_states[i]));
}
