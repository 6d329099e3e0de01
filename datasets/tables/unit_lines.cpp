#include "npzoo/datasets/tables/unit_lines.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/cell_parser.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

/// Units, signs and words between blanks. Capitals count: 1 M is not 1 m.
constexpr std::string_view kKnown =
    " m mm cm dm km um µm μm nm ft in mi nmi yd s sec secs second seconds ms us min minute minutes h hr hrs hour "
    "hours d day days dy wk week weeks mo mn month months yr year years a g kg mg ug µg μg ng t lb oz K degC degF "
    "degK °C °F ºC ºF C F celsius Celsius fahrenheit kelvin deg degs degree degrees degT ° Pa hPa kPa MPa mb mbar "
    "bar dbar db atm psi mmHg inHg V mV kV A mA W mW kW MW GW Wh kWh MWh GWh VA kVA var kvar J kJ MJ GJ cal kcal "
    "l L ml mL cl hl µl dl gal Hz kHz MHz rpm dB dBm lx lux ppm ppmv ppb ppbv ppt % ‰ pct percent psu PSU pH mol "
    "mmol umol µmol nmol M mM uM µM S uS µS μS mS NTU FNU FTU CFU EUR Euro € $ £ USD GBP CHF SEK ct cents count "
    "counts kt kts kn knots mph kmh bpm steps IU U N kN Nm N/m2 st Stk pcs ha ac unitless dimensionless none "
    "index hex - -- – # _ n/a Avg Max Min Smp Tot Std Sum Mean TS RN ";

bool is_known(std::string_view word) {
  if (is_time_zone(word)) return true;
  const std::size_t at = kKnown.find(word);
  for (std::size_t from = at; from != std::string_view::npos; from = kKnown.find(word, from + 1))
    if (kKnown[from - 1] == ' ' && kKnown[from + word.size()] == ' ') return true;
  return false;
}

/// yyyy-mm-dd hh:mm, DD.MM.YYYY.
bool is_date_pattern(std::string_view cell) {
  constexpr std::size_t kShortest = 5;
  return cell.size() >= kShortest && cell.find_first_of("yYhH") != std::string_view::npos &&
         cell.find_first_not_of("yYmMdDhHsSjJaAtTgG-/.: _") == std::string_view::npos &&
         cell.find_first_of("-/.:") != std::string_view::npos;
}

/// Units between / * · and blanks, with exponents: kg/m3, W m-2, m^3·s⁻¹.
bool is_product(std::string_view cell) {
  constexpr auto kBetween = std::to_array<std::string_view>({"/", "*", "·", " ", "."});
  constexpr auto kExponents = std::to_array<std::string_view>({"⁻", "¹", "²", "³", "^", "+", "-"});
  std::string_view rest = cell;
  std::string word;
  const auto is_factor = [&word] {
    while (!word.empty() && word.back() >= '0' && word.back() <= '9') word.pop_back();
    while (!word.empty() && (word.back() == '-' || word.back() == '^')) word.pop_back();
    const bool known = !word.empty() && is_known(word);
    word.clear();
    return known;
  };
  const auto take = [&rest](const auto& texts) {
    const auto found = std::ranges::find_if(texts, [&](std::string_view text) { return rest.starts_with(text); });
    if (found == texts.end()) return false;
    rest.remove_prefix(found->size());
    return true;
  };
  while (!rest.empty()) {
    if (take(kBetween)) {
      if (!is_factor()) return false;
    } else if (word.empty() || !take(kExponents)) {
      word += rest.front();
      rest.remove_prefix(1);
    }
  }
  return is_factor();
}

}  // namespace

bool is_time_zone(std::string_view cell) {
  constexpr auto kZones = std::to_array<std::string_view>({"UTC", "GMT", "UT", "CET", "CEST", "MEZ", "LT", "local"});
  return std::ranges::find(kZones, cell) != kZones.end();
}

bool is_unit(std::string_view cell) {
  cell = trim(cell);
  if (cell.size() > 2 && (cell.front() == '[' || cell.front() == '(') &&
      cell.back() == (cell.front() == '[' ? ']' : ')'))
    return true;
  return !cell.empty() && (is_known(cell) || is_date_pattern(cell) || is_product(cell));
}

std::size_t count_unit_lines(const TableFormat& format, std::span<const std::string_view> rows) {
  constexpr std::size_t kMost = 2;
  std::vector<Cells> cells(rows.size());
  try {
    for (std::size_t i = 0; i < rows.size(); ++i) format.split(rows[i], 0, cells[i]);
  } catch (const Error&) {
    return 0;
  }
  const auto has_units = [](const Cells& row) {
    return std::ranges::all_of(row.text, [](std::string_view cell) { return cell.empty() || is_unit(cell); });
  };
  std::size_t units = 0;
  while (units < std::min(kMost, rows.size()) && has_units(cells[units])) ++units;
  CellParser parser(format);
  const auto is_data = [&](std::string_view cell) { return parser.kind_of(cell) != ColumnForm::Kind::unknown; };
  for (std::size_t c = 0; c < format.columns() && units > 0; ++c) {
    if (parser.is_missing(cells[0].text[c])) continue;
    std::size_t data = 0, others = 0;
    for (std::size_t i = units; i < rows.size(); ++i)
      if (const std::string_view cell = cells[i].text[c]; !parser.is_missing(cell)) ++(is_data(cell) ? data : others);
    if (data > 0 && others == 0) return units;
  }
  return 0;
}

}  // namespace npzoo
