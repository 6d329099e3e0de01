#include "tools/cli/messages.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

namespace npzoo::tools {

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  constexpr std::size_t kLongestWord = 512, kShown = 128;
  std::string line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size() - 1) + 1;
    std::size_t shown = end - begin > kLongestWord ? kShown : end - begin;
    while (shown > 0 && begin + shown < end && (text[begin + shown] & 0xC0) == 0x80) --shown;  // not within a character
    line.append(text, begin, shown);
    if (begin + shown < end) line += fmt::format("… ({} bytes) ", end - begin);
    begin = end;
  }
  return line;
}

void print_error(std::string_view message) {
  std::fputs(fmt::format("npzoo: error: {}\n", one_line(std::string(message))).c_str(), stderr);
}

void warn_of(const NumericalEvents& events) {
  if (events.clamped_denominators > 0)
    fmt::print(stderr,
               "npzoo: {} denominators of linear attention were limited: its random features have collapsed there\n",
               events.clamped_denominators);
  if (events.failed_factorisations > 0)
    fmt::print(stderr,
               "npzoo: the weights average many Gaussian processes for each series. {} of them were left out, because "
               "they cannot be computed for values or places that hardly differ; the others made the predictions\n",
               events.failed_factorisations);
}

}  // namespace npzoo::tools
