#include "npzoo/datasets/tables/month_names.h"

#include <algorithm>
#include <array>
#include <string>

#include "npzoo/datasets/tables/text_parts.h"

namespace npzoo {

namespace {

struct Month {
  int number;
  std::string_view words;  // between blanks
};

constexpr std::array<Month, 12> kMonths = {{
    {1, " january jan januar jän jänner januari janvier janv enero ene janeiro gennaio gen "},
    {2, " february feb februar februari février févr fév fevrier fevr febrero fevereiro fev febbraio "},
    {3, " march mar märz mär maerz mrz mars marzo março marco maart mrt mart "},
    {4, " april apr avril avr abril abr aprile "},
    {5, " may mai mayo maio mag maggio mei maj "},
    {6, " june jun juni juin junio junho giugno giu "},
    {7, " july jul juli juillet juil julio julho luglio lug "},
    {8, " august aug août aoû aout agosto ago augustus augusti "},
    {9, " september sep sept septembre septiembre setiembre setembro set settembre "},
    {10, " october oct oktober okt octobre octubre outubro out ottobre ott "},
    {11, " november nov novembre noviembre novembro "},
    {12, " december dec dezember dez décembre déc decembre diciembre dic dezembro dicembre des desember "},
}};

constexpr std::string_view kWeekdays =
    " monday mon tuesday tue wednesday wed thursday thu friday fri saturday sat sunday sun ";

std::string between_blanks(std::string_view word) {
  std::string text = " ";
  for (const char c : word) text += small_letter(c);
  return text + ' ';
}

constexpr std::size_t kShortestMonth = 3, kLongestMonth = 12;

}  // namespace

int month_of(std::string_view word) {
  if (word.size() < kShortestMonth || word.size() > kLongestMonth || word.find(' ') != std::string_view::npos) return 0;
  const std::string wanted = between_blanks(word);
  const auto found = std::ranges::find_if(
      kMonths, [&](const Month& month) { return month.words.find(wanted) != std::string_view::npos; });
  return found == kMonths.end() ? 0 : found->number;
}

bool is_weekday(std::string_view word) {
  return word.size() >= kShortestMonth && word.size() <= kLongestMonth && word.find(' ') == std::string_view::npos &&
         kWeekdays.find(between_blanks(word)) != std::string_view::npos;
}

}  // namespace npzoo
