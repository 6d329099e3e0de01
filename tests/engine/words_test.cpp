#include "npzoo/engine/words.h"

#include <doctest/doctest.h>

using namespace npzoo;

namespace {

using Words = std::vector<std::string>;

const Words kProtocols = {"npzoo/any-1d",        "npzoo/gp-rbf", "quick/gp1d", "quick/mnist",
                          "taylorformer/gp-rbf", "tnp/gp-rbf",   "tnp/bo1d"};

}  // namespace

TEST_CASE("words: the nearest come first, and not more than three") {
  CHECK(nearest_words("tnpd", {"cnp", "tnp-d", "tnp-nd"}) == Words{"tnp-d"});
  CHECK(nearest_words("gp-rbf", kProtocols) == Words{"tnp/gp-rbf", "npzoo/gp-rbf", "taylorformer/gp-rbf"});
  CHECK(nearest_words("QUICK/GP1D", kProtocols) == Words{"quick/gp1d"});
  CHECK(nearest_words("quick/mnits", kProtocols) == Words{"quick/mnist"});
  CHECK(nearest_words("a", Words(9, "abc")).size() == 3);
  CHECK(nearest_words("zebra", kProtocols).empty());
  CHECK(nearest_words("", kProtocols).empty());
  CHECK(nearest_words("--", kProtocols).empty());
  CHECK(nearest_words(std::string(1'000'000, 'x'), kProtocols).empty());
}

TEST_CASE("words: flags of other programs") {
  const Words flags = {"--out", "--plot", "--values", "--version", "--threads"};
  CHECK(nearest_words("--output", flags) == Words{"--out"});
  CHECK(nearest_words("-o", flags) == Words{"--out"});
  CHECK(nearest_words("-v", flags) == Words{"--values", "--version"});
  CHECK(nearest_words("--frobnicate", flags).empty());
  CHECK(nearest_words("--outcomes-of-all", flags).empty());
  CHECK(nearest_words("gpu", {"cpu", "cuda"}).empty());
}

TEST_CASE("words: the end of a message") {
  CHECK(expected_words("--otu", {"--out", "--plot"}) == ", did you mean '--out'?");
  CHECK(expected_words("--uot", {"--out", "--plot"}) == ", did you mean '--out'?");
  CHECK(expected_words("frobnicate", {"list", "info"}) == ", expected one of: list, info");
  CHECK(expected_names("gp-rbf", kProtocols, "npzoo list protocols") ==
        ", did you mean 'tnp/gp-rbf', 'npzoo/gp-rbf' or 'taylorformer/gp-rbf'? (npzoo list protocols shows all)");
  CHECK(expected_names("zebra", kProtocols, "npzoo list protocols") ==
        ", expected one that npzoo list protocols lists");
  CHECK(expected_names("zebra", {"cnp", "np"}, "npzoo list models") == ", expected one of: cnp, np");
  CHECK(expected_names("zebra", {}, "npzoo list weights") == ", expected one that npzoo list weights lists");
}

TEST_CASE("words: one is counted as one") {
  CHECK(counted(0, "row") == "0 rows");
  CHECK(counted(1, "row") == "1 row");
  CHECK(counted(2, "known point") == "2 known points");
}
