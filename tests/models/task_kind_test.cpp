#include <doctest/doctest.h>

#include "npzoo/models/trials/likelihood.h"
#include "tests/models/training_fixtures.h"
#include "tests/toy_tasks.h"

using namespace npzoo;
using namespace npzoo::testing;

// A kind of tasks that is no Gaussian process: models are trained and scored on it as on any other.

TEST_CASE("task kind: a model has the dimensions of its tasks") {
  const AddedTaskFamily added(kLines);
  const Protocol protocol = parse_protocol(lines_protocol(), "f.toml");
  const auto model = make_model(model_spec(protocol, "cnp"));
  CHECK(model->dim_x() == 1);
  CHECK(model->dim_y() == 2);
}

TEST_CASE("task kind: training, resumed in the middle of an epoch, ends as it would have") {
  const AddedTaskFamily added(kLines);
  const TemporaryDirectory directory;
  const Protocol protocol = parse_protocol(lines_protocol(), "f.toml");
  const TrainingRun run{protocol, model_spec(protocol, "cnp"), 7};
  CHECK(train_to(run, {.out = directory / "whole"}).finished);
  train_to(run, {.out = directory / "parts"}, 3);
  CHECK(train_to(run, {.out = directory / "parts", .resume = true}).finished);
  CHECK(same_state(checkpoint_in(directory / "whole"), checkpoint_in(directory / "parts")));
}

TEST_CASE("task kind: a validation sees a finite set once, and says so beforehand") {
  const AddedTaskFamily added(kLines);
  const TemporaryDirectory directory;
  Protocol protocol = parse_protocol(lines_protocol(), "f.toml");
  protocol.validation.batches = 50;
  StopAfter observer;
  CHECK(train({protocol, model_spec(protocol, "cnp"), 7}, {.out = directory / "run"}, observer).finished);
  CHECK(observer.validation_batches == std::vector<std::int64_t>{0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(observer.batches_to_come == 3);
}

TEST_CASE("task kind: a finite test set is scored once, and without a truth nothing is exact") {
  const AddedTaskFamily added(kLines);
  const Protocol protocol = parse_protocol(lines_protocol(), "f.toml");
  const auto model = make_model(model_spec(protocol, "cnp"), {.seed = 1});
  const auto source = protocol.data->source({.batch_size = 4, .split = Split::evaluation, .device = default_device()});
  std::int64_t seen = 0;
  const Evaluation e = evaluate(
      *model, *source,
      {.batches = 100, .exact_batches = 100, .context = true, .progress = [&](std::int64_t done) { seen = done; }});
  CHECK(seen == 3);
  CHECK(e.tasks == 10);
  CHECK(std::isfinite(e.log_likelihood));
  CHECK(std::isfinite(e.context_rmse));
  CHECK(e.exact_batches == 0);
  CHECK(std::isnan(e.exact_gp));
  CHECK(std::isnan(e.exact_gap));
  CHECK(evaluate(*model, *source, {.batches = 2}).tasks == 8);
}
