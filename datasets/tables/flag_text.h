#pragma once

#include <span>
#include <string>
#include <string_view>

namespace npzoo {

// Flags as a person types them in a shell, for messages.

/// A value, between single quotes where a shell needs them.
std::string flag_value(std::string_view value);
/// A list of names between commas; names that hold one stand between double quotes.
std::string flag_list(std::span<const std::string> names);
/// "a", "b" and "c" in a sentence; of many the first ones.
std::string quoted_list(std::span<const std::string> names);

}  // namespace npzoo
