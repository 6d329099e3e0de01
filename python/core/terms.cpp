#include "python/core/terms.h"

#include <regex>
#include <utility>

namespace npzoo::python {

std::string in_python_terms(const std::string& message) {
  if (message.find("--") == std::string::npos && message.find("npzoo list") == std::string::npos) return message;
  static const std::pair<std::regex, const char*> kTerms[] = {
      {std::regex(R"(npzoo list (weights|models|protocols)( --protocol NAME)?)"), "npzoo.$1()"},
      {std::regex(R"(--bounds (-?[\d.]+(?:e[-+]?\d+)?|LOW),(-?[\d.]+(?:e[-+]?\d+)?|HIGH))"), "bounds=($1, $2)"},
      {std::regex(R"(--bounds (-?\d+(?:\.\d+)?))"), "bounds=($1, None)"},
      {std::regex(R"(--transform (none|log|sqrt|logit|auto)\b)"), "transform='$1'"},
      {std::regex(R"(--dates (dmy|mdy|ymd)\b)"), "dates='$1'"},
      {std::regex(R"(--missing (-?\d[^\s,;]*))"), "missing=[$1]"},
      {std::regex(R"(--missing ([^\s,;]+))"), "missing=['$1']"},
      {std::regex(R"(--horizon (\d+))"), "horizon=$1"},
      {std::regex(R"(\bno --counts\b)"), "no counts"},
      {std::regex(R"(for --counts\b)"), "for counts=True"},
      {std::regex(R"(--(lonlat|counts)\b)"), "$1=True"},
      {std::regex(R"(--no-standardise\b)"), "standardise=False"},
      {std::regex(R"(--no-turn\b)"), "turn=False"},
      {std::regex(R"(--linear-mean\b)"), "linear_mean=True"},
      {std::regex(R"((^|[\s('"])--([a-z]))"), "$1$2"}};
  std::string text = message;
  for (const auto& [flag, argument] : kTerms) text = std::regex_replace(text, flag, argument);
  return text;
}

}  // namespace npzoo::python
