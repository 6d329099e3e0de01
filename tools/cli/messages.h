#pragma once

#include <string>
#include <string_view>

#include "npzoo/models/numerical_events.h"

namespace npzoo::tools {

/// For messages: names out of files from strangers may hold line ends and escape sequences, and a word of many hundred
/// characters hides the rest of the line.
std::string one_line(std::string text);

/// "npzoo: error: …" on standard error, in one line. Throws nothing but std::bad_alloc.
void print_error(std::string_view message);

/// Prints one line on standard error for each kind of event that there was.
void warn_of(const NumericalEvents& events);

}  // namespace npzoo::tools
