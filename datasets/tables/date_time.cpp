#include "npzoo/datasets/tables/date_time.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

namespace npzoo {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000, kDay = 86'400 * kSecond;

/// Takes digits from the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool ok() const { return ok_; }
  bool done() const { return rest_.empty(); }
  bool accept(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) { ok_ = accept(c) && ok_; }
  bool at_digit() const { return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; }
  int digits(int count, int most) {
    int value = 0;
    for (int i = 0; i < count; ++i) value = 10 * value + digit();
    ok_ = ok_ && value <= most;
    return value;
  }
  /// Reads the fraction of a second; any number of digits, at least one.
  std::int64_t nanoseconds() {
    std::int64_t value = 0, place = kSecond / 10;
    ok_ = ok_ && at_digit();
    for (; ok_ && at_digit(); place /= 10) value += place * digit();
    return value;
  }

 private:
  int digit() {
    ok_ = ok_ && at_digit();
    if (!ok_) return 0;
    const int value = rest_.front() - '0';
    rest_.remove_prefix(1);
    return value;
  }

  std::string_view rest_;
  bool ok_ = true;
};

std::int64_t time_of_day(Scanner& scan) {
  const int hour = scan.digits(2, 24);
  scan.expect(':');
  const int minute = scan.digits(2, hour == 24 ? 0 : 59);
  int second = 0;
  std::int64_t fraction = 0;
  if (scan.accept(':')) {
    second = scan.digits(2, hour == 24 ? 0 : 59);
    if (scan.accept('.') || scan.accept(',')) fraction = scan.nanoseconds();
  }
  if (hour == 24 && fraction > 0) scan.expect('\0');
  return (3600 * hour + 60 * minute + second) * kSecond + fraction;
}

/// East of Greenwich.
std::int64_t offset(Scanner& scan, bool west) {
  const int hour = scan.digits(2, 23);
  const bool colon = scan.accept(':');
  const int minute = colon || scan.at_digit() ? scan.digits(2, 59) : 0;
  return (west ? -1 : 1) * (3600 * hour + 60 * minute) * kSecond;
}

}  // namespace

std::optional<std::int64_t> day_in_calendar(int year, int month, int day) {
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return {};
  return std::chrono::sys_days(date).time_since_epoch().count();
}

std::optional<DateTime> parse_date_time(std::string_view text) {
  constexpr std::size_t kShortest = 7;
  if (text.size() < kShortest || text[4] != '-') return {};
  Scanner scan(text);
  const int year = scan.digits(4, 9999);
  scan.expect('-');
  const int month = scan.digits(2, 12);
  const bool whole = scan.accept('-');
  const auto day = day_in_calendar(year, month, whole ? scan.digits(2, 31) : 1);
  if (!scan.ok() || !day) return {};
  DateTime result{*day, 0, false};
  if (scan.done()) return result;
  if (!whole || !(scan.accept('T') || scan.accept(' ') || scan.accept('t'))) return {};
  result.nanosecond = time_of_day(scan);
  if (scan.accept(' ') && scan.done()) return {};
  if (!scan.done()) {
    result.zoned = true;
    const bool utc = scan.accept('Z') || scan.accept('z');
    const bool west = !utc && scan.accept('-');
    if (!utc && !west) scan.expect('+');
    if (!utc && scan.ok()) result.nanosecond -= offset(scan, west);
  }
  if (!scan.ok() || !scan.done()) return {};
  const std::int64_t days = result.nanosecond / kDay - (result.nanosecond % kDay < 0 ? 1 : 0);
  result.day += days;
  result.nanosecond -= days * kDay;
  return result;
}

double days_since(std::int64_t epoch, const DateTime& time) {
  return static_cast<double>(time.day - epoch) + static_cast<double>(time.nanosecond) / static_cast<double>(kDay);
}

std::string format_date_time(std::int64_t epoch, double days, bool zoned) {
  constexpr std::int64_t kMicrosecondsOfADay = 86'400'000'000;
  if (!(std::abs(days) < 1e7)) return fmt::format("{} days", days);  // outside the calendar of four digits
  std::int64_t day = static_cast<std::int64_t>(std::floor(days));
  auto us =
      static_cast<std::int64_t>(std::llround((days - std::floor(days)) * static_cast<double>(kMicrosecondsOfADay)));
  if (us == kMicrosecondsOfADay) ++day, us = 0;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(epoch + day))};
  std::string text = fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  const char* zone = zoned ? "Z" : "";
  if (us == 0 && !zoned) return text;
  const std::int64_t seconds = us / 1'000'000;
  text += fmt::format("T{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (us % 1'000'000 == 0) return text + zone;
  text += fmt::format(".{:06}", us % 1'000'000);
  text.erase(text.find_last_not_of('0') + 1);
  return text + zone;
}

}  // namespace npzoo
