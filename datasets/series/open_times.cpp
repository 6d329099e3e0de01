#include "npzoo/datasets/series/open_times.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "npzoo/datasets/series/floor_divide.h"
#include "npzoo/datasets/series/season_places.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMonday = -3;  // 1969-12-29, as 1970-01-01 was a Thursday
constexpr double kWeekOfDays = 7, kOnGrid = 0.01;

double median_step(std::span<const double> times) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < times.size(); ++i) steps.push_back(times[i] - times[i - 1]);
  const auto middle = steps.begin() + std::ssize(steps) / 2;
  std::ranges::nth_element(steps, middle);
  return *middle;
}

/// The number of times that lie on steps.
std::int64_t on_steps(std::span<const double> times, const EqualSteps& s) {
  return std::ranges::count_if(times, [&s](double t) { return std::abs(t - s.time(s.place(t))) <= kOnGrid * s.step; });
}

/// Steps of this length through the time that most others share steps with.
EqualSteps through_most(std::span<const double> times, double step) {
  constexpr std::size_t kTried = 9;
  EqualSteps best{times.front(), step};
  std::int64_t most = -1;
  for (std::size_t i = 0; i < kTried; ++i) {
    const EqualSteps steps{times[i * (times.size() - 1) / (kTried - 1)], step};
    if (const std::int64_t count = on_steps(times, steps); count > most) {
      most = count;
      best = steps;
    }
  }
  return best;
}

/// Steps by least squares: places follow from the distances of neighbours, then from the steps that these give.
EqualSteps fitted_steps(std::span<const double> times, double step) {
  std::vector<double> places(times.size(), 0);
  for (std::size_t i = 1; i < times.size(); ++i)
    places[i] = places[i - 1] + std::max(1.0, std::round((times[i] - times[i - 1]) / step));
  EqualSteps fit{times.front(), step};
  constexpr int kRounds = 3;
  const auto n = static_cast<double>(times.size());
  for (int round = 0; round < kRounds; ++round) {
    const double place = std::accumulate(places.begin(), places.end(), 0.0) / n;
    double time = 0, squares = 0, products = 0;
    for (const double t : times) time += (t - times[0]) / n;
    for (std::size_t i = 0; i < times.size(); ++i) {
      squares += (places[i] - place) * (places[i] - place);
      products += (places[i] - place) * (times[i] - times[0] - time);
    }
    fit = {times[0] + time - products / squares * place, products / squares};
    if (!(fit.step > 0)) return {times.front(), step};
    for (std::size_t i = 0; i < times.size(); ++i) places[i] = static_cast<double>(fit.place(times[i]));
  }
  return fit;
}

/// The step of a clock or a calendar near this one, in days; the same if there is none.
double clock_step(double step) {
  constexpr double kMinute = 1.0 / 1440, kNear = 0.02;
  for (const double minutes : {1.0 / 60, 1.0 / 6, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 180.0, 240.0,
                               360.0, 480.0, 720.0, 1440.0, 10080.0})
    if (std::abs(step / (minutes * kMinute) - 1) < kNear) return minutes * kMinute;
  return step;
}

/// The same steps at full minutes, hours or midnight, if these are near.
EqualSteps on_the_clock(std::span<const double> times, EqualSteps fit) {
  const EqualSteps clock{fit.origin, clock_step(fit.step)};
  if (clock.step == fit.step) return fit;
  double shift = 0;
  for (const double t : times) shift += (t - clock.time(clock.place(t))) / static_cast<double>(times.size());
  constexpr double kNear = 0.15;
  const double origin = clock.origin + shift, unit = std::min(clock.step, 1.0), full = unit * std::round(origin / unit);
  return {std::abs(full - origin) < kNear * clock.step ? full : origin, clock.step};
}

/// How often each step of a cycle could occur and did.
struct Occurrences {
  std::vector<std::int64_t> chances, seen;
};

Occurrences occurrences(std::span<const std::int64_t> numbers, std::int64_t steps) {
  Occurrences o{std::vector<std::int64_t>(static_cast<std::size_t>(steps)),
                std::vector<std::int64_t>(static_cast<std::size_t>(steps))};
  const auto at = [steps](std::int64_t number) {
    return static_cast<std::size_t>(number - steps * floor_divide(number, steps));
  };
  const std::int64_t span = numbers.back() - numbers.front() + 1;
  for (std::int64_t i = 0; i < steps; ++i)
    o.chances[at(numbers.front() + i)] = span / steps + (i < span % steps ? 1 : 0);
  for (const std::int64_t number : numbers) ++o.seen[at(number)];
  return o;
}

constexpr std::int64_t kWeeks = 2, kDays = 7;  // chances of a step to occur that show that it is closed

/// Whether the steps of a week that were not seen are Saturday, Sunday and, of the other days, the same hours.
bool are_weekend_and_nights(const Occurrences& o) {
  const auto size = static_cast<std::int64_t>(o.seen.size()), day = size / kDays;
  if (size % kDays != 0) return false;
  for (std::int64_t hour = 0; hour < day; ++hour) {
    std::int64_t chances = 0, seen_days = 0;
    for (std::int64_t d = 0; d < kDays; ++d) {
      const auto at = static_cast<std::size_t>(d * day + hour);
      if (d < 5) chances += o.chances[at], seen_days += o.seen[at] > 0;
      if (d >= 5 && (o.seen[at] > 0 || o.chances[at] == 0)) return false;
    }
    if (seen_days != 5 && (seen_days != 0 || chances < kDays)) return false;
  }
  return true;
}

/// Whether the steps that were not seen are closed, and not missing by chance.
bool are_closed(const Occurrences& o, double cycle) {
  constexpr double kFilled = 0.75;
  const auto size = static_cast<std::int64_t>(o.seen.size());
  double rows = 0, places = 0, closed = 0;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t i = 0; i < size; ++i) {
    const auto s = static_cast<std::size_t>(i);
    if (o.seen[s] == 0) {
      ++closed;
      fewest = std::min(fewest, o.chances[s]);
      continue;
    }
    rows += static_cast<double>(o.seen[s]);
    places += static_cast<double>(o.chances[s]);
  }
  constexpr double kFewestRows = 10;
  if (closed == 0 || rows < kFewestRows || rows < kFilled * places) return false;
  if (cycle == kWeekOfDays && are_weekend_and_nights(o)) return true;
  const double missing = 1 - rows / places;
  return fewest >= (cycle == kWeekOfDays ? kWeeks : kDays) &&
         !empty_by_chance(closed, static_cast<double>(size) * std::pow(missing, static_cast<double>(fewest)));
}

}  // namespace

std::int64_t EqualSteps::place(double time) const { return std::llround((time - origin) / step); }

std::optional<EqualSteps> find_equal_steps(std::span<const double> times, bool dates) {
  if (times.size() < 2) return {};
  const double step = median_step(times);
  const EqualSteps exact = through_most(times, step);
  if (4 * on_steps(times, exact) >= 3 * std::ssize(times)) return exact;
  const EqualSteps fit = fitted_steps(times, step);
  return dates ? on_the_clock(times, fit) : fit;
}

double OpenTimes::time(std::int64_t steps) const {
  const std::int64_t number = first + steps, round = floor_divide(number, open_in_cycle());
  const std::int64_t at = open[static_cast<std::size_t>(number - round * open_in_cycle())];
  return origin + cycle * static_cast<double>(round) + step * static_cast<double>(at);
}

std::optional<std::int64_t> OpenTimes::place(double time) const {
  const auto steps = std::llround(cycle / step);
  const std::int64_t number = std::llround((time - origin) / step), round = floor_divide(number, steps);
  const auto at = std::ranges::lower_bound(open, number - round * steps);
  if (at == open.end() || *at != number - round * steps) return {};
  return round * open_in_cycle() + (at - open.begin()) - first;
}

std::optional<std::int64_t> OpenTimes::open_in_day() const {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(cycle), 0);
  for (const std::int64_t at : open) ++counts[static_cast<std::size_t>(step * static_cast<double>(at) + kOnGrid)];
  std::erase(counts, 0);
  return std::ranges::adjacent_find(counts, std::ranges::not_equal_to()) == counts.end() ? std::optional(counts.front())
                                                                                         : std::nullopt;
}

std::optional<OpenTimes> find_open_times(std::span<const double> times, std::span<const double> rows,
                                         const EqualSteps& steps, std::int64_t epoch) {
  constexpr double kMostSteps = 2016;  // of a week: five minutes
  for (const double cycle : {kWeekOfDays, 1.0}) {
    const double of_cycle = cycle / steps.step;
    if (of_cycle < 2 || of_cycle > kMostSteps || std::abs(of_cycle - std::round(of_cycle)) > kOnGrid / of_cycle)
      continue;
    OpenTimes found{.cycle = cycle, .step = cycle / std::round(of_cycle)};
    const double monday = static_cast<double>(kMonday - epoch);
    found.origin = steps.origin - cycle * std::floor((steps.origin - monday) / cycle);
    found.origin -= found.step * std::floor((found.origin - monday) / found.step + kOnGrid);
    const auto occurrences_of = [&](std::span<const double> some) {
      std::vector<std::int64_t> numbers;
      for (const double t : some) numbers.push_back(std::llround((t - found.origin) / found.step));
      return occurrences(numbers, std::llround(of_cycle));
    };
    const Occurrences values = occurrences_of(times);
    Occurrences o = occurrences_of(rows);
    for (std::size_t i = 0; i < o.seen.size(); ++i)  // single rows at a closed time are questions
      if (values.seen[i] == 0 && 2 * o.seen[i] < o.chances[i]) o.seen[i] = 0;
    if (!are_closed(o, cycle)) continue;
    for (std::size_t i = 0; i < o.seen.size(); ++i)
      if (o.seen[i] > 0) found.open.push_back(static_cast<std::int64_t>(i));
    found.first = *found.place(times[0]);
    return found;
  }
  return {};
}

}  // namespace npzoo
