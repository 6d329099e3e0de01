#include "npzoo/datasets/tables/matching_rows.h"

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

using Rows = std::vector<std::int64_t>;
using Numbers = std::vector<double>;
using Names = std::vector<std::string>;
using Groups = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("matching rows: the row with the same inputs, wherever it stands") {
  const Numbers asked{3, 1, 2, 1}, known{1, 2, 4};
  CHECK(matching_rows({asked}, {known}, 1, "t.csv") == Rows{-1, 0, 1, 0});
  CHECK(matching_rows({known}, {Numbers{}}, 1, "t.csv") == Rows{-1, -1, -1});
  CHECK(matching_rows({Numbers{}}, {known}, 1, "t.csv").empty());
  CHECK(matching_rows({known}, {known}, 1, "t.csv") == Rows{0, 1, 2});
}

TEST_CASE("matching rows: all inputs count, exactly, and 0 has one sign") {
  const Numbers asked{1, 2, 2, 1, 1, std::nextafter(2.0, 3.0)}, known{2, 1, 1, 2};
  CHECK(matching_rows({asked}, {known}, 2, "t.csv") == Rows{1, 0, -1});
  const Numbers plus{0.0, 5e-324, kInfinity}, minus{kInfinity, -0.0};
  CHECK(matching_rows({plus}, {minus}, 1, "t.csv") == Rows{1, -1, 0});
}

TEST_CASE("matching rows: groups are the same by their names, not by their numbers") {
  const Numbers x{1, 1, 2, 2};
  const Names ab{"a", "b"}, bca{"b", "c", "a"};
  const Groups of_asked{0, 1, 0, 1}, of_known{2, 0, 1, 2};  // a b a b; a b c a
  CHECK(matching_rows({x, ab, of_asked}, {x, bca, of_known}, 1, "t.csv") == Rows{0, 1, 3, -1});
}

TEST_CASE("matching rows: a place that is known twice") {
  const Numbers asked{1}, known{3, 1, 2, 1, 3};
  CHECK(error_of([&] { (void)matching_rows({asked}, {known}, 1, "truth.csv"); }) ==
        "[truth.csv] rows 2 and 4 have the same inputs, expected each place once");
  const Names names{"a", "b"};
  const Groups apart{0, 0, 0, 1, 1}, alike{0, 0, 0, 0, 1};
  CHECK(matching_rows({asked, names, Groups{1}}, {known, names, apart}, 1, "truth.csv") == Rows{3});
  CHECK(error_of([&] {
          (void)matching_rows({asked, names, Groups{1}}, {known, names, alike}, 1, "truth.csv");
        }) == "[truth.csv] rows 2 and 4 have the same inputs, expected each place once");
  const Numbers zeros{0.0, -0.0};
  CHECK(error_of([&] { (void)matching_rows({asked}, {zeros}, 1, "t.csv"); }) ==
        "[t.csv] rows 1 and 2 have the same inputs, expected each place once");
}
