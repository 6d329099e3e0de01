#include "npzoo/models/training/named_weights.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "tests/models/training_fixtures.h"

namespace fs = std::filesystem;
using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// A folder of empty files that `NPZOO_WEIGHTS` names.
class Store {
 public:
  explicit Store(std::initializer_list<const char*> files) {
    for (const char* file : files) {
      fs::create_directories((directory_ / file).parent_path());
      std::ofstream(directory_ / file) << "";
    }
    setenv("NPZOO_WEIGHTS", path().c_str(), 1);
  }
  ~Store() { unsetenv("NPZOO_WEIGHTS"); }

  std::string path() const { return directory_ / ""; }

 private:
  TemporaryDirectory directory_;
};

}  // namespace

TEST_CASE("weights: names stand for files of a folder") {
  const Store store{"tnp/gp-rbf/tnp-d.safetensors", "tnp/gp-rbf/notes.txt", "own.safetensors/cnp.safetensors"};
  const auto all = named_weights();
  const auto find = [&](const std::string& name) { return std::ranges::find(all, name, &NamedWeights::name); };
  REQUIRE(find("tnp-d:tnp/gp-rbf") != all.end());
  CHECK(find("tnp-d:tnp/gp-rbf")->path == fs::path(store.path()) / "tnp/gp-rbf/tnp-d.safetensors");
  CHECK(find("cnp:own.safetensors") != all.end());
  CHECK(find("notes:tnp/gp-rbf") == all.end());
  CHECK(std::ranges::is_sorted(all, {}, &NamedWeights::name));
  CHECK(find_weights("tnp-d:tnp/gp-rbf") == find("tnp-d:tnp/gp-rbf")->path);
}

TEST_CASE("weights: those of the folders that programs share are found, behind those that are named") {
  const Store store{"tnp/gp-rbf/tnp-d.safetensors"};
  const TemporaryDirectory shared;
  for (const char* name :
       {"first/npzoo/weights/tnp/gp-rbf/tnp-d.safetensors", "second/npzoo/weights/a/cnp.safetensors"}) {
    fs::create_directories((shared / name).parent_path());
    std::ofstream(shared / name) << "";
  }
  const char* const before = std::getenv("XDG_DATA_DIRS");
  const std::string kept = before ? before : "";
  setenv("XDG_DATA_DIRS", ((shared / "first").string() + "::relative:" + (shared / "second").string()).c_str(), 1);
  CHECK(find_weights("cnp:a") == shared / "second/npzoo/weights/a/cnp.safetensors");
  CHECK(find_weights("tnp-d:tnp/gp-rbf") == fs::path(store.path()) / "tnp/gp-rbf/tnp-d.safetensors");
  before ? setenv("XDG_DATA_DIRS", kept.c_str(), 1) : unsetenv("XDG_DATA_DIRS");
}

TEST_CASE("weights: a path is unchanged") {
  const Store store{"tnp/gp-rbf/tnp-d.safetensors"};
  CHECK(find_weights("some/where.safetensors") == "some/where.safetensors");
  const TemporaryDirectory directory;
  const std::string odd = directory / "a:b";
  std::ofstream(odd) << "";
  CHECK(find_weights(odd) == odd);
}

TEST_CASE("weights: the message about the folder of a training names its file") {
  const TemporaryDirectory run;
  const std::string folder = run / "", file = run / "checkpoint.safetensors";
  CHECK(find_weights(folder) == folder);
  std::ofstream(file) << "";
  CHECK(error_of([&] { find_weights(folder); }) ==
        "[weights] " + folder + " is the folder of a training, expected its file " + file);
}

TEST_CASE("weights: the message about an unknown name suggests near names and the command that lists all") {
  const Store store{"tnp/gp-rbf/tnp-d.safetensors"};
  const std::string message = error_of([] { find_weights("tnp-x:tnp/gp-rbf"); });
  CHECK(message.starts_with("[weights] there is no file and there are no weights 'tnp-x:tnp/gp-rbf', did you mean "));
  CHECK(message.find("'tnp-d:tnp/gp-rbf'") != std::string::npos);
  CHECK(message.ends_with("? (npzoo list weights shows all)"));
}

TEST_CASE("weights: the message about names that another package holds says which one") {
  const Store store{"npzoo/any-1d/kriging-tnp.safetensors", "tnp/wheel/cnp.safetensors"};
  std::ofstream(store.path() + "elsewhere.txt") << "w-0.1.whl\nelse-a:one\nelse-b:one/two\ncnp:tnp/wheel\n";
  for (const std::string name : {"else-a:one", "else-b:one/two", "one/two"})
    CHECK(error_of([&] { find_weights(name); }) == "[weights] '" + name +
                                                       "' is not in this package, expected w-0.1.whl installed beside "
                                                       "it, or NPZOO_WEIGHTS to name the folder weights of the sources");
  // Weights that are there are found, whatever the list says. Other names are unknown as before.
  CHECK(find_weights("cnp:tnp/wheel") == fs::path(store.path()) / "tnp/wheel/cnp.safetensors");
  CHECK(error_of([] { find_weights("else-c:one"); }).starts_with("[weights] there is no file and there are no weights"));
  CHECK_FALSE(error_of([] { find_weights("w-0.1.whl"); }).find("installed beside") != std::string::npos);
}

TEST_CASE("weights: those that come with npzoo load, are float32, finite and small") {
  std::uintmax_t bytes = 0;
  for (const NamedWeights& weights : named_weights()) {
    CAPTURE(weights.name);
    const Checkpoint c = load_checkpoint(weights.path);
    REQUIRE(c.exported);
    CHECK(c.run.spec.name + ":" + c.run.protocol.name == weights.name);
    CHECK(c.step == c.run.protocol.training.steps);
    CHECK_FALSE(c.commit.empty());
    CHECK(c.exported->command.starts_with("npzoo train --protocol " + c.run.protocol.name));
    for (const auto& weight : c.weights) {
      CAPTURE(weight.first);
      const Tensor& tensor = weight.second;
      REQUIRE(tensor.dtype() == DType::float32);
      CHECK(std::ranges::all_of(tensor.values<float>(), [](float value) { return std::isfinite(value); }));
    }
    bytes += fs::file_size(weights.path);
  }
  CHECK(bytes <= 40'000'000);
}
