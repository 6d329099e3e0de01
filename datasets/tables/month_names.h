#pragma once

#include <string_view>

namespace npzoo {

/// The number of a month by its name or a usual short form of it, in English, German, French, Spanish, Portuguese,
/// Italian, Dutch or a Scandinavian language; 0 for any other word. Capital letters may be of ASCII.
int month_of(std::string_view word);
/// True for the name of a weekday in English, or its first three letters.
bool is_weekday(std::string_view word);

}  // namespace npzoo
