#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <vector>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/ranks/job.h"
#include "tests/models/training_fixtures.h"
#include "tests/thread_ranks.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// A run of a small form of a model, of batches that are worked through in `tasks` parts.
TrainingRun run_of(const std::string& model, std::int64_t tasks, const RunOptions& options = {}) {
  TrainingRun run = small_run(options);
  run.spec = small_model(model);
  if (model == "tnp-kr-fast") run.spec.config["redraw_every"] = std::int64_t{2};
  if (default_device() == Device::cuda)
    run.protocol = with_changes(run.protocol, std::vector<std::string>{"training.parts=4"});
  run.protocol.training.batch_size = tasks;
  return run;
}

void check_nothing_thrown(const std::vector<std::exception_ptr>& thrown) {
  for (const std::exception_ptr& e : thrown)
    if (e) CHECK_NOTHROW(std::rethrow_exception(e));
}

}  // namespace

TEST_CASE("ranks: any number of them trains the weights that one process trains, to the bit") {
  for (const std::string model : {"tnp-d", "np", "tnp-kr-fast", "bnp", "cmanp"})
    for (const std::int64_t tasks : {3, 4, 7}) {
      CAPTURE(model);
      CAPTURE(tasks);
      const TrainingRun run = run_of(model, tasks);
      Trainer alone(run);
      std::vector<double> losses;
      for (int i = 0; i < 4; ++i) losses.push_back(alone.step());
      const Checkpoint expected = alone.checkpoint();
      for (const int size : {2, 3, 4}) {
        CAPTURE(size);
        std::vector<Checkpoint> found(static_cast<std::size_t>(size));
        std::vector<std::vector<double>> seen(found.size());
        check_nothing_thrown(on_ranks(size, [&](Ranks& ranks) {
          Job job(ranks);
          Trainer trainer(run, &job);
          const auto rank = static_cast<std::size_t>(ranks.rank());
          for (int i = 0; i < 4; ++i) seen[rank].push_back(trainer.step());
          found[rank] = trainer.checkpoint();
        }));
        for (const auto& of_rank : seen) CHECK(of_rank == losses);
        for (const Checkpoint& c : found) CHECK(same_state(c, expected));
      }
    }
}

TEST_CASE("ranks: large models, whose gradients are summed in slices, train to the same bits") {
  TrainingRun run = run_of("tnp-d", 4);
  run.spec = model_spec(load_protocol("tnp/gp-rbf"), "tnp-d");
  Trainer alone(run);
  for (int i = 0; i < 2; ++i) alone.step();
  for (const int size : {2, 3, 4}) {
    CAPTURE(size);
    check_nothing_thrown(on_ranks(size, [&](Ranks& ranks) {
      Job job(ranks);
      Trainer trainer(run, &job);
      for (int i = 0; i < 2; ++i) trainer.step();
      CHECK(same_state(trainer.checkpoint(), alone.checkpoint()));
    }));
  }
}

TEST_CASE("ranks: a protocol may tell the parts of a batch, which decide the bits on any device") {
  TrainingRun run = run_of("tnp-d", 6);
  std::vector<Checkpoint> found;
  for (const std::int64_t parts : {1, 3, 100}) {
    run.protocol.training.parts = parts;
    Trainer alone(run);
    alone.step();
    found.push_back(alone.checkpoint());
    check_nothing_thrown(on_ranks(2, [&](Ranks& ranks) {
      Job job(ranks);
      Trainer trainer(run, &job);
      trainer.step();
      CHECK(same_state(trainer.checkpoint(), found.back()));
    }));
  }
  CHECK_FALSE(same_state(found[0], found[1]));
  CHECK_FALSE(same_state(found[1], found[2]));  // 6 parts, one for each task
}

TEST_CASE("ranks: on a GPU they share a batch only where the protocol says in how many parts") {
  if (default_device() != Device::cuda) return;
  TrainingRun run = run_of("tnp-d", 4);
  run.protocol.training.parts = 0;
  for (const auto& thrown : on_ranks(2, [&](Ranks& ranks) {
         Job job(ranks);
         Trainer trainer(run, &job);
       })) {
    REQUIRE(thrown);
    CHECK(
        error_of([&] { std::rethrow_exception(thrown); }) ==
        "[train] 2 ranks on CUDA devices found, where a batch is one part; expected --set training.parts=NUMBER, with "
        "which any number of ranks has the same bits");
  }
}

TEST_CASE("ranks: a training leaves the files of one process, and goes on with another number of ranks") {
  const TemporaryDirectory directory;
  const TrainingRun run = run_of("tnp-d", 4, {.steps = 24, .keep = "best", .validate_every = 8});
  train_to(run, {.out = directory / "alone"});
  const Checkpoint expected = checkpoint_in(directory / "alone");
  const std::filesystem::path out = directory / "together";
  const auto train_with = [&](int size, std::int64_t stop_after) {
    return on_ranks(size, [&](Ranks& ranks) {
      Job job(ranks);
      train_to(run, {.out = out, .resume = true, .job = &job}, ranks.rank() == 0 ? stop_after : 0);
    });
  };
  const auto stopped = train_with(3, 5);
  CHECK(stopped[0] == nullptr);
  for (const std::size_t rank : {1, 2}) {
    REQUIRE(stopped[rank]);
    CHECK_THROWS_AS(std::rethrow_exception(stopped[rank]), Interrupted);
  }
  CHECK(checkpoint_in(out).step == 5);
  check_nothing_thrown(train_with(2, 0));
  CHECK(same_state(checkpoint_in(out), expected));
  CHECK(std::distance(std::filesystem::directory_iterator(out), {}) == 2);  // checkpoint and metrics
}

TEST_CASE("ranks: an interruption of any rank at any instant leaves a run that can be resumed to the same bits") {
  const TemporaryDirectory directory;
  const TrainingRun run = run_of("tnp-d", 4, {.steps = 12, .keep = "best", .validate_every = 4});
  train_to(run, {.out = directory / "alone"});
  const Checkpoint expected = checkpoint_in(directory / "alone");
  for (const int stopped_rank : {0, 1})
    for (const int look : {1, 40, 400, 1000}) {
      CAPTURE(stopped_rank);
      CAPTURE(look);
      const auto out = directory / fmt::format("{}-{}", stopped_rank, look);
      on_ranks(2, [&](Ranks& ranks) {
        std::atomic<int> looks = 0;
        const StopScope stop([&] { return ranks.rank() == stopped_rank && ++looks >= look; });
        Job job(ranks);
        train_to(run, {.out = out, .job = &job});
      });
      train_to(run, {.out = out, .resume = true});
      CHECK(same_state(checkpoint_in(out), expected));
    }
}

TEST_CASE("ranks: an error of one rank ends the training of all") {
  const TemporaryDirectory directory;
  const TrainingRun run = run_of("tnp-d", 4);
  const auto thrown = on_ranks(2, [&](Ranks& ranks) {
    Job job(ranks);
    // Rank 0 finds a run there already; rank 1 does not look.
    if (ranks.rank() == 0) train_to(run, {.out = directory / "run"});
    train_to(run, {.out = directory / "run", .job = &job});
  });
  REQUIRE(thrown[0]);
  REQUIRE(thrown[1]);
  CHECK_THROWS_AS(std::rethrow_exception(thrown[1]), OtherRankError);
}

TEST_CASE("ranks: those whose runs differ do not train") {
  const TemporaryDirectory directory;
  const auto thrown = on_ranks(2, [&](Ranks& ranks) {
    TrainingRun run = run_of("tnp-d", 4);
    run.seed = static_cast<std::uint64_t>(ranks.rank());
    Job job(ranks);
    train_to(run, {.out = directory / "run", .job = &job});
  });
  for (const auto& e : thrown) {
    REQUIRE(e);
    CHECK_THROWS_AS(std::rethrow_exception(e), OtherRankError);
  }
}
