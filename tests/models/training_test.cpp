#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "npzoo/engine/io/file.h"
#include "npzoo/models/training/pretrained.h"
#include "npzoo/models/trials/likelihood.h"
#include "tests/models/training_fixtures.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;
using nlohmann::json;

namespace {

/// Lines of metrics without the one thing that differs from run to run.
std::vector<json> metrics_in(const fs::path& out) {
  std::vector<json> lines;
  std::ifstream file(out / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    lines.push_back(json::parse(line));
    lines.back().erase("seconds");
  }
  return lines;
}

Checkpoint after_steps(const TrainingRun& run, std::int64_t steps, int threads) {
  const ThreadCount count(threads);
  Trainer trainer(run);
  for (std::int64_t i = 0; i < steps; ++i) trainer.step();
  return trainer.checkpoint();
}

}  // namespace

TEST_CASE("trainer: the same bits for every number of threads") {
  const TrainingRun run = small_run();
  const Checkpoint expected = after_steps(run, 20, 1);
  for (const int threads : {1, 2, 3, 5}) {
    CAPTURE(threads);
    CHECK(same_state(after_steps(run, 20, threads), expected));
  }
  TrainingRun other = run;
  other.seed = 8;
  CHECK_FALSE(same_bits(after_steps(other, 20, 1).weights, expected.weights));
}

TEST_CASE("trainer: a checkpoint continues with the same bits, and later steps do not change it") {
  const TrainingRun run = small_run();
  Trainer trainer(run);
  for (int i = 0; i < 7; ++i) trainer.step();
  const Checkpoint seventh = trainer.checkpoint();
  const Weights copy = [&] {
    Weights weights;
    for (const auto& [name, tensor] : seventh.weights) weights[name] = tensor.clone();
    return weights;
  }();
  for (int i = 7; i < 20; ++i) trainer.step();
  CHECK(trainer.finished());
  CHECK(same_bits(seventh.weights, copy));

  Trainer resumed(seventh);
  CHECK(resumed.steps_done() == 7);
  while (!resumed.finished()) resumed.step();
  CHECK(same_state(resumed.checkpoint(), trainer.checkpoint()));
}

TEST_CASE("trainer: gradients are clipped to the norm of the protocol") {
  // After one step of Adam the first moment is a tenth of the gradient.
  const auto norm_of_gradient = [](const std::string& clip_norm) {
    double squares = 0;
    for (const auto& [name, moment] : after_steps(small_run({.clip_norm = clip_norm}), 1, 1).first_moments)
      for (double m : doubles(moment)) squares += m * m;
    return std::sqrt(squares) / 0.1;
  };
  const double whole = norm_of_gradient("0.0");
  CHECK(whole > 0.1);
  CHECK(norm_of_gradient("0.01") == doctest::Approx(0.01).epsilon(1e-5));
  CHECK(norm_of_gradient("1e6") == whole);
}

TEST_CASE("train: a run stopped anywhere and resumed is the run that was never stopped") {
  const TemporaryDirectory directory;
  const TrainingRun run = small_run({.steps = 120, .validate_every = 40});
  const TrainResult whole = train_to(run, {.out = directory / "whole"});
  CHECK(whole.finished);
  CHECK(whole.steps == 120);
  const Checkpoint expected = checkpoint_in(directory / "whole");
  const auto expected_metrics = metrics_in(directory / "whole");
  CHECK(expected_metrics.size() == 3 + 3);  // losses at 50, 100, 120; validations at 40, 80, 120

  using Stops = std::vector<std::int64_t>;
  for (const std::int64_t stop : on_emulated_gpu() ? Stops{40, 77} : Stops{1, 39, 40, 50, 77, 119}) {
    CAPTURE(stop);
    const fs::path out = directory / std::to_string(stop);
    const TrainResult part = train_to(run, {.out = out}, stop);
    CHECK_FALSE(part.finished);
    CHECK(part.steps == stop);
    const TrainResult rest = train_to(run, {.out = out, .resume = true});
    CHECK(rest.finished);
    CHECK(rest.loss == whole.loss);
    CHECK(rest.log_likelihood == whole.log_likelihood);
    CHECK(same_state(checkpoint_in(out), expected));
    CHECK(metrics_in(out) == expected_metrics);
  }
}

TEST_CASE("train: metrics of a latent model have the divergence, which changes nothing") {
  const TemporaryDirectory directory;
  const TrainingRun run = small_run({.model = "np", .preset = R"(
architecture = "tnp"
dim_hid = 8
dim_lat = 3
enc_pre_depth = 2
enc_post_depth = 2
dec_depth = 2
)"});
  train_to(run, {.out = directory / "whole"});
  const auto lines = metrics_in(directory / "whole");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].at("kl_divergence").get<double>() > 0);
  CHECK(same_state(checkpoint_in(directory / "whole"), after_steps(run, 20, 1)));
  train_to(small_run(), {.out = directory / "other"});
  CHECK_FALSE(metrics_in(directory / "other").at(0).contains("kl_divergence"));
}

TEST_CASE("train: figures at the context, where the protocol wants them, change nothing else") {
  const TemporaryDirectory directory;
  TrainingRun run = small_run({.validate_every = 10});
  train_to(run, {.out = directory / "without"});
  run.protocol = with_changes(run.protocol, std::vector<std::string>{"validation.at_context=true"});
  train_to(run, {.out = directory / "with", .tensorboard = true});
  auto with = metrics_in(directory / "with"), without = metrics_in(directory / "without");
  REQUIRE(with.size() == 3);  // validations after 10 and 20, losses after 20
  std::vector<double> rmse, log_likelihood;
  for (auto& line : with) {
    if (!line.contains("validation_log_likelihood")) continue;
    rmse.push_back(line.at("validation_context_rmse").get<double>());
    log_likelihood.push_back(line.at("validation_context_log_likelihood").get<double>());
    line.erase("validation_context_rmse");
    line.erase("validation_context_log_likelihood");
  }
  REQUIRE(rmse.size() == 2);
  CHECK(rmse[0] != rmse[1]);
  CHECK(with == without);
  const Checkpoint trained = checkpoint_in(directory / "with"), plain = checkpoint_in(directory / "without");
  CHECK(same_bits(trained.weights, plain.weights));

  // They are the figures that an evaluation of the same tasks has.
  const Findings all =
      find_trial("likelihood")
          .run(*restore_model(trained), *run.protocol.data,
               {.tasks = {.batch_size = 4, .seed = 0, .split = Split::validation, .device = default_device()},
                .batches = 3});
  const auto value = [&](const std::string& name) {
    return std::ranges::find(all.figures, name, &Figure::name)->value.value;
  };
  CHECK(value("context_rmse") == doctest::Approx(rmse[1]).epsilon(1e-6));
  CHECK(value("context_log_likelihood") == doctest::Approx(log_likelihood[1]).epsilon(1e-6));
  CHECK(read_text(directory / "with" / "events.out.tfevents.npzoo").find("validation/context_rmse") !=
        std::string::npos);
}

TEST_CASE("train: metrics of steps that a crash took back are dropped") {
  const TemporaryDirectory directory;
  const TrainingRun run = small_run({.steps = 120});
  train_to(run, {.out = directory / "whole"});
  const fs::path out = directory / "crashed";
  train_to(run, {.out = out}, 60);
  std::ofstream(out / "metrics.jsonl", std::ios::app) << "{\"loss\": 1.0, \"step\": 100}\n{\"loss\": 1.0, \"st";
  train_to(run, {.out = out, .resume = true});
  CHECK(metrics_in(out) == metrics_in(directory / "whole"));
}

TEST_CASE("train: resuming a finished run changes nothing, resuming none begins one") {
  const TemporaryDirectory directory;
  const TrainingRun run = small_run();
  train_to(run, {.out = directory / "a", .resume = true});
  const Checkpoint first = checkpoint_in(directory / "a");
  const auto metrics = metrics_in(directory / "a");
  const TrainResult again = train_to(run, {.out = directory / "a", .resume = true});
  CHECK(again.finished);
  CHECK(again.steps == 20);
  CHECK(same_state(checkpoint_in(directory / "a"), first));
  CHECK(metrics_in(directory / "a") == metrics);
}

TEST_CASE("train: another run is refused and the first left alone") {
  const TemporaryDirectory directory;
  const fs::path out = directory / "run";
  const TrainingRun run = small_run();
  train_to(run, {.out = out}, 5);
  const std::string path = (out / "checkpoint.safetensors").string(), before = read_text(path);

  CHECK(error_of([&] { train_to(run, {.out = out}); }) ==
        "[train] " + path + " exists; resume that run with --resume or choose another --out");
  const auto refused = [&](const TrainingRun& other) {
    const std::string message = error_of([&] { train_to(other, {.out = out, .resume = true}); });
    CHECK(read_text(path) == before);
    return message;
  };
  const auto expected = [&](const std::string& what) {
    return "[train] " + path + " began with " + what + "; resume it unchanged or choose another --out";
  };
  TrainingRun other = run;
  other.seed = 8;
  CHECK(refused(other) == expected("seed 7, now it is 8"));
  CHECK(refused(small_run({.steps = 30})) == expected("steps 20, now it is 30"));
  other = run;
  other.protocol.training.batch_size = 5;
  CHECK(refused(other) == expected("batch size 4, now it is 5"));
  other = run;
  other.protocol.training.optimiser.lr = 0.5;
  CHECK(refused(other) == expected("learning rate 0.001, now it is 0.5"));
  other = run;
  other.spec.name = "cnp";
  CHECK(refused(other) == expected("model tnp-d, now it is cnp"));
  other = run;
  other.protocol.name = "large";
  CHECK(refused(other) == expected("protocol small, now it is large"));
  CHECK(refused(small_run({.clip_norm = "2.0"})) ==
        "[train] " + path + " began under another version of protocol small; choose another --out");
  other.protocol = parse_protocol("# other published rows\n" + run.protocol.text, "small");
  CHECK(train_to(other, {.out = out, .resume = true}).finished);
}

TEST_CASE("train: the best validation is kept") {
  const TemporaryDirectory directory;
  // A learning rate that makes the loss jump about, so that the last weights are not the best.
  const TrainingRun run = small_run({.steps = 40, .lr = "0.3", .keep = "best", .validate_every = 4});
  StopAfter observer;
  const TrainResult result = train(run, {.out = directory / "run"}, observer);
  const auto best = std::ranges::max_element(observer.validations, {}, [](const auto& v) { return v.second; });
  CHECK(observer.validations.size() == 10);
  REQUIRE(best->first < 40);

  const Checkpoint c = checkpoint_in(directory / "run");
  CHECK(c.best_step == best->first);
  CHECK(c.best_log_likelihood == best->second);
  CHECK(result.log_likelihood == best->second);
  const auto validation = run.protocol.data->source(
      {run.protocol.training.batch_size, 0, Split::validation, DType::float32, default_device()});
  CHECK(evaluate(*restore_model(c), *validation, {.batches = 3}).log_likelihood == best->second);

  Checkpoint last = c;
  last.run.protocol.training.keep_best = false;
  CHECK(evaluate(*restore_model(last), *validation, {.batches = 3}).log_likelihood == observer.validations.at(40));
}

TEST_CASE("train: weights that a run begins with are kept if no update improves them") {
  const TemporaryDirectory directory;
  StopAfter observer;
  train(small_run({.steps = 30, .lr = "1e-2"}), {.out = directory / "first"}, observer);
  const std::string weights = (directory / "first" / "checkpoint.safetensors").string();
  TrainingRun run = small_run({.steps = 8, .lr = "0.3", .keep = "best", .validate_every = 4});
  begin_with(run, weights);
  StopAfter next;
  const TrainResult result = train(run, {.out = directory / "next"}, next);
  CHECK(next.validations.size() == 3);
  CHECK(result.best_step == 0);
  CHECK(result.log_likelihood == next.validations.at(0));
  CHECK(same_bits(checkpoint_in(directory / "next").best_weights, load_checkpoint(weights).weights));

  run.protocol.training.keep_best = false;
  StopAfter last;
  CHECK(train(run, {.out = directory / "last"}, last).best_step == 8);
  CHECK(!last.validations.contains(0));
}

TEST_CASE("train: a loss that is not finite ends the run and keeps the last usable checkpoint") {
  int kept = 0;
  for (const std::string lr : {"1e-3", "3", "1e38"})
    for (const std::string clip_norm : {"0.0", "1.0"})
      for (const std::int64_t every : {1, 3}) {
        CAPTURE(lr);
        CAPTURE(clip_norm);
        CAPTURE(every);
        const TemporaryDirectory directory;
        const TrainingRun run = small_run({.steps = 6, .lr = lr, .clip_norm = clip_norm});
        const std::string message =
            error_of([&] { train_to(run, {.out = directory / "run", .checkpoint_every = every}); });
        const bool failed = message != "no error";
        if (lr == "1e-3") CHECK_FALSE(failed);
        if (lr == "1e38") CHECK(message.starts_with("[train] the "));
        if (failed) CHECK(message.ends_with("; a lower learning rate may help"));
        if (!fs::exists(directory / "run" / "checkpoint.safetensors")) continue;
        kept += failed;
        const Checkpoint c = checkpoint_in(directory / "run");
        CHECK(c.step % every == 0);
        Trainer(c).check_usable();
      }
  CHECK(kept > 0);
}

TEST_CASE("trainer: a finite loss with a gradient that is not finite changes nothing") {
  for (const char* clip_norm : {"0.0", "1.0"}) {
    CAPTURE(clip_norm);
    Checkpoint c = Trainer(small_run({.clip_norm = clip_norm})).checkpoint();
    // All points look alike, so that every layer norm multiplies gradients by 1/√epsilon, and the predicted standard
    // deviation is e⁻³⁸.
    for (auto& [name, weights] : c.weights) {
      const bool keep = name.find("norm") != std::string::npos || name.starts_with("predictor.");
      weights = keep ? weights.clone() : Tensor::zeros_like(weights);
    }
    Tensor& weight = c.weights.at("predictor.layers.1.weight");
    std::ranges::fill(weight.values<float>().last(static_cast<std::size_t>(weight.dim(1))), 0.f);
    c.weights.at("predictor.layers.1.bias").values<float>()[1] = -38;
    Trainer trainer(c);
    const std::string message = error_of([&] { trainer.step(); });
    CHECK(message.starts_with("[train] the norm of the gradients became "));
    CHECK(message.ends_with(" in step 1; a lower learning rate may help"));
    CHECK(trainer.steps_done() == 0);
    CHECK(same_state(trainer.checkpoint(), c));
  }
}

TEST_CASE("train: the last step is looked at as every other") {
  const TemporaryDirectory directory;
  TrainingRun run = small_run({.lr = "1e38"});
  set_steps(run.protocol, 1);
  const std::string message = error_of([&] { train_to(run, {.out = directory / "run"}); });
  CHECK(message.starts_with("[train] the loss became "));
  CHECK(message.ends_with(" after step 1; a lower learning rate may help"));
  CHECK_FALSE(fs::exists(directory / "run" / "checkpoint.safetensors"));
}

TEST_CASE("train: a run of fewer steps than its protocol's warms up for fewer") {
  const auto warmup = [](std::int64_t all, std::int64_t steps) {
    Protocol protocol = small_run({.steps = 1000}).protocol;
    protocol.training.schedule = {.kind = ScheduleKind::cosine, .warmup_steps = all};
    set_steps(protocol, steps);
    const TrainingConfig& t = protocol.training;
    const double last = learning_rate(t.schedule, 1, steps - 1, steps), first = learning_rate(t.schedule, 1, 0, steps);
    if (steps > 9) CHECK(last < 0.1);  // it decays to the end
    CHECK(first > 0);
    return t.schedule.warmup_steps;
  };
  CHECK(warmup(200, 1000) == 200);
  CHECK(warmup(200, 500) == 100);
  CHECK(warmup(200, 20) == 4);
  CHECK(warmup(200, 1) == 0);
  CHECK(warmup(200, 3000) == 200);
  CHECK(warmup(0, 500) == 0);

  const TemporaryDirectory directory;
  TrainingRun run = small_run({.steps = 40});
  run.protocol.training.schedule = {.kind = ScheduleKind::cosine, .warmup_steps = 20};
  set_steps(run.protocol, 8);
  train_to(run, {.out = directory / "run"});
  CHECK(checkpoint_in(directory / "run").run.protocol.training.schedule.warmup_steps == 4);
}

TEST_CASE("train: a run of fewer steps than its protocol's validates on fewer batches") {
  const auto batches = [](std::int64_t every, std::int64_t all, std::int64_t steps) {
    Protocol protocol = small_run({.steps = 1000}).protocol;
    protocol.validation = {.every = every, .batches = all, .seed = 0};
    set_steps(protocol, steps);
    CHECK(protocol.training.steps == steps);
    return protocol.validation.batches;
  };
  CHECK(batches(100, 5000, 1000) == 5000);
  CHECK(batches(100, 5000, 2000) == 5000);
  CHECK(batches(100, 5000, 999) == 100);
  CHECK(batches(100, 5000, 30) == 30);
  CHECK(batches(100, 20, 30) == 20);
  CHECK(batches(100, 20, 1) == 1);
  CHECK(batches(0, 20, 1) == 20);  // it never validates
  CHECK(batches(0, 20, 2000) == 20);

  const TemporaryDirectory directory;
  TrainingRun run = small_run({.steps = 40, .validate_every = 10});
  run.protocol.validation.batches = 50;
  set_steps(run.protocol, 20);
  StopAfter observer;
  train(run, {.out = directory / "run"}, observer);
  CHECK(observer.validation_batches ==
        std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(checkpoint_in(directory / "run").run.protocol.validation.batches == 10);
  TrainingRun more = run;
  more.protocol.validation.batches = 50;
  CHECK(error_of([&] {
          train_to(more, {.out = directory / "run", .resume = true});
        }).find("began with validation batches 10, now it is 50;") != std::string::npos);
}
