#include "npzoo/datasets/protocol_text.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "npzoo/datasets/kinds/gp/config.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/datasets/protocol_files.h"
#include "npzoo/engine/io/toml.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Files of one directory, by their names in it.
class Files {
 public:
  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = directory_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  std::string path(const std::string& name) const { return (directory_ / name).string(); }

 private:
  TemporaryDirectory directory_;
};

}  // namespace

TEST_CASE("[protocol text] one that extends nothing is as it was written") {
  for (const ProtocolFile& file : protocol_files()) {
    const bool alone = file.text.find("extends = ") == file.text.npos && file.text.find("presets = ") == file.text.npos;
    CHECK((protocol_text(std::string(file.name)) == file.text) == alone);
  }
  const Files files;
  CHECK(protocol_text(files.write("odd.toml", "# anything\nx   = [ 1,\n 2 ]\n")) == "# anything\nx   = [ 1,\n 2 ]\n");
}

TEST_CASE("[protocol text] false in the place of a table leaves it out, elsewhere it is a value") {
  const Files files;
  files.write("base.toml", "name = \"base\"\nflag = true\n[models.one]\na = 1\n[models.two]\nb = 2\n");
  const std::string path =
      files.write("own.toml", "extends = \"base.toml\"\nname = \"own\"\nflag = false\n[models]\none = false\n");
  const toml::table all = parse_toml(protocol_text(path), "[test]");
  CHECK(all["flag"].value<bool>() == false);
  CHECK(!all["models"].as_table()->contains("one"));
  CHECK(all["models"]["two"]["b"].value<std::int64_t>() == 2);
}

TEST_CASE("[protocol text] tables are joined key by key, own keys win, the rest is replaced") {
  const Files files;
  files.write("base.toml", R"(
name = "base"
a = 1
list = [1, 2, 3]
data = { kind = "gp", depth = 2 }
[table]
x = 1
y = 0.1
prior = { uniform = [1, 2] }
[table.deep]
one = "1"
two = "2"
[[tests]]
name = "first"
[[tests]]
name = "second"
)");
  const std::string path = files.write("sub/own.toml", R"(
extends = "../base.toml"
name = "own"
list = [4]
data.depth = 3
[table]
prior = { beta = [3, 7] }
y = 2
z = "new \u00e9\n\""
[table.deep]
two = "zwei"
[[tests]]
name = "only"
)");
  const toml::table merged = parse_toml(protocol_text(path), "merged");
  CHECK(merged == parse_toml(R"(
name = "own"
a = 1
list = [4]
data = { kind = "gp", depth = 3 }
table = { x = 1, y = 2, z = "new \u00e9\n\"", prior = { beta = [3, 7] }, deep = { one = "1", two = "zwei" } }
tests = [{ name = "only" }]
)",
                             "expected"));
}

TEST_CASE("[protocol text] every number, string and table keeps its value to the bit") {
  // Resolved against nothing that counts, each protocol is the same as before.
  const Files files;
  const std::string base = files.write("base.toml", "name = \"base\"\n");
  for (const std::string& name : protocol_names()) {
    CAPTURE(name);
    const Protocol before = load_protocol(name);
    const Protocol after = load_protocol(files.write("own.toml", "extends = \"base.toml\"\n" + before.text));
    CHECK(after.text.find("extends") == std::string::npos);
    CHECK(parse_protocol(after.text, "again").text == after.text);
    CHECK(after.source == before.source);
    CHECK((same_data(before, after) && before.training == after.training && before.validation == after.validation));
    CHECK(before.models == after.models);
    CHECK(before.evaluation.densities == after.evaluation.densities);
    for (std::size_t i = 0; i < before.evaluation.tests.size(); ++i) {
      const TestConfig &test = before.evaluation.tests[i], &same = after.evaluation.tests[i];
      CHECK(test.oracle == same.oracle);
      CHECK(test.published == same.published);
      for (const auto& [model, config] : before.models)
        CHECK(protocol_version(before, test.name, model) == protocol_version(after, test.name, model));
    }
  }
}

TEST_CASE("[protocol text] shared presets are part of the text") {
  const std::string text = protocol_text("convcnp/eq");
  CHECK(text.starts_with(R"(name = "convcnp/eq")"));
  CHECK(text.find("presets = ") == text.npos);
  CHECK(text.find("# The ConvCNP of its paper") != text.npos);  // comments are kept
  const Files files;
  files.write("sub/more.toml", "[models.tnp-d]\nd_model = 32\n");
  const std::string path = files.write("mine.toml", R"(
name = "mine"
presets = [
  "tnp-d",  # npzoo's own
  "sub/more.toml",
]
[models.tnp-d]
nhead = 2
)");
  const toml::table mine = parse_toml(protocol_text(path), "mine");
  CHECK(!mine.contains("presets"));
  CHECK(mine["models"]["tnp-d"]["d_model"].value<int>() == 32);  // a later file changes an earlier one
  CHECK(mine["models"]["tnp-d"]["nhead"].value<int>() == 2);     // and the protocol changes both
  CHECK(mine["models"]["tnp-d"]["num_layers"].value<int>() == 6);

  // Between the protocol that is extended and the one that extends it.
  files.write("base.toml", "name = \"base\"\n[models.tnp-d]\nd_model = 8\nextra = 1\n");
  const std::string over = files.write("over.toml", "extends = \"base.toml\"\nname = \"over\"\npresets = \"tnp-d\"\n");
  const toml::table both = parse_toml(protocol_text(over), "over");
  CHECK(both["models"]["tnp-d"]["d_model"].value<int>() == 64);
  CHECK(both["models"]["tnp-d"]["extra"].value<int>() == 1);
}

TEST_CASE("[protocol text] presets that there are not, or that are none") {
  const Files files;
  const auto error = [&](const std::string& presets) {
    const std::string path = files.write("p.toml", "name = \"p\"\npresets = " + presets + "\n");
    std::string message = error_of([&] { protocol_text(path); });
    if (const auto at = message.find(path); at != message.npos) message.replace(at, path.size(), "p.toml");
    return message;
  };
  CHECK(error("3") == "[protocol] p.toml: presets is not a string, expected a name or a path, or several of them");
  CHECK(error("[3]") == "[protocol] p.toml: presets is not a string, expected a name or a path, or several of them");
  CHECK(error("\"tnp-dd\"")
            .starts_with("[protocol] p.toml: presets is 'tnp-dd', neither presets of npzoo nor a path that ends in "
                         ".toml"));
  files.write("data.toml", "[data]\nx = 1\n");
  CHECK(error("\"data.toml\"") == "[protocol] p.toml: presets has the key data, expected [models] alone");
  CHECK(error("\"missing.toml\"").find("missing.toml") != std::string::npos);
}

TEST_CASE("[protocol text] a user's protocol on one of the program") {
  const Files files;
  const std::string mine = files.write("mine.toml", R"(
name = "mine"
extends = "tnp/gp-rbf"
training.steps = 5
[data]
context = [3, 20]
)");
  const Protocol theirs = load_protocol("tnp/gp-rbf"), ours = load_protocol(mine);
  CHECK(ours.name == "mine");
  CHECK(ours.training.steps == 5);
  CHECK(ours.training.optimiser == theirs.training.optimiser);
  CHECK(gp_distribution(*ours.data)->context.high == 20);
  CHECK(gp_distribution(*ours.evaluation.tests[1].data)->context.high == 20);
  CHECK(ours.models == theirs.models);
  const std::string further = files.write("further.toml", "name = \"further\"\nextends = \"mine.toml\"\n");
  CHECK(load_protocol(further).training.steps == 5);
  CHECK(error_of([&] {
          load_protocol(files.write("bad.toml", "name = \"b\"\nextends = \"mine.toml\"\ntraining.steps = 0"));
        }) ==
        "[protocol] " + files.path("bad.toml") + ": training.steps is 0, expected an integer from 1 to 1000000000");
}

TEST_CASE("[protocol text] a text by itself extends nothing: that of a checkpoint is complete") {
  const std::string error =
      error_of([] { parse_protocol("extends = \"mine.toml\"\n" + load_protocol("quick/gp1d").text, "f.toml"); });
  CHECK(error.starts_with("[protocol] f.toml: extends is an unknown key, expected one of: "));
}

TEST_CASE("[protocol text] impossible extensions are errors") {
  const Files files;
  const auto error = [&](const std::string& name, const std::string& text) {
    const std::string path = files.write(name, text);
    return error_of([&] { protocol_text(path); });
  };
  const std::string a = files.path("a.toml");
  CHECK(error("a.toml", "name = \"a\"\nextends = 3") ==
        "[protocol] " + a + ": extends is not a string, expected a name or a path");
  CHECK(error("a.toml", "name = \"a\"\nextends = \"gp\"") ==
        "[protocol] " + a +
            ": extends is 'gp', neither a protocol nor a path that ends in .toml, did you mean 'anp/gp1d', "
            "'quick/gp1d' or 'tnp/gp-rbf'? (npzoo list protocols shows all)");
  CHECK(error("a.toml", "extends = \"quick/gp1d\"") ==
        "[protocol] " + a + ": name is missing, expected a string other than the name of quick/gp1d");
  CHECK(error("a.toml", "name = \"a\"\nextends = \"none.toml\"").find(files.path("none.toml")) != std::string::npos);
  CHECK(error("a.toml", "name = \"a\"\nextends = \"a.toml\"") ==
        "[protocol] " + a + ": extends forms a circle: " + a + ", " + a);
  files.write("b.toml", "name = \"b\"\nextends = \"sub/../a.toml\"");
  CHECK(error("a.toml", "name = \"a\"\nextends = \"b.toml\"") ==
        "[protocol] " + a + ": extends forms a circle: " + a + ", " + files.path("b.toml") + ", " + a);
  files.write("b.toml", "name = ");
  CHECK(error("a.toml", "name = \"a\"\nextends = \"b.toml\"")
            .starts_with("[protocol] " + files.path("b.toml") + ": line 1"));

  files.write("0.toml", load_protocol("quick/gp1d").text);
  for (int i = 1; i <= 9; ++i)
    files.write(fmt::format("{}.toml", i), fmt::format("name = \"{}\"\nextends = \"{}.toml\"", i, i - 1));
  CHECK(load_protocol(files.path("8.toml")).name == "8");
  CHECK(error_of([&] { protocol_text(files.path("9.toml")); }) ==
        "[protocol] " + files.path("9.toml") + ": extends names more than 8 protocols in a row, expected at most 8");
}

TEST_CASE("[protocol text] changes are part of the name, and hash as other rules do") {
  const Protocol gp = load_protocol("tnp/gp-rbf");
  const auto changed = [&](std::vector<std::string> changes) { return with_changes(gp, changes); };
  CHECK(changed({}).text == gp.text);

  const Protocol points = changed({"data.points = 60"});
  CHECK(points.name == "tnp/gp-rbf --set data.points=60");
  CHECK_FALSE(same_data(points, gp));
  CHECK(protocol_version(points, "rbf", "cnp") != protocol_version(gp, "rbf", "cnp"));
  for (const TestConfig& test : points.evaluation.tests) {
    CHECK(test.published.empty());
    CHECK(test.oracle == OracleValues());
  }
  CHECK(points.evaluation.densities.empty());
  CHECK(parse_protocol(points.text, "again").name == points.name);
  CHECK(protocol_version(parse_protocol(points.text, "again"), "rbf", "cnp") == protocol_version(points, "rbf", "cnp"));

  const Protocol steps = changed({"training.optimiser.lr=1e-3", "training.steps=1", "training.steps=7"});
  CHECK(steps.name == "tnp/gp-rbf --set training.optimiser.lr=1e-3 --set training.steps=7");
  CHECK(steps.training.steps == 7);
  CHECK(steps.training.optimiser.lr == 1e-3);
  CHECK(steps.training.optimiser.kind == gp.training.optimiser.kind);
  CHECK(same_data(steps, gp));
  for (std::size_t i = 0; i < gp.evaluation.tests.size(); ++i) {
    CHECK(steps.evaluation.tests[i].published.empty());
    CHECK(steps.evaluation.tests[i].oracle == gp.evaluation.tests[i].oracle);
  }
  CHECK(changed({"training.steps=7", "training.optimiser.lr=1e-3"}).text == steps.text);

  CHECK(changed({R"(description="it's mine")"}).name == R"(tnp/gp-rbf --set 'description="it'\''s mine"')");
}

TEST_CASE("[protocol text] changed rules have no published figure of any kind") {
  const Protocol search = load_protocol("tnp-kr/bo1d-rbf");
  CHECK(search.evaluation.tests[0].published_figures.at("simple_regret").size() == 10);
  const Protocol short_search = with_changes(search, std::vector<std::string>{"evaluation.rules.steps=5"});
  CHECK(short_search.evaluation.tests[0].published_figures.empty());
  const std::vector<std::string> faster{"training.steps=7"};
  CHECK(with_changes(load_protocol("tnp/gp-rbf"), faster).evaluation.spread == Spread());
}

TEST_CASE("[protocol text] a protocol that changes the extended rules does not inherit its figures") {
  const Files files;
  const Protocol theirs = load_protocol("tnp/gp-rbf");
  const auto extended = [&](const std::string& own) {
    return load_protocol(files.write("own.toml", "extends = \"tnp/gp-rbf\"\nname = \"mine\"\n" + own)).evaluation;
  };
  const auto check_has = [&](const EvaluationConfig& e, bool rows, bool oracles) {
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(e.tests[i].published.empty() == !rows);
      CHECK(e.tests[i].oracle == (oracles ? theirs.evaluation.tests[i].oracle : OracleValues()));
    }
    CHECK(e.densities.empty() == !rows);
    CHECK((e.spread == Spread()) == !rows);
  };
  check_has(extended("description = \"words\"\n[models.cnp]\ndim_hid = 64\n"), true, true);
  check_has(extended("[validation]\nbatches = 7\n"), true, true);
  check_has(extended("[training]\nsteps = 7\n"), false, true);
  check_has(extended("[data]\npoints = 200\n"), false, false);
  check_has(extended("[evaluation]\nbatch_size = 2\n"), false, false);
  const EvaluationConfig further =
      load_protocol(files.write("further.toml", "extends = \"own.toml\"\nname = \"further\"\n")).evaluation;
  check_has(further, false, false);

  // A file keeps the tests that it states, with their published rows.
  const EvaluationConfig restated = extended(R"(
[data]
points = 200
[[evaluation.tests]]
name = "only"
kernels = [{ kind = "rbf", lengthscale = 0.5, scale = 1.0 }]
oracle = { known_marginal = 2.0 }
published = { np = [0.5, 0.1], cnp = 0.4 }
)");
  CHECK(restated.tests[0].published.size() == 2);
  CHECK(restated.tests[0].oracle.known_marginal == 2.0);
  CHECK(restated.densities == std::map<std::string, Density>{{"np", Density::mixture}});
  CHECK(restated.spread == Spread{.kind = SpreadKind::deviation, .seeds = 5, .assumed = true});
  const Protocol search = load_protocol(
      files.write("search.toml", "extends = \"tnp-kr/bo1d-rbf\"\nname = \"search\"\n[evaluation]\nbatches = 1\n"));
  CHECK(search.evaluation.tests[0].published_figures.empty());
}
