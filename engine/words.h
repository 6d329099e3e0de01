#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace npzoo {

/// The words of `known` that a misspelt, shortened or lengthened `word` probably stands for, best first, at most three.
/// Dashes in front and upper case make no difference. Empty if none is near.
std::vector<std::string> nearest_words(std::string_view word, const std::vector<std::string>& known);

/// The end of a message about an unknown word: ", did you mean 'train'?" if one is near, else ", expected one of: …".
std::string expected_words(std::string_view word, const std::vector<std::string>& known);

/// The same for names of which there are many: ", did you mean 'tnp-d', 'tnp-a' or 'tnp-nd'? (npzoo list models shows
/// all)". `list` is the command that lists them. More than a few names are never printed.
std::string expected_names(std::string_view word, const std::vector<std::string>& known, std::string_view list);

/// "1 row", "2 rows".
std::string counted(std::int64_t count, std::string_view what);

}  // namespace npzoo
