#include "npzoo/engine/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace npzoo {

namespace {

constexpr std::size_t kMostNearest = 3, kFewNames = 6;
constexpr std::size_t kLongestWord = 80;  // a longer one is no misspelt name, and distances take quadratic time

/// In lower case and without dashes in front.
std::string plain(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

/// Letters to insert, delete or replace, and neighbours to swap, until `a` is `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

/// The edit distance, or 1 if one word is a part of the other: "gp-rbf" of "tnp/gp-rbf", "--output" of "--out", "-o" of
/// "--out".
std::size_t distance(std::string_view word, std::string_view known) {
  constexpr std::size_t kTelling = 2, kWhole = 3;  // letters
  const bool shortened =
      word.size() >= kTelling ? known.find(word) != known.npos : word.size() == 1 && known.starts_with(word);
  const bool lengthened = known.size() >= kWhole && 2 * known.size() >= word.size() && word.starts_with(known);
  std::size_t edits = edit_distance(word, known);
  // One letter of three is another word: "gpu" is not "cpu". Swapped letters are a slip: "uot" is "out".
  if (word.size() <= kWhole && !known.starts_with(word[0]) && !std::ranges::is_permutation(word, known)) edits += 1;
  return shortened || lengthened ? std::min<std::size_t>(1, edits) : edits;
}

std::string quoted(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : i + 1 < words.size() ? ", " : " or ", words[i]);
  return text;
}

}  // namespace

std::vector<std::string> nearest_words(std::string_view word, const std::vector<std::string>& known) {
  const std::string wanted = plain(word.substr(0, kLongestWord + 1));
  if (wanted.empty() || wanted.size() > kLongestWord) return {};
  struct Near {
    std::size_t distance, longer;
    const std::string* word;
  };
  const std::size_t farthest = std::max<std::size_t>(1, wanted.size() / 3);
  std::vector<Near> near;
  for (const std::string& candidate : known) {
    const std::string name = plain(candidate);
    const std::size_t longer = std::max(name.size(), wanted.size()) - std::min(name.size(), wanted.size());
    if (const std::size_t d = distance(wanted, name); d <= farthest) near.push_back({d, longer, &candidate});
  }
  const auto order = [](const Near& n) { return std::pair(n.distance, n.longer); };
  std::ranges::stable_sort(near, {}, order);
  std::vector<std::string> words;
  for (const Near& n : near)
    if (words.size() < kMostNearest && n.distance <= near.front().distance + 1) words.push_back(*n.word);
  return words;
}

std::string expected_words(std::string_view word, const std::vector<std::string>& known) {
  if (const auto near = nearest_words(word, known); !near.empty())
    return fmt::format(", did you mean {}?", quoted(near));
  return fmt::format(", expected one of: {}", fmt::join(known, ", "));
}

std::string expected_names(std::string_view word, const std::vector<std::string>& known, std::string_view list) {
  if (const auto near = nearest_words(word, known); !near.empty())
    return fmt::format(", did you mean {}? ({} shows all)", quoted(near), list);
  if (!known.empty() && known.size() <= kFewNames) return fmt::format(", expected one of: {}", fmt::join(known, ", "));
  return fmt::format(", expected one that {} lists", list);
}

std::string counted(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace npzoo
