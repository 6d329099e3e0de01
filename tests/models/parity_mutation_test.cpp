#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "npzoo/engine/io/json.h"
#include "npzoo/engine/io/safetensors.h"
#include "npzoo/models/parity/parity.h"
#include "npzoo/models/parity/record.h"
#include "tests/models/model_fixtures.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;

namespace {

TensorFile recorded(const std::string& name) {
  const char* root = ::getenv("NPZOO_SOURCE_ROOT");
  check(root != nullptr, "[testing] NPZOO_SOURCE_ROOT must name the directory of the sources");
  return load_safetensors(fs::path(root) / "tests" / "golden" / (name + ".safetensors"));
}

/// The same with two updates instead of ten, and without what follows them.
TensorFile shortened(TensorFile file) {
  file.tensors["adam.losses"] = slice(file.tensors.at("adam.losses"), 0, 0, 2).clone();
  std::erase_if(file.tensors, [](const auto& entry) {
    return entry.first.starts_with("adam.final") || entry.first.starts_with("yogi.");
  });
  nlohmann::json run = parse_json(file.metadata.at("run"), "run");
  run["keep_final"] = false;
  file.metadata["run"] = run.dump();
  return file;
}

Tensor all_of(const Tensor& x, double value) {
  return Tensor::full(x.shape(), value, DType::float64, Device::cpu).to(x.dtype());
}

/// One value more than x has.
Tensor longer(const Tensor& x) { return Tensor::zeros({x.numel() + 1}, x.dtype(), Device::cpu); }

Tensor of_other_type(const Tensor& x) { return x.to(x.dtype() == DType::int64 ? DType::float64 : DType::int64); }

struct Mutation {
  const char* name;
  Tensor (*of)(const Tensor&);
};

constexpr Mutation kMutations[] = {{"all 1e9", [](const Tensor& x) { return all_of(x, 1e9); }},
                                   {"one value more", longer},
                                   {"another type", of_other_type},
                                   {"all -1", [](const Tensor& x) { return all_of(x, -1); }},
                                   {"all 1000", [](const Tensor& x) { return all_of(x, 1000); }}};

/// "error", "mismatch", "not compared" or, for a recording that passes, "passed".
std::string outcome_of(const TensorFile& file, const std::string& name) {
  try {
    const ParityReport report = check_parity(Record(file, "x"));
    if (!report.passed()) return "mismatch";
    return std::ranges::count(report.not_compared, name) == 1 ? "not compared" : "passed";
  } catch (const Error& error) {
    const std::string message = error.what();
    return message.starts_with("[") && message.find('\n') == message.npos ? "error" : "message: " + message;
  }
}

bool is_of_a_parameter(const std::string& name) {
  for (const char* start : {"param.", "grad.", "adam.final.", "yogi.final."})
    if (name.starts_with(start)) return true;
  return false;
}

/// All tensors but those of parameters, of which there are two of each kind.
std::vector<std::string> tensors_of(const TensorFile& file) {
  std::map<std::string, int> taken;
  std::vector<std::string> names;
  for (const auto& [name, x] : file.tensors)
    if (!is_of_a_parameter(name) || taken[name.substr(0, name.find('.'))]++ < 2) names.push_back(name);
  return names;
}

void check_mutations(const TensorFile& file, std::size_t stride) {
  const std::vector<std::string> names = tensors_of(file);
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t j = i % stride; j < std::size(kMutations); j += stride) {
      const std::string& name = names[i];
      const Mutation& mutation = kMutations[j];
      TensorFile changed = file;
      const Tensor before = file.tensors.at(name);
      changed.tensors[name] = mutation.of(before);
      if (changed.tensors[name].shape() == before.shape() && difference(changed.tensors[name], before) == 0) continue;
      CAPTURE(name);
      CAPTURE(mutation.name);
      const std::string outcome = outcome_of(changed, name);
      CAPTURE(outcome);
      CHECK((outcome == "error" || outcome == "mismatch" || outcome == "not compared"));
    }
}

std::string message_after(const std::string& name, const auto& change) {
  TensorFile file = recorded(name);
  change(file);
  return error_of([&] { check_parity(Record(file, "x")); });
}

std::string message_with(const std::string& name, const std::string& tensor, const Tensor& value) {
  return message_after(name, [&](TensorFile& file) { file.tensors[tensor] = value; });
}

Tensor integers(const Shape& shape, std::int64_t value) {
  return Tensor::full(shape, static_cast<double>(value), DType::float64, Device::cpu).to(DType::int64);
}

}  // namespace

TEST_CASE("parity: every change to a tensor of a recording is an error, a mismatch or not compared") {
  check_mutations(recorded("dl4bi-cnp.a"), 1);
  check_mutations(shortened(recorded("tnp-a.a")), 1);
  for (const char* name :
       {"autoformer.b", "informer.b", "taylorformer.c", "thp.c", "thp-mix.b", "cmanp.b", "cmanp-and.a", "convcnp2d.a",
        "convcnp.a", "np.a", "dl4bi-bnp.b", "tnp-nd.c", "dl4bi-tnp-nd.b"}) {
    CAPTURE(std::string(name));
    check_mutations(shortened(recorded(name)), 5);
  }
}

TEST_CASE("parity: lengths, orders, marks and draws out of range are refused") {
  CHECK(message_with("dl4bi-cnp.a", "valid.context", integers({3}, 1000)) ==
        "[parity] x: 'valid.context' holds 1000, expected 0 to 7");
  CHECK(message_with("dl4bi-cnp.a", "valid.target", integers({3}, -1)) ==
        "[parity] x: 'valid.target' holds -1, expected 0 to 5");
  CHECK(message_with("dl4bi-cnp.a", "valid.target", integers({3}, 0)) ==
        "[parity] x: 'valid.target' holds zeros alone, expected targets");
  CHECK(message_with("dl4bi-cnp.a", "valid.target", Tensor::zeros({3}, DType::float64)) ==
        "[parity] x: 'valid.target' is float64 (3), expected int64 (3)");
  CHECK(message_with("dl4bi-cnp.a", "valid.context", integers({4}, 1)) ==
        "[parity] x: 'valid.context' is int64 (4), expected int64 (3)");
  CHECK(message_with("tnp-a.a", "eval.permutation", integers({5, 5}, 1'000'000'000)) ==
        "[parity] x: 'eval.permutation' holds 1000000000, expected 0 to 4");
  CHECK(message_with("tnp-a.a", "eval.permutation", integers({5, 5}, 1)) ==
        "[parity] row 0 of an order holds 1, expected 0 to 4 once each");
  CHECK(message_with("tnp-a.a", "eval.permutation", integers({1, 5}, 0)) ==
        "[parity] x: 'eval.permutation' is int64 (1, 5), expected int64 (5, 5)");
  CHECK(message_with("thp.c", "event_type", integers({3, 6}, 4)) ==
        "[parity] x: 'event_type' holds 4, expected 0 to 3");
  CHECK(message_with("dl4bi-bnp.b", "random.0", integers({16, 8}, 8)).ends_with("holds 8, expected 0 to 7"));
  CHECK(message_with("dl4bi-bnp.b", "random.0", integers({15, 8}, 1)) ==
        "[parity] x: 'random.0' has 15 rows, expected a multiple of 4");
  CHECK(message_with("np.a", "random.0", all_of(recorded("np.a").tensors.at("random.0"), kNaN)) ==
        "[parity] x: 'random.0' holds nan, expected finite numbers");
  CHECK(message_with("cnp.a", "xc", all_of(recorded("cnp.a").tensors.at("xc"), kInfinity)) ==
        "[parity] x: 'xc' holds inf, expected finite numbers");
  CHECK(message_with("cnp.a", "xt", recorded("cnp.a").tensors.at("xt").to(DType::float32)) ==
        "[parity] x: 'xt' is float32, expected float64 as 'xc'");
  CHECK(message_with("cnp.a", "eval.mean", Tensor::zeros({15}, DType::float64)) ==
        "[parity] x: 'eval.mean' is float64 (15), expected float64 (1, 3, 5, 1)");
  CHECK(message_with("cnp.a", "adam.losses", Tensor::zeros({1001}, DType::float64)) ==
        "[parity] x: 'adam.losses' has 1001 updates, expected 1 to 1000");
  CHECK(message_with("autoformer.b", "x_dec", Tensor::zeros({4, 12, 3}, DType::float64)) ==
        "[parity] x: 'x_dec' has other values, expected the last 5 steps of 'x_enc' and then zeros");
}

TEST_CASE("parity: sizes in the text of a recording are bounded by its numbers") {
  const auto with = [](const std::string& name, const char* key, const std::string& from, const std::string& to) {
    return message_after(name, [&](TensorFile& file) {
      std::string& text = file.metadata.at(key);
      REQUIRE(text.find(from) != text.npos);
      text.replace(text.find(from), from.size(), to);
    });
  };
  CHECK(with("np.a", "run", "\"eval_samples\": 5", "\"eval_samples\": 60000000")
            .starts_with("[parity] x: 'eval_samples' in the run must be a number from 1 to "));
  CHECK(with("convcnp.a", "config", "\"points_per_unit\": 16", "\"points_per_unit\": 60000")
            .starts_with("[parity] x: the model has a grid of "));
}

TEST_CASE("parity: delays and neighbours of a recording are compared") {
  for (const auto& case_of :
       {std::pair("autoformer.b", "eval.delays.1"), std::pair("autoformer.b", "train.delays.0"),
        std::pair("autoformer.b", "eval.weights.2"), std::pair("taylorformer.a", "eval.taylor.neighbour.context"),
        std::pair("taylorformer.c", "train.taylor.neighbour.target"), std::pair("taylorformer.c", "eval.taylor.y_n")}) {
    const std::string tensor = case_of.second;
    CAPTURE(tensor);
    TensorFile file = recorded(case_of.first);
    Tensor& changed = file.tensors.at(tensor);
    changed = add(changed.to(DType::float64), Tensor::full({}, 1, DType::float64, Device::cpu)).to(changed.dtype());
    const ParityReport report = check_parity(Record(file, "x"));
    std::vector<std::string> names;
    for (const ParityQuantity& q : report.quantities)
      if (!(q.max_error <= q.tolerance)) names.push_back(q.name);
    CHECK(names == std::vector<std::string>{tensor});
  }
}

TEST_CASE("parity: tensors that nothing is compared with are named") {
  TensorFile file = recorded("dl4bi-cnp.a");
  file.tensors["surprise"] = integers({2}, 1);
  file.tensors["eval.random.0"] = integers({2}, 1);
  file.tensors["param.none"] = Tensor::zeros({2}, DType::float64);
  const ParityReport report = check_parity(Record(file, "x"));
  CHECK(report.passed());
  CHECK(report.not_compared == std::vector<std::string>{"eval.coverage", "eval.mae", "eval.random.0", "eval.rmse",
                                                        "param.none", "surprise", "train.mean", "train.std"});
  CHECK(check_parity(Record(recorded("cnp.a"), "x")).not_compared ==
        std::vector<std::string>{"train.py.mean", "train.py.std"});
}
