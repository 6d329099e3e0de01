#include "npzoo/models/training/run_directory.h"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/models/training_fixtures.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;

namespace {

auto lines_of(const fs::path& path) { return std::ranges::count(read_text(path), '\n'); }

}  // namespace

TEST_CASE("train: leaves a directory with foreign files untouched") {
  const TrainingRun run = small_run();
  for (const std::string name :
       {"config.toml", "protocol.toml", "metrics.jsonl", "notes.txt", ".hidden", "subdirectory/x"}) {
    CAPTURE(name);
    const TemporaryDirectory directory;
    const fs::path out = directory / "run", file = out / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "mine = 1\n";
    for (const bool resume : {false, true})
      CHECK(error_of([&] { train_to(run, {.out = out, .resume = resume}); }) ==
            "[train] " + (out / fs::path(name).begin()->string()).string() +
                " was not written by a training, expected an empty directory or that of a run; choose another --out");
    CHECK(read_text(file) == "mine = 1\n");
    CHECK(std::distance(fs::directory_iterator(out), {}) == 1);
  }
}

TEST_CASE("train: a config.toml or protocol.toml of others is not made a run's by a checkpoint beside it") {
  for (const std::string name : {"config.toml", "protocol.toml"}) {
    const TemporaryDirectory directory;
    const TrainingRun run = small_run();
    const fs::path out = directory / "run", file = out / name;
    train_to(run, {.out = out}, 5);
    for (const std::string& text :
         {std::string("mine = 1\n"), std::string(kRunConfigHeader) + "[train]\n# mine\nseed = 7\n"}) {
      std::ofstream(file) << text;
      CHECK(error_of([&] { train_to(run, {.out = out, .resume = true}); }).starts_with("[train] " + file.string()));
      CHECK(read_text(file) == text);
    }
    fs::remove(file);
    CHECK(train_to(run, {.out = out, .resume = true}).finished);
  }
}

TEST_CASE("train: starts again in the directory of a killed run") {
  for (const bool resume : {false, true}) {
    const TemporaryDirectory directory;
    const fs::path out = directory / "run";
    fs::create_directory(out);
    std::ofstream(out / "train.log") << "train   0%\n";
    std::ofstream(out / ".checkpoint.safetensors.npzoo-tmp-17-0") << "half";
    std::ofstream(out / ".config.toml.tmp-17-1") << "";
    std::ofstream(out / "metrics.jsonl") << "{\"loss\": 1.0, \"step\": 50}\n{\"loss\": 1.0, \"st";
    CHECK(train_to(small_run(), {.out = out, .resume = resume}).finished);
    CHECK(lines_of(out / "metrics.jsonl") == 1);
  }
  const TemporaryDirectory directory;
  const fs::path out = directory / "run";
  fs::create_directory(out);
  std::ofstream(out / "config.toml") << kRunConfigHeader << "[train]\nprotocol = \"x\"\nseed = 7\n";
  std::ofstream(out / "notes.txt") << "mine";
  CHECK(train_to(small_run(), {.out = out}).finished);  // a run's directory may hold more
  CHECK(read_text(out / "notes.txt") == "mine");
}

TEST_CASE("train: a directory made in vain is removed again") {
  const TemporaryDirectory directory;
  TrainingRun run = small_run();
  run.spec.config["d_model"] = std::int64_t{7};  // of two heads
  CHECK(error_of([&] { train_to(run, {.out = directory / "a" / "b"}); }) != "no error");
  CHECK(directory.count() == 0);
  fs::create_directory(directory / "a");
  CHECK(error_of([&] { train_to(run, {.out = directory / "a" / "b"}); }) != "no error");
  CHECK(fs::is_empty(directory / "a"));
}

TEST_CASE("train: two processes in one directory") {
  const TemporaryDirectory directory;
  const fs::path out = directory / "run";
  const TrainingRun run = small_run();
  fs::create_directory(out);
  std::ofstream(out / "metrics.jsonl") << "{\"loss\": 1.0, \"step\": 1}\n";
  {
    const auto other = lock_directory(out);
    for (const bool resume : {false, true})
      CHECK(error_of([&] { train_to(run, {.out = out, .resume = resume}); }) ==
            "[train] another process trains in " + out.string() + "; wait for it or choose another --out");
    CHECK(lines_of(out / "metrics.jsonl") == 1);
  }
  CHECK(train_to(run, {.out = out}).finished);
}

TEST_CASE("train: no place to write is an error") {
  const TemporaryDirectory directory;
  std::ofstream(directory / "file") << "not a directory";
  const fs::path out = directory / "file" / "run";
  CHECK(error_of([&] { train_to(small_run(), {.out = out}); }) ==
        "[train] " + out.string() + " cannot be created: Not a directory");
}
