#include "python/core/terms.h"

#include <regex>
#include <string_view>
#include <utility>

namespace npzoo::python {

namespace {

/// The names of columns that a flag has as its value, as an argument has them: 'a', or ['a', 'b, c'].
std::string as_argument(std::string_view list) {
  std::string name, names;
  int count = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && !quoted)) {
      names += (count++ > 0 ? ", '" : "'") + name + "'";
      name.clear();
    } else if (list[i] == '"') {
      quoted = !quoted;
    } else {
      name += list[i];
    }
  }
  return count == 1 ? names : "[" + names + "]";
}

/// Writes flags with names of columns as arguments. Words such as "to" behind a flag are no names.
std::string with_column_arguments(std::string text) {
  static const std::regex flag(
      R"(--(inputs|values|group|covariates|time) (?!(?:to|and|or|names?|with|for)\b)('[^']*'|"[^"]*"[^\s;:]*|[^\s;:]*[^\s;:.,]))");
  std::string written;
  std::smatch found;
  while (std::regex_search(text, found, flag)) {
    std::string list = found[2];
    if (list.front() == '\'') list = list.substr(1, list.size() - 2);
    written += found.prefix().str() + found[1].str() + "=" + as_argument(list);
    text = found.suffix();
  }
  return written + text;
}

}  // namespace

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
      {std::regex(R"(--date ([^\s;,]+,[^\s;]+))"), "one column of dates made of $1"},
      {std::regex(R"(--horizon (\d+))"), "horizon=$1"},
      {std::regex(R"(\bno --counts\b)"), "no counts"},
      {std::regex(R"(for --counts\b)"), "for counts=True"},
      {std::regex(R"(--(lonlat|counts)\b)"), "$1=True"},
      {std::regex(R"(--no-standardise\b)"), "standardise=False"},
      {std::regex(R"(--no-turn\b)"), "turn=False"},
      {std::regex(R"(--linear-mean\b)"), "linear_mean=True"},
      {std::regex(R"((^|[\s('"])--([a-z]))"), "$1$2"}};
  std::string text = with_column_arguments(message);
  for (const auto& [flag, argument] : kTerms) text = std::regex_replace(text, flag, argument);
  return text;
}

}  // namespace npzoo::python
