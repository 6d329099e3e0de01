#include "npzoo/engine/recent.h"

#include <memory>

#include "tests/testing.h"

using namespace npzoo;

namespace {

/// Finds `key`, with the value −key; returns whether it was made.
bool makes(Recent<int, int>& recent, int key) {
  bool made = false;
  const int& value = recent.find_or_make(key, [&] {
    made = true;
    return -key;
  });
  CHECK(value == -key);
  return made;
}

}  // namespace

TEST_CASE("recent: a value is made once, and the one used longest ago goes first") {
  Recent<int, int> recent(3);
  for (const int key : {1, 2, 3}) CHECK(makes(recent, key));
  for (const int key : {3, 1, 2}) CHECK_FALSE(makes(recent, key));
  CHECK(makes(recent, 4));  // in place of 3
  for (const int key : {1, 2, 4}) CHECK_FALSE(makes(recent, key));
  CHECK(makes(recent, 3));  // in place of 1
  CHECK(makes(recent, 1));
  CHECK(recent.size() == 3);
}

TEST_CASE("recent: a value of one place gives way to each new key") {
  Recent<int, int> recent(1);
  for (const int key : {1, 2, 1}) CHECK(makes(recent, key));
  CHECK_FALSE(makes(recent, 1));
}

TEST_CASE("recent: a replaced value is destroyed, unless somebody else owns it") {
  Recent<int, std::shared_ptr<int>> recent(2);
  const auto make = [] { return std::make_shared<int>(7); };
  const std::shared_ptr<int> owned = recent.find_or_make(1, make);
  const std::weak_ptr<int> other = recent.find_or_make(2, make);
  recent.find_or_make(3, make);
  CHECK(owned.use_count() == 1);
  CHECK_FALSE(other.expired());
  recent.find_or_make(4, make);
  CHECK(other.expired());
}

TEST_CASE("recent: a value that cannot be made changes nothing") {
  Recent<int, int> recent(2);
  for (const int key : {1, 2}) makes(recent, key);
  CHECK_THROWS_AS(recent.find_or_make(3, []() -> int { throw Error("no"); }), Error);
  CHECK(recent.size() == 2);
  for (const int key : {1, 2}) CHECK_FALSE(makes(recent, key));
}
