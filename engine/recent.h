#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <utility>

namespace npzoo {

/// A map that holds at most `most` ≥ 1 values, the last used ones.
template <class Key, class Value>
class Recent {
 public:
  explicit Recent(std::size_t most) : most_(most) {}

  /// Returns the value of `key`, which `make()` makes if there is none. A new value may replace the one whose last use
  /// is the oldest. The reference is valid until the next call. Changes nothing if `make` throws.
  template <class F>
  Value& find_or_make(const Key& key, const F& make) {
    if (const auto found = places_.find(key); found != places_.end()) {
      values_.splice(values_.begin(), values_, found->second);
      return values_.front().second;
    }
    std::list<std::pair<Key, Value>> made;
    made.emplace_back(key, make());
    places_.emplace(key, made.begin());
    values_.splice(values_.begin(), made);
    if (values_.size() > most_) {
      places_.erase(values_.back().first);
      values_.pop_back();
    }
    return values_.front().second;
  }

  std::size_t size() const { return values_.size(); }

 private:
  std::size_t most_;
  std::list<std::pair<Key, Value>> values_;  // the last used one first
  std::map<Key, typename std::list<std::pair<Key, Value>>::iterator> places_;
};

}  // namespace npzoo
