#include "npzoo/models/training/run_request.h"

#include <doctest/doctest.h>

#include <fstream>

#include "npzoo/models/training/trainer.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

class SilentObserver final : public TrainObserver {};

}  // namespace

TEST_CASE("run request: the protocol gives the rest") {
  const Protocol protocol = load_protocol("quick/gp1d");
  const TrainingRun plain = describe_run({.protocol = "quick/gp1d", .model = "cnp"}).run;
  CHECK((plain.protocol.training == protocol.training && plain.protocol.validation == protocol.validation));
  CHECK((plain.spec == model_spec(protocol, "cnp") && plain.seed == 0 && !plain.init));
  const TrainingRun run = describe_run({.protocol = "quick/gp1d",
                                        .changes = {"training.clip_norm=3.0"},
                                        .model = "tnp-d",
                                        .steps = 7,
                                        .batch_size = 2,
                                        .validation_batches = 1,
                                        .lr = 0.5,
                                        .seed = 9})
                              .run;
  const TrainingConfig& training = run.protocol.training;
  CHECK((training.steps == 7 && training.batch_size == 2 && training.clip_norm == 3 && training.optimiser.lr == 0.5));
  CHECK((run.protocol.validation.batches == 1 && run.seed == 9 && run.spec.name == "tnp-d"));
}

TEST_CASE("run request: a run on an own table is trained, gone on with and written down") {
  const TemporaryDirectory directory;
  const std::filesystem::path table = directory / "t.csv";
  std::ofstream out(table);
  out << "g,x,y\n";
  for (int row = 0; row < 120; ++row) out << row / 12 << ',' << row % 12 << ',' << row % 5 << '\n';
  out.close();
  const RunRequest request{.own = OwnData{OwnTable{table, "g", {"x"}, {"y"}}},
                           .changes = {"models.tnp-d.num_layers=1", "data.points=12"},
                           .model = "tnp-d",
                           .steps = 2,
                           .batch_size = 2};
  const DescribedRun described = describe_run(request);
  CHECK((described.skipped.empty() && described.run.protocol.name.starts_with("t.csv --set ")));
  SilentObserver observer;
  const TrainResult result = train(described.run, {.out = directory / "run"}, observer);
  CHECK(result.finished);
  CHECK(begun_run(result.checkpoint, request).spec == described.run.spec);
  CHECK(error_of([&] { begun_run(result.checkpoint, {.seed = 4}); }).find("began with seed 0, now it is 4") !=
        std::string::npos);
  write_run_config(described.run, directory / "run", 2);
  std::ifstream written(directory / "run/protocol.toml");
  const std::string text{std::istreambuf_iterator<char>(written), {}};
  CHECK(text == described.run.protocol.text);
}
