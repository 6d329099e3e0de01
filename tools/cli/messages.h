#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace npzoo {

/// For messages: names out of files from strangers may hold line ends and escape sequences, and a word of many hundred
/// characters hides what is said of it.
std::string one_line(std::string text);

/// "npzoo: error: …" on standard error, in one line. Throws nothing but std::bad_alloc.
void print_error(std::string_view message);

/// One line on standard error where there were any (see random_feature_attention.h).
void warn_of_clamped_denominators(std::int64_t count);
/// One line on standard error if there were any (see kriging.h).
void warn_of_failed_factorisations(std::int64_t count);

}  // namespace npzoo
