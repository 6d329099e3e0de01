#include "npzoo/datasets/key_explorer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <set>

#include "npzoo/datasets/described_keys.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

thread_local KeyExplorer* current_explorer = nullptr;

/// Makes an explorer the one of this thread, as long as it lives.
class ExplorerScope {
 public:
  explicit ExplorerScope(KeyExplorer& explorer) { current_explorer = &explorer; }
  ExplorerScope(const ExplorerScope&) = delete;
  ExplorerScope& operator=(const ExplorerScope&) = delete;
  ~ExplorerScope() { current_explorer = nullptr; }
};

}  // namespace

std::string integer_type(std::int64_t low, std::optional<std::int64_t> high) {
  return high ? fmt::format("integer from {} to {}", low, *high) : fmt::format("integer >= {}", low);
}

std::string without_article(std::string_view type) {
  for (const std::string_view article : {"a ", "an "})
    if (type.starts_with(article)) return std::string(type.substr(article.size()));
  return std::string(type);
}

std::string type_of(const NumberRule& rule) { return without_article(rule.expected); }

KeyExplorer* KeyExplorer::current() { return current_explorer; }

void KeyExplorer::record(Key key) {
  const auto is_within = [&](const std::string& name) { return key.name == name || key.name.starts_with(name + "."); };
  if (std::ranges::none_of(hidden_, is_within)) keys_.push_back(std::move(key));
}

double KeyExplorer::number(const NumberRule& rule) {
  for (const double x : {0.0, 1.0, 0.5, 2.0, 4096.0})
    if (rule.holds(x)) return x;
  fail("[keys] no example found for '{}'", rule.expected);
}

std::pair<double, double> KeyExplorer::two_numbers(const NumberRule& rule) {
  for (const auto& [low, high] : {std::pair(0.25, 0.5), std::pair(1.0, 2.0), std::pair(4096.0, 4096.0)})
    if (rule.holds(low) && rule.holds(high)) return {low, high};
  fail("[keys] no example found for '{}'", rule.expected);
}

std::size_t KeyExplorer::ask(const std::string& about, std::vector<std::string> answers) {
  const auto asked = std::ranges::find(questions_, about, &Question::about);
  if (asked != questions_.end()) return asked->given;
  const auto given = given_.find(about);
  const std::size_t answer = given == given_.end() ? 0 : given->second;
  questions_.push_back({about, std::move(answers), answer});
  return answer;
}

/// Runs a reader with all answers that matter, and merges the keys that it read.
class KeyExploration {
 public:
  explicit KeyExploration(const std::function<void()>& read) : read_(read) {}

  std::vector<DescribedKey> keys() {
    explore();
    std::vector<DescribedKey> described;
    for (const Key& key : keys_) described.push_back(describe(key));
    return described;
  }

 private:
  using Key = KeyExplorer::Key;
  using Question = KeyExplorer::Question;

  /// One run: it differs from run `parent` in the answer to `changed` alone, and in what follows from that.
  struct Run {
    std::map<std::string, std::size_t> given;
    std::size_t parent = 0;
    std::string changed{};
    std::vector<Question> questions{};
    std::set<std::size_t> keys{};  // indices of keys_
    bool ended_early = false;      // at an error: what it lacks says nothing
  };

  void explore() {
    runs_.push_back({});
    std::set<std::pair<std::string, std::size_t>> tried;
    for (std::size_t at = 0; at < runs_.size(); ++at) {
      run(runs_[at]);
      for (const Question& question : runs_[at].questions) {
        tried.emplace(question.about, question.given);
        for (std::size_t answer = 0; answer < question.answers.size(); ++answer) {
          if (!tried.emplace(question.about, answer).second) continue;
          std::map<std::string, std::size_t> given = runs_[at].given;
          given[question.about] = answer;
          runs_.push_back({std::move(given), at, question.about});
        }
      }
    }
  }

  void run(Run& run) {
    KeyExplorer explorer;
    explorer.given_ = run.given;
    try {
      const ExplorerScope scope(explorer);
      read_();
    } catch (const KeyExplorer::Finished&) {
    } catch (const Error&) {
      run.ended_early = true;
    }
    run.questions = std::move(explorer.questions_);
    merge(run, explorer.keys_);
  }

  /// Adds the keys of a run. Keys that are new stand before the known key that follows them in this run, so behind the
  /// alternatives to them that other runs have found.
  void merge(Run& run, std::vector<Key>& keys) {
    std::size_t next = 0;
    for (auto key = keys.begin(); key != keys.end(); ++key) {
      const auto known = find(*key);
      if (known == keys_.end()) {
        const auto follows =
            std::find_if(key, keys.end(), [&](const Key& other) { return find(other) != keys_.end(); });
        const auto place = follows == keys.end() ? keys_.begin() + static_cast<std::ptrdiff_t>(next) : find(*follows);
        next = insert(std::move(*key), static_cast<std::size_t>(place - keys_.begin()));
      } else {
        add_words(*known, key->choices);
        next = static_cast<std::size_t>(known - keys_.begin());
      }
      run.keys.insert(next++);
    }
  }

  std::vector<Key>::iterator find(const Key& key) {
    return std::ranges::find_if(
        keys_, [&](const Key& other) { return other.name == key.name && other.meaning == key.meaning; });
  }

  static void add_words(Key& key, const std::vector<std::string>& words) {
    for (const std::string& word : words)
      if (std::ranges::find(key.choices, word) == key.choices.end()) key.choices.push_back(word);
  }

  /// Returns `place`.
  std::size_t insert(Key key, std::size_t place) {
    for (Run& run : runs_) {
      std::set<std::size_t> moved;
      for (const std::size_t index : run.keys) moved.insert(index < place ? index : index + 1);
      run.keys = std::move(moved);
    }
    keys_.insert(keys_.begin() + static_cast<std::ptrdiff_t>(place), std::move(key));
    return place;
  }

  const Question& question(const Run& run, const std::string& about) const {
    return *std::ranges::find(run.questions, about, &Question::about);
  }

  /// Says when the key is read, as the runs that differ in one answer show.
  DescribedKey describe(const Key& key) const {
    const auto index = static_cast<std::size_t>(&key - keys_.data());
    DescribedKey described{key.name, key.type, key.meaning, key.default_value};
    if (!key.choices.empty()) described.type = fmt::format("\"{}\"", fmt::join(key.choices, "\", \""));
    const auto first = std::ranges::find_if(runs_, [&](const Run& run) { return run.keys.contains(index); });
    std::vector<std::string> conditions;
    if (first != runs_.begin()) add_condition(index, runs_[first->parent], first->changed, conditions);
    std::set<std::string> changed;
    for (const Run& run : runs_) {
      const bool follows = &run != &runs_.front() && &runs_[run.parent] == &*first;
      if (!follows || run.ended_early || run.keys.contains(index) || !changed.insert(run.changed).second) continue;
      if (run.changed == "has " + key.name)
        described.optional = true;
      else
        add_condition(index, *first, run.changed, conditions);
    }
    described.condition = fmt::format("{}", fmt::join(conditions, ", "));
    return described;
  }

  /// Adds for which answers to the question the key is read, by `parent` and the runs that differ from it in that
  /// answer.
  void add_condition(std::size_t key, const Run& parent, const std::string& about,
                     std::vector<std::string>& conditions) const {
    const Question& asked = question(parent, about);
    std::set<std::size_t> answers;
    if (parent.keys.contains(key)) answers.insert(asked.given);
    for (const Run& run : runs_)
      if (&run != &runs_.front() && &runs_[run.parent] == &parent && run.changed == about && run.keys.contains(key))
        answers.insert(question(run, about).given);
    if (answers.empty()) return;
    const bool presence = about.starts_with("has ");
    if (presence && keys_[key].name.starts_with(about.substr(4) + ".")) return;  // goes without saying
    if (presence) {
      conditions.push_back(fmt::format("{} {}", *answers.begin() == 0 ? "with" : "without", about.substr(4)));
      return;
    }
    std::vector<std::string> words;
    for (const std::size_t answer : answers) words.push_back(asked.answers[answer]);
    conditions.push_back(fmt::format("{} = {}", about, fmt::join(words, " or ")));
  }

  const std::function<void()>& read_;
  std::deque<Run> runs_;
  std::vector<Key> keys_;
};

std::vector<DescribedKey> described_keys(const std::function<void()>& read) { return KeyExploration(read).keys(); }

}  // namespace npzoo
