#include <doctest/doctest.h>
#include <stdlib.h>

#include <map>

#include "npzoo/engine/io/safetensors.h"
#include "npzoo/models/parity/parity.h"
#include "tests/models/model_fixtures.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;

namespace {

fs::path source_root() {
  const char* root = ::getenv("NPZOO_SOURCE_ROOT");
  check(root != nullptr, "[testing] NPZOO_SOURCE_ROOT must name the directory of the sources");
  return root;
}

fs::path recorded(const std::string& name) { return source_root() / "tests" / "golden" / (name + ".safetensors"); }

ParityReport check_passes(const fs::path& path) {
  ParityReport report = check_parity(path);
  CAPTURE(report.file);
  CHECK(report.passed());
  for (const ParityQuantity& q : report.quantities) {
    CAPTURE(q.name);
    CHECK(q.max_error <= q.tolerance);
  }
  return report;
}

std::int64_t count(const ParityReport& report, const std::string& name) {
  return std::ranges::count(report.quantities, name, &ParityQuantity::name);
}

/// Names of the quantities that deviate after `change` was made to a recorded run.
std::vector<std::string> deviations(const std::string& name, const auto& change) {
  const TemporaryDirectory directory;
  TensorFile file = load_safetensors(recorded(name));
  change(file);
  save_safetensors(directory / "changed.safetensors", file);
  const ParityReport report = check_parity(directory / "changed.safetensors");
  std::vector<std::string> names;
  for (const ParityQuantity& q : report.quantities)
    if (!(q.max_error <= q.tolerance)) names.push_back(q.name);
  CHECK(report.passed() == names.empty());
  return names;
}

std::string parity_message_after(const auto& change, const std::string& name = "tnp-d.a") {
  const TemporaryDirectory directory;
  const std::string path = directory / "changed.safetensors";
  TensorFile file = load_safetensors(recorded(name));
  change(file);
  save_safetensors(path, file);
  const std::string message = error_of([&] { check_parity(path); }), start = "[parity] " + path + ": ";
  return message.starts_with(start) ? message.substr(start.size()) : message;
}

}  // namespace

TEST_CASE("golden: runs recorded from the authors' code") {
  std::map<std::string, int> files;  // of each authors' model
  int with_final = 0;
  for (const auto& entry : fs::directory_iterator(source_root() / "tests" / "golden")) {
    if (entry.path().extension() != ".safetensors") continue;
    const ParityReport report = check_passes(entry.path());
    const TensorFile file = load_safetensors(entry.path());
    ++files[file.metadata.at("model")];
    for (const std::string needed : {"train.loss", "grad.*", "adam.losses"}) CHECK(count(report, needed) == 1);
    // All that is recorded of predictions is compared.
    for (const std::string kind : {"eval.mean", "eval.std", "eval.scale_tril", "eval.pointwise.tar_ll", "eval.nll",
                                   "eval.joint.tar_ll", "eval.samples", "eval.teacher.mean", "yogi.losses"}) {
      CAPTURE(kind);
      CHECK(count(report, kind) == file.tensors.contains(kind));
    }
    with_final += count(report, "adam.final.*") == 1;
    if (report.model != "cmanp") continue;
    for (const std::string needed : {"state.first.0.constant", "state.first.1.embedding", "state.first.1.latents",
                                     "state.first.mean", "state.updated.0.constant", "state.updated.1.embedding",
                                     "state.updated.1.latents", "state.updated.std", "state.full.1.latents"})
      CHECK(count(report, needed) == 1);
  }
  for (const ModelInfo& info : models())
    for (const AuthorsCode& code : info.authors) {
      CAPTURE(std::string(code.recorded_as));
      CHECK(files[code.recorded_as] >= 1);
    }
  CHECK(with_final >= 6);
}

TEST_CASE("golden: all runs that are recorded of models here, those of full size in float32 among them") {
  const fs::path folder = source_root() / ".." / "shared" / "golden";
  if (!fs::exists(folder)) {
    MESSAGE(folder.filename() << " is not here: skipped");
    return;
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    const std::string model = load_safetensors(entry.path()).metadata.at("model");
    const bool here = std::ranges::any_of(models(), [&](const ModelInfo& info) {
      return std::ranges::any_of(info.authors, [&](const AuthorsCode& code) { return code.recorded_as == model; });
    });
    const bool checked_above = fs::exists(recorded(entry.path().stem().string()));
    if (here && !checked_above) check_passes(entry.path());
  }
}

TEST_CASE("golden: a weight that is off by 1e-6 is found") {
  const auto names = deviations("tnp-d.a", [](TensorFile& file) {
    file.tensors.at("param.encoder.layers.1.linear1.weight").data<double>()[3] += 1e-6;
  });
  CHECK(std::ranges::count(names, "eval.mean") == 1);
  CHECK(std::ranges::count(names, "grad.*") == 1);
}

TEST_CASE("golden: single wrong numbers are found where they are") {
  using Names = std::vector<std::string>;
  CHECK(deviations("cnp.a", [](TensorFile&) {}) == Names{});
  CHECK(deviations("cnp.a", [](TensorFile& file) {
          file.tensors.at("grad.dec.mlp.1.weight").data<double>()[5] += 1e-6;
        }) == Names{"grad.*"});
  CHECK(deviations("tnp-d.b", [](TensorFile& file) {
          file.tensors.at("grad.encoder.layers.0.self_attn.in_proj_weight").data<double>()[0] = kNaN;
        }) == Names{"grad.*"});
  CHECK(deviations("tnp-d.b", [](TensorFile& file) { file.tensors.at("adam.losses").data<double>()[9] += 1e-6; }) ==
        Names{"adam.losses"});
}

TEST_CASE("golden: wrong numbers of events are found, padding apart") {
  using Names = std::vector<std::string>;
  const auto after = [](const std::string& name, std::int64_t at, double change = 1e-6) {
    return deviations("thp-mix.b", [&](TensorFile& file) { file.tensors.at(name).data<double>()[at] += change; });
  };
  CHECK(after("eval.mu", 0) == Names{"eval.mu"});
  CHECK(after("train.surv_ll", 3) == Names{"train.surv_ll"});
  CHECK(after("eval.mu", (7 + 6) * 8) == Names{});  // of the second sequence, which has three events
  // A tensor that the model lacks shows in the figure of all tensors.
  CHECK(after("grad.linear.weight", 5) == Names{"grad.*"});
  CHECK(after("adam.final.time_predictor.linear.weight", 5) == Names{"adam.final.*"});
  CHECK(std::ranges::count(after("param.linear.weight", 5, 1), "train.loss") == 1);
  CHECK(parity_message_after([](TensorFile& f) { f.tensors.erase("event_time"); }, "thp.c") ==
        "there is no tensor 'event_time'");
  CHECK(parity_message_after([](TensorFile& f) { f.tensors.at("event_type") = f.tensors.at("eval.enc"); }, "thp.c") ==
        "'event_type' is float64 (3, 6, 8), expected int64 (3, 6)");
  CHECK(parity_message_after([](TensorFile& f) { f.tensors.erase("times"); }, "thp-mix.a") ==
        "there is no tensor 'times'");
  CHECK(parity_message_after([](TensorFile& f) { f.tensors.at("marks") = f.tensors.at("eval.time_preds"); },
                             "thp-mix.a") == "'marks' is float64 (3, 6, 1), expected int64 (3, 7, 1)");
}

TEST_CASE("golden: a wrong state of a constant memory block is found") {
  using Names = std::vector<std::string>;
  for (const std::string name :
       {"state.first.1.constant", "state.updated.0.embedding", "state.full.1.latents", "state.updated.std"}) {
    CAPTURE(name);
    CHECK(deviations("cmanp.a", [&](TensorFile& file) { file.tensors.at(name).data<double>()[5] += 1e-6; }) ==
          Names{name});
  }
  for (const std::string first : {"0.5", "-1", "8"})
    CHECK(parity_message_after([&](TensorFile& f) { f.metadata["run"] = "{\"first\": " + first + "}"; }, "cmanp.a") ==
          "'first' in the run must be a number of context points, 1 to 7");
  // Heads that changed places hold the same numbers.
  CHECK(deviations("cmanp.a", [](TensorFile& file) {
          double* embedding = file.tensors.at("state.full.0.embedding").data<double>();  // (B·H, L, D)
          std::swap_ranges(embedding, embedding + 4 * 8, embedding + 4 * 8);
        }) == Names{"state.full.0.embedding"});
  // A block's own latents act through all that follows.
  const auto names = deviations(
      "cmanp.b", [](TensorFile& file) { file.tensors.at("param.encoder.layers.0.latents").data<double>()[3] += 1e-6; });
  for (const std::string needed : {"eval.mean", "state.first.0.constant", "state.updated.mean", "grad.*"})
    CHECK(std::ranges::count(names, needed) == 1);
  CHECK(std::ranges::count(names, "state.first.1.constant") == 0);
}

TEST_CASE("golden: files that are no recorded run of a model here") {
  CHECK(parity_message_after([](TensorFile& f) { f.metadata.erase("model"); }) ==
        "there is no 'model' in the metadata; expected a recorded run");
  CHECK(parity_message_after([](TensorFile& f) { f.metadata.erase("config"); }) ==
        "there is no 'config' in the metadata; expected a recorded run");
  CHECK(parity_message_after([](TensorFile& f) { f.metadata["model"] = "gpt"; }) ==
        "recorded from model 'gpt', which this build does not have");
  CHECK(parity_message_after([](TensorFile& f) { f.metadata.erase("run"); }) ==
        "there is no 'run' in the metadata; expected a recorded run");
  CHECK(parity_message_after([](TensorFile& f) { f.metadata["run"] = R"({"first": 3})"; }) ==
        "states recorded of model 'tnp-d', expected none");
  CHECK(parity_message_after([](TensorFile& f) { f.tensors.erase("adam.final.embedder.0.bias"); }) ==
        "there is no tensor 'adam.final.embedder.0.bias'");
  CHECK(parity_message_after([](TensorFile& f) { f.metadata["config"] = "[]"; }) ==
        "the model's config is not a JSON object");
  CHECK(parity_message_after([](TensorFile& f) { f.metadata["config"] = R"({"d_model": [16]})"; }) ==
        "'d_model' in the model's config is array, expected a number, a string or a boolean");
  CHECK(parity_message_after([](TensorFile& f) { f.metadata["config"] = "{}"; }) ==
        "[tnp-d] dim_x is missing, expected an integer");
  CHECK(parity_message_after([](TensorFile& f) { f.tensors.erase("xt"); }) == "there is no tensor 'xt'");
  CHECK(parity_message_after([](TensorFile& f) { f.tensors.erase("grad.embedder.0.bias"); }) ==
        "there is no tensor 'grad.embedder.0.bias'");
  CHECK(parity_message_after([](TensorFile& f) {
          f.tensors["param.embedder.0.bias"] = Tensor::zeros({17}, DType::float64);
        }) == "'param.embedder.0.bias' is float64 (17), expected float64 (16)");
  CHECK(parity_message_after([](TensorFile& f) {
          f.tensors["yt"] = Tensor::zeros({3, 6, 1}, DType::float64);
        }) == "'yt' is float64 (3, 6, 1), expected float64 (3, 5, 1)");
  CHECK(error_of([] { check_parity("no such file"); }).find("no such file") != std::string::npos);
}

TEST_CASE("golden: a run that claims a huge model is refused before anything is allocated") {
  reset_peak_memory();
  const std::int64_t before = memory_stats().peak_reserved_bytes;
  CHECK(parity_message_after([](TensorFile& f) {
          std::string& config = f.metadata["config"];
          config.replace(config.find("\"d_model\": 16"), 13, "\"d_model\": 16000");
        }).starts_with("[init] a weight of shape (16000, "));
  CHECK(memory_stats().peak_reserved_bytes <= before + (std::int64_t{4} << 20));
}
