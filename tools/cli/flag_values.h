#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace npzoo::tools {

// Values of flags. These take the whole text or refuse it, in one line that says what was expected. Nothing is left to
// the conversions of CLI11, for which -1 is an unsigned number and 1e20 an integer.

/// Limit for steps, batches, rows and the like.
inline constexpr std::int64_t kMostCount = 1'000'000'000;
/// The largest integer of TOML, so that every seed can be written to a file of options.
inline constexpr std::int64_t kLargestSeed = std::numeric_limits<std::int64_t>::max();

/// Whole numbers, ends included.
struct Whole {
  std::int64_t least = 0, largest = kMostCount;
  bool exponents = false;  // 1e6 is one as well
};

// They throw Error, "what was found, what was expected", without the name of the flag.
std::int64_t parse_whole(const std::string& text, const Whole& range);
double parse_positive(const std::string& text);
double parse_share(const std::string& text);
/// With or without a unit: "512MB", "1GiB", "0".
std::int64_t parse_bytes(const std::string& text);
/// Not empty.
std::string parse_text(const std::string& text);
std::string parse_choice(const std::string& text, const std::vector<std::string>& choices);

/// Splits a list at its commas. Quotes around an element protect its commas: `a,"b, in °C"`; "" within them is a quote.
std::vector<std::string> parse_list(const std::string& list);
/// An element as parse_list reads it.
std::string list_element(const std::string& text);

}  // namespace npzoo::tools
