#pragma once

#include <string>
#include <string_view>

namespace npzoo {

/// Text without the blanks and tabs around it.
std::string_view trim(std::string_view text);
/// Text from a file as one short line of an error message, in quotes.
std::string in_quotes(std::string_view text);

/// Whether all of it is UTF-8.
bool is_utf8(std::string_view text);

}  // namespace npzoo
