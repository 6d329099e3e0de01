#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "npzoo/datasets/number_rule.h"

namespace npzoo {

/// "integer from 2 to 4096", or "integer >= 2".
std::string integer_type(std::int64_t low, std::optional<std::int64_t> high);
/// "number > 0" for "a number > 0".
std::string without_article(std::string_view type);
std::string type_of(const NumberRule& rule);

/// One line about a key: what it means, with the unit.
using KeyLine = const char*;

/// For keys inside a value of several forms: the line of the value describes them, see TomlReader::any_form.
inline constexpr KeyLine kPartOfForm = "";
/// For sizes of models that follow from the data of a protocol: these keys are not in files.
inline constexpr KeyLine kGivenByData = "";

/// Answers the questions of readers without a file, and records them. Implements described_keys.
class KeyExplorer {
 public:
  /// The explorer that readers of this thread ask; null: they read files.
  static KeyExplorer* current();

  /// Thrown where a reader has got as far as it can with these answers.
  struct Finished {};

  /// A key that a reader read. `choices` are the words that the type consists of, if there are any.
  struct Key {
    std::string name, type, meaning, default_value;
    std::vector<std::string> choices;
  };

  void record(Key key);
  /// Leaves out this key and all below it from now on: they are forms of a value that is described already.
  void hide(const std::string& name) { hidden_.push_back(name); }

  bool has(const std::string& key) { return ask("has " + key, {"yes", "no"}) == 0; }
  bool is_form(const std::string& key, const char* form) { return ask(form + (" " + key), {"yes", "no"}) == 0; }
  bool truth(const std::string& key) { return ask(key, {"true", "false"}) == 0; }
  std::size_t choice(const std::string& key, std::span<const std::string_view> words) {
    return ask(key, {words.begin(), words.end()});
  }
  /// Examples that the rule holds for. Of two the first is not larger.
  static double number(const NumberRule& rule);
  static std::pair<double, double> two_numbers(const NumberRule& rule);

 private:
  friend class KeyExploration;

  /// A question, its possible answers, and the number of the answer given.
  struct Question {
    std::string about;
    std::vector<std::string> answers;
    std::size_t given = 0;
  };

  std::size_t ask(const std::string& about, std::vector<std::string> answers);

  std::map<std::string, std::size_t> given_{};  // answers other than the first
  std::vector<Question> questions_{};
  std::vector<Key> keys_{};
  std::vector<std::string> hidden_{};
};

}  // namespace npzoo
