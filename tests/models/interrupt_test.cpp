#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "npzoo/models/trials/likelihood.h"
#include "tests/models/stops.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// A run of a small form of a model.
TrainingRun run_of(const std::string& model, const RunOptions& options = {}) {
  TrainingRun run = small_run(options);
  run.spec = small_model(model);
  if (model == "tnp-kr-fast") run.spec.config["redraw_every"] = std::int64_t{2};
  return run;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Lines of metrics without the seconds.
std::vector<std::string> metrics_of_run(const std::filesystem::path& out) {
  std::vector<std::string> lines;
  std::ifstream file(out / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    nlohmann::json fields = nlohmann::json::parse(line);
    fields.erase("seconds");
    lines.push_back(fields.dump());
  }
  return lines;
}

}  // namespace

TEST_CASE("trainer: an interrupted step leaves everything as before, and is then made with the same bits") {
  for (const std::string model : {"tnp-d", "tnp-kr-fast", "taylorformer", "informer"}) {
    CAPTURE(model);
    const TrainingRun run = run_of(model);
    Trainer whole(run);
    for (int i = 0; i < 6; ++i) whole.step();
    const Checkpoint before = whole.checkpoint();
    const int looks = looks_of([&] { whole.step(); });
    const Checkpoint after = whole.checkpoint();
    CHECK(looks > 10);
    int stopped = 0;
    for (const int n : instants(looks, 8)) {
      CAPTURE(n);
      Trainer trainer(before);
      if (interrupted(n, [&] { trainer.step(); })) {
        ++stopped;
        CHECK(trainer.steps_done() == 6);
        CHECK(same_state(trainer.checkpoint(), before));
        trainer.step();
      }
      CHECK(same_state(trainer.checkpoint(), after));
    }
    CHECK(stopped >= 6);  // a request that comes while only the next batch is being made waits for the next step
  }
}

TEST_CASE("trainer: an interrupted validation changes nothing") {
  Trainer trainer(small_run({.keep = "best", .validate_every = 5}));
  for (int i = 0; i < 5; ++i) trainer.step();
  const Checkpoint before = trainer.checkpoint();
  const int looks = looks_of([&] { Trainer(before).validate(); });
  for (const int n : instants(looks / 2, 5)) {
    CAPTURE(n);
    CHECK(interrupted(n, [&] { trainer.validate(); }));
    CHECK(same_state(trainer.checkpoint(), before));
  }
  trainer.validate();
  CHECK(trainer.best_step() == 5);
}

TEST_CASE("trainer: a snapshot keeps its weights during further training") {
  const TrainingRun run = run_of("tnp-kr-fast");
  Trainer trainer(run);
  for (int i = 0; i < 3; ++i) trainer.step();
  const Task task = random_task(trainer.model(), {}, DType::float32);
  const Moments expected = predict(trainer.model(), task);
  const auto snapshot = trainer.snapshot();
  for (int i = 0; i < 3; ++i) trainer.step();
  const Moments kept = predict(*snapshot, task);
  CHECK(same_bits(kept.mean, expected.mean));
  CHECK(same_bits(kept.std, expected.std));
  CHECK_FALSE(same_bits(predict(trainer.model(), task).mean, expected.mean));
}

TEST_CASE("train: interrupted at any instant it can be resumed, and is the run that was never stopped") {
  const TemporaryDirectory directory;
  const TrainingRun run = small_run({.steps = 60, .keep = "best", .validate_every = 10});
  const int looks = looks_of([&] { train_to(run, {.out = directory / "whole"}); });
  const Checkpoint expected = checkpoint_in(directory / "whole");
  for (const int n : instants(looks, 12)) {
    CAPTURE(n);
    const auto out = directory / std::to_string(n);
    interrupted(n, [&] { train_to(run, {.out = out}); });
    train_to(run, {.out = out, .resume = true});
    CHECK(same_state(checkpoint_in(out), expected));
    CHECK(metrics_of_run(out) == metrics_of_run(directory / "whole"));
    CHECK(text_of(out / "checkpoint.safetensors").size() > 0);
    CHECK(std::distance(std::filesystem::directory_iterator(out), {}) == 2);  // no temporary file is left
  }
}

TEST_CASE("train: a stop token saves a checkpoint of all steps that were made") {
  struct StopAtStep final : TrainObserver {
    void on_step(std::int64_t step, double) override {
      if (step == 5) source.request_stop();
    }
    std::stop_source source;
  };
  const TemporaryDirectory directory;
  const TrainingRun run = small_run();
  StopAtStep observer;
  CHECK_THROWS_AS(train(run, {.stop = observer.source.get_token(), .out = directory / "run"}, observer), Interrupted);
  CHECK(checkpoint_in(directory / "run").step == 5);
}

TEST_CASE("interrupt: predictions and evaluations stop at any instant, and the next call has the right bits") {
  for (const std::string name : {"tnp-a", "tnp-buffer", "cmanp-and", "convcnp", "tnp-kr-fast", "thp"}) {
    CAPTURE(name);
    const auto model = varied_model(small_model(name));
    const Task task = random_task(*model, {});
    const auto answer = [&] {
      const auto prediction = model->query(*condition(*model, context_of(task)), task.xt);
      Draws draws = some_draws();
      return std::vector<Tensor>{prediction->marginals().mean, prediction->joint_log_likelihood(task.yt),
                                 prediction->sample(3, draws)};
    };
    const std::vector<Tensor> expected = answer();
    for (const int n : instants(looks_of([&] { answer(); }), 6)) {
      CAPTURE(n);
      CHECK(interrupted(n, [&] { answer(); }));
      CHECK(same_bits(answer(), expected));
    }
  }
  const TrainingRun run = small_run();
  const auto model = make_model(run.spec);
  const auto source =
      run.protocol.data->source({.batch_size = 4, .seed = 3, .split = Split::evaluation, .device = default_device()});
  const auto score = [&] { return evaluate(*model, *source, {.batches = 5}).log_likelihood; };
  const double expected = score();
  for (const int n : instants(looks_of(score), 6)) {
    CAPTURE(n);
    CHECK(interrupted(n, score));
    CHECK(score() == expected);
  }
}
