#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace npzoo {

/// The evidence that the text of a number has for the decimal sign of its table.
enum class DecimalEvidence : std::uint8_t {
  no_number,
  whole,            // 950, 1 234
  point,            // 0.5, 1,234.5, 1,234,567
  comma,            // 0,5, 1.234,5, 1.234.567
  point_or_groups,  // 1.234: 1234 where the decimal sign is a comma
  comma_or_groups   // 1,234: 1234 where the decimal sign is a point
};

DecimalEvidence decimal_evidence(std::string_view text);

/// Reads a decimal number with the decimal sign '.' or ','. With `groups` digits may stand in groups of three between
/// the other sign; they always may between blanks (also no-break ones) and apostrophes. Also reads groups as in
/// 12,34,567. None for anything else, and for numbers that no double holds.
std::optional<double> parse_number(std::string_view text, char decimal, bool groups);

/// The decimal sign as far as the cells of a column show it.
class DecimalVote {
 public:
  /// Adds a cell that is not missing.
  void add(std::string_view cell);

  /// True if all cells are numbers with some decimal sign.
  bool numbers() const { return numbers_; }
  bool point() const { return numbers_ && point_; }
  bool comma() const { return numbers_ && comma_; }
  /// True if nothing tells decimal places from groups of digits: all cells with a sign have three digits behind it, and
  /// others have none (1.350 beside 950), or groups are as usual (1,350 in a table that no semicolon separates).
  bool doubtful(char separator) const;
  /// True if some cells are numbers with one decimal sign, and others with the other one.
  bool may_have_groups() const { return numbers_ && (either_point_ || either_comma_); }

 private:
  bool numbers_ = true, point_ = false, comma_ = false, either_point_ = false, either_comma_ = false;
  double largest_whole_ = 0, largest_decimal_ = 0;
};

/// A number with a unit behind it or a sign of money around it: 12 %, 3.5 mm, $12.
struct NumberWithUnit {
  std::string_view number, before, behind;  // without blanks between them
};
/// Splits such a text. None for plain numbers, thousands such as 12k, and any other text.
std::optional<NumberWithUnit> number_with_unit(std::string_view cell);

/// Advice for a number with signs around it that are not read: "write 12 in place of 12 %", also for "$12", "(12)" and
/// "12-", which are -12, and for units; 43.40M is 43400000. Empty for any other text.
std::string advice_on_signs(std::string_view cell);
/// Whether a text is a number in front of a name of several words, such as 1 Main St.
bool is_numbered_name(std::string_view cell);

}  // namespace npzoo
