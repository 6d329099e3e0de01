#include "npzoo/models/training/checkpoint.h"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/safetensors.h"
#include "tests/models/training_fixtures.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;
using nlohmann::json;

namespace {

/// Returns the error of loading a checkpoint after `change` to its file, without its path. The checksum is removed
/// first.
std::string message_of_changed(const auto& change) {
  const TemporaryDirectory directory;
  const std::string path = directory / "c.safetensors";
  save_checkpoint(path, trained_checkpoint());
  TensorFile file = load_safetensors(path);
  file.metadata.erase("checksum");
  change(file);
  save_safetensors(path, file);
  std::string message = error_of([&] { load_checkpoint(path); });
  if (const auto at = message.find(path); at != std::string::npos) message.replace(at, path.size(), "FILE");
  return message;
}

/// The same after one entry of the model's configuration, or of the state of the run, was changed.
std::string message_with(const std::string& part, const std::string& key, const json& value) {
  return message_of_changed([&](TensorFile& file) {
    json object = json::parse(file.metadata.at(part));
    object[key] = value;
    file.metadata[part] = object.dump();
  });
}

}  // namespace

TEST_CASE("checkpoint: everything comes back") {
  const TemporaryDirectory directory;
  const Checkpoint saved = trained_checkpoint();
  REQUIRE(saved.best_step == 3);
  save_checkpoint(directory / "c.safetensors", saved);
  const Checkpoint loaded = load_checkpoint(directory / "c.safetensors");
  CHECK(same_state(loaded, saved));
  CHECK(loaded.seconds == saved.seconds);
  CHECK(loaded.run.protocol.training.keep_best);
  CHECK(directory.count() == 1);

  Checkpoint unscored = saved;
  unscored.best_step = -1;
  unscored.best_weights.clear();
  save_checkpoint(directory / "c.safetensors", unscored);
  CHECK(same_bits(load_checkpoint(directory / "c.safetensors").weights, saved.weights));
  CHECK(load_checkpoint(directory / "c.safetensors").best_weights.empty());
}

TEST_CASE("checkpoint: the best weights count where the protocol keeps them") {
  Checkpoint c = trained_checkpoint();
  const auto first_weight = [](const Checkpoint& checkpoint) {
    return named_parameters(*restore_model(checkpoint)).front().parameter->value;
  };
  const std::string name = "embedder.layers.0.weight";
  CHECK_FALSE(same_bits(c.weights.at(name), c.best_weights.at(name)));
  CHECK(same_bits(first_weight(c), c.best_weights.at(name)));
  c.run.protocol.training.keep_best = false;
  CHECK(same_bits(first_weight(c), c.weights.at(name)));
}

TEST_CASE("checkpoint: exported weights are the ones that count, and nothing else") {
  const TemporaryDirectory directory;
  const fs::path path = directory / "w.safetensors";
  Checkpoint c = trained_checkpoint();
  const Provenance provenance{.command = "npzoo train", .evaluation = R"([{"test": "rbf"}])"};
  CHECK(error_of([&] { export_weights(path, c, provenance); }) ==
        "[export] the checkpoint does not name the commit that trained it");
  CHECK_FALSE(fs::exists(path));

  c.commit = "0123abc";
  for (const bool keep_best : {true, false}) {
    CAPTURE(keep_best);
    c.run.protocol.training.keep_best = keep_best;
    const Weights& expected = keep_best ? c.best_weights : c.weights;
    // The text of the protocol still says keep = "best".
    export_weights(path, c, provenance);
    const Checkpoint loaded = load_checkpoint(path);
    CHECK(same_bits(loaded.weights, expected));
    CHECK(loaded.best_weights.empty());
    CHECK(loaded.first_moments.empty());
    CHECK(loaded.commit == "0123abc");
    CHECK(loaded.run.seed == c.run.seed);
    CHECK(loaded.step == c.step);
    REQUIRE(loaded.exported);
    CHECK(loaded.exported->command == provenance.command);
    CHECK(loaded.exported->evaluation == provenance.evaluation);
    CHECK(same_bits(named_parameters(*restore_model(loaded)).front().parameter->value,
                    expected.at("embedder.layers.0.weight")));
    CHECK(error_of([&] { save_checkpoint(path, loaded); }).starts_with("[checkpoint] exported weights of tnp-d"));
  }
}

TEST_CASE("checkpoint: exported weights in double are written in float32") {
  const TemporaryDirectory directory;
  Checkpoint c = trained_checkpoint();
  c.commit = "0123abc";
  for (auto& [name, tensor] : c.best_weights) tensor = tensor.to(DType::float64);
  export_weights(directory / "w.safetensors", c, {});
  for (const auto& [name, tensor] : load_checkpoint(directory / "w.safetensors").weights)
    CHECK(tensor.dtype() == DType::float32);
}

TEST_CASE("checkpoint: missing, unexpected and wrongly shaped tensors are all named") {
  const std::string message = message_of_changed([](TensorFile& file) {
    file.tensors.erase("predictor.layers.1.bias");
    file.tensors.erase("best.embedder.layers.0.weight");
    file.tensors["stranger"] = Tensor::zeros({1});
    file.tensors["optimiser.first_moment.embedder.layers.0.bias"] = Tensor::zeros({9});
  });
  for (const std::string part : {"predictor.layers.1.bias", "best.embedder.layers.0.weight", "stranger",
                                 "optimiser.first_moment.embedder.layers.0.bias", "(9)", "(8)"}) {
    CAPTURE(part);
    CHECK(message.find(part) != std::string::npos);
  }
  CHECK(message.find('\n') == std::string::npos);
}

TEST_CASE("checkpoint: metadata of another program, or damaged") {
  CHECK(message_of_changed([](TensorFile& f) { f.metadata["format"] = "npzoo-checkpoint-9"; }) ==
        "[checkpoint] FILE: format 'npzoo-checkpoint-9' found, expected 'npzoo-checkpoint-1' or 'npzoo-weights-1'");
  for (const std::string key : {"format", "model", "config", "protocol", "protocol_text", "run"}) {
    CAPTURE(key);
    CHECK(message_of_changed([&](TensorFile& f) { f.metadata.erase(key); }) ==
          "[checkpoint] FILE: it has no '" + key + "' in its metadata, so npzoo did not write it");
  }
  CHECK(message_of_changed([](TensorFile& f) { f.metadata["model"] = "gpt"; }) ==
        "[models] there is no model 'gpt', expected one that npzoo list models lists");
  CHECK(message_of_changed([](TensorFile& f) { f.metadata["config"] = "7"; }) ==
        "[checkpoint] FILE: the model's config is not a JSON object");
  for (const std::string run : {"", "[", "{}", "null"}) {
    CAPTURE(run);
    CHECK(message_of_changed([&](TensorFile& f) {
            f.metadata["run"] = run;
          }).starts_with("[checkpoint] FILE: damaged metadata: "));
  }
  CHECK(message_with("run", "step", "three") ==
        "[checkpoint] FILE: damaged metadata: step is \"three\", expected an integer from 0 to 20");
  CHECK(message_of_changed([](TensorFile& f) {
          f.metadata["protocol_text"] = "x = 1";
        }).starts_with("[protocol] FILE: "));
}

TEST_CASE("checkpoint: metadata nested without end") {
  const std::string brackets(1'000'000, '[');
  std::string key = "a";
  for (int i = 0; i < 500'000; ++i) key += ".a";
  CHECK(message_of_changed([&](TensorFile& f) { f.metadata["protocol_text"] = key + " = 1"; }) ==
        "[protocol] FILE: line 1: a key of more than 16 parts");
  CHECK(message_of_changed([&](TensorFile& f) { f.metadata["protocol_text"] = "a = " + brackets; }) ==
        "[protocol] FILE: line 1: more than 16 brackets within each other");
  CHECK(message_of_changed([&](TensorFile& f) { f.metadata["config"] = brackets; }) ==
        "[checkpoint] FILE: the model's config: more than 64 levels of JSON at byte 64");
  CHECK(message_of_changed([&](TensorFile& f) { f.metadata["run"] = brackets; }) ==
        "[checkpoint] FILE: damaged metadata: more than 64 levels of JSON at byte 64");
}

TEST_CASE("checkpoint: numbers that no run can have") {
  for (const auto& entry : std::initializer_list<std::pair<std::string, json>>{{"step", -1},
                                                                               {"step", 21},
                                                                               {"steps", 0},
                                                                               {"batch_size", 0},
                                                                               {"best_step", 21},
                                                                               {"lr", -1.0},
                                                                               {"lr", 0.0},
                                                                               {"loss_count", -1},
                                                                               {"loss_count", 5},
                                                                               {"seed", 1.5},
                                                                               {"seed", -1},
                                                                               {"seed", 0x1p64},
                                                                               {"step", 0x1p70},
                                                                               {"step", 1.0},
                                                                               {"steps", 1ull << 63},
                                                                               {"steps", nullptr},
                                                                               {"batch_size", 1ll << 40},
                                                                               {"validation_batches", 0},
                                                                               {"validation_batches", true},
                                                                               {"best_step", -2},
                                                                               {"best_log_likelihood", nullptr},
                                                                               {"loss", "nan"},
                                                                               {"loss_sum", "1"},
                                                                               {"seconds", -1}}) {
    CAPTURE(entry.first);
    CAPTURE(entry.second.dump());
    CHECK(message_with("run", entry.first, entry.second)
              .starts_with("[checkpoint] FILE: damaged metadata: " + entry.first + " is "));
  }
  CHECK(message_of_changed([](TensorFile& f) { f.metadata["run"] = R"({"seed": 1e999})"; }) ==
        "[checkpoint] FILE: damaged metadata: a number is larger than any double");
}

TEST_CASE("checkpoint: weights and moments that are not finite are neither written nor read") {
  const TemporaryDirectory directory;
  const fs::path path = directory / "c.safetensors";
  save_checkpoint(path, trained_checkpoint());
  const std::string before = read_text(path), name = "embedder.layers.0.weight";
  const std::string rest = " is not finite after step 4, so it was not written; a lower learning rate may help";
  for (const double bad : {kNaN, kInfinity, -kInfinity}) {
    CAPTURE(bad);
    const auto spoil = [&](Weights& weights) {
      weights[name] = weights.at(name).clone();
      weights[name].values<float>().back() = static_cast<float>(bad);
    };
    for (auto [member, prefix] : {std::pair(&Checkpoint::weights, ""), std::pair(&Checkpoint::best_weights, "best."),
                                  std::pair(&Checkpoint::second_moments, "optimiser.second_moment.")}) {
      Checkpoint c = trained_checkpoint();
      c.commit = "0123abc";
      spoil(c.*member);
      const std::string message = fmt::format("[checkpoint] {}: \"{}{}\"{}", path.string(), prefix, name, rest);
      CHECK(error_of([&] { save_checkpoint(path, c); }) == message);
      if (member == &Checkpoint::best_weights) CHECK(error_of([&] { export_weights(path, c, {}); }) != "no error");
      CHECK(read_text(path) == before);
      CHECK(message_of_changed([&, prefix = prefix](TensorFile& f) {
              f.tensors[prefix + name].values<float>().back() = static_cast<float>(bad);
            }) ==
            "[checkpoint] FILE: tensor '" + (prefix + name) + "' is not finite, expected weights that can be used");
    }
  }
}

TEST_CASE("checkpoint: files from before there were checksums can be read") {
  CHECK(message_of_changed([](TensorFile&) {}) == "no error");
  CHECK(message_of_changed([](TensorFile& f) {
          json run = json::parse(f.metadata.at("run"));
          run.erase("validation_batches");
          f.metadata["run"] = run.dump();
        }) == "no error");
}

TEST_CASE("checkpoint: a wrong checksum is an error") {
  CHECK(message_of_changed([](TensorFile& f) {
          f.metadata["checksum"] = "crc32:7";
        }).ends_with("found, expected \"crc32:7\""));
}

TEST_CASE("checkpoint: integer tensors are refused") {
  CHECK(message_of_changed([](TensorFile& f) {
          f.tensors["predictor.layers.1.bias"] = Tensor::zeros({2}, DType::int64);
        }) == "[checkpoint] FILE: tensor 'predictor.layers.1.bias' is int64, expected float32 or float64");
}

TEST_CASE("checkpoint: a model larger than its file is refused before anything is allocated") {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  reset_peak_memory();
  const std::int64_t before = memory_stats().peak_reserved_bytes;
  for (const std::string key : {"d_model", "dim_feedforward", "num_layers", "emb_depth", "nhead", "dim_x", "dim_y"})
    for (const std::int64_t value :
         {std::int64_t{-1}, std::int64_t{0}, std::int64_t{60'000}, std::int64_t{1} << 32, kHuge}) {
      CAPTURE(key);
      CAPTURE(value);
      CHECK(message_with("config", key, value).starts_with("["));
    }
  CHECK(memory_stats().peak_reserved_bytes <= before + (std::int64_t{4} << 20));
}

TEST_CASE("assign: names and shapes must be equal") {
  const auto model = varied_model(small_model("cnp"));
  CHECK(error_of([&] { assign(named_parameters(*model), {}); }) ==
        "[checkpoint] no weights of shape (6, 2) for 'encoders.0.pre.layers.0.weight' found");
}
