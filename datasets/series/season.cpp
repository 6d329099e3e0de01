#include "npzoo/datasets/series/season.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "npzoo/datasets/series/wave.h"
#include "npzoo/engine/cancellation.h"

namespace npzoo {

namespace {

constexpr std::int64_t kLongestPeriod = 200;
constexpr std::int64_t kUsualSearch = 2000, kLongestSearch = 10000;

/// Values, and 0 where none is known.
struct Whitened {
  std::vector<double> values;
  double count = 0, variance = 0;
};

/// Subtracts from each value the part that its predecessor predicts. A value without a known predecessor is scaled to
/// the same variance instead. `y` has a mean of 0; unknown values give 0.
Whitened whiten(std::span<const double> y, double correlation) {
  Whitened w{std::vector<double>(y.size(), 0)};
  const double alone = std::sqrt(1 - correlation * correlation);
  double squares = 0;
  for (std::size_t t = 0; t < y.size(); ++t) {
    if (std::isnan(y[t])) continue;
    w.values[t] = t == 0 || std::isnan(y[t - 1]) ? alone * y[t] : y[t] - correlation * y[t - 1];
    squares += w.values[t] * w.values[t];
    ++w.count;
  }
  w.variance = w.count > 0 ? squares / w.count : 0;
  return w;
}

/// Takes the mean of the known values away, and returns the largest that was known.
double centre(std::vector<double>& y) {
  const double mean = mean_of_known(y);
  double largest = 0;
  for (double& v : y) {
    if (!std::isnan(v)) largest = std::max(largest, std::abs(v));
    v -= mean;
  }
  return largest;
}

/// The spectrum without its peaks: medians over neighbouring frequencies, as the variance of white noise that has them.
/// Harmonics of many periods are near the same frequencies, so that medians are kept.
class Background {
 public:
  explicit Background(const Whitened& w) : size_(w.values.size()) {
    const std::size_t most = std::min<std::size_t>(size_ / 2, 400);
    for (std::size_t k = 1; k <= most; ++k) {
      const double turn = 0.5 * static_cast<double>(k) / static_cast<double>(most);
      Wave wave(turn);
      double c = 0, s = 0;
      for (const double v : w.values) {
        c += v * wave.cosine();
        s += v * wave.sine();
        wave.next();
      }
      power_.push_back((c * c + s * s) / std::max(w.count, 1.0));
    }
  }

  double at(double frequency) {
    const double place = 2 * frequency * static_cast<double>(power_.size());
    const auto end = static_cast<double>(power_.size());
    const auto first = static_cast<std::size_t>(std::clamp(0.5 * place - 4, 0.0, end - 1)),
               last = static_cast<std::size_t>(std::clamp(1.5 * place + 4, 0.0, end - 1));
    const auto [found, is_new] = medians_.try_emplace({first, last});
    if (is_new) {
      std::vector<double> near(power_.begin() + static_cast<std::ptrdiff_t>(first),
                               power_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
      const auto middle = near.begin() + std::ssize(near) / 2;
      std::ranges::nth_element(near, middle);
      found->second = *middle / std::numbers::ln2;  // the median of an exponential distribution
    }
    return found->second;
  }

 private:
  std::size_t size_;
  std::vector<double> power_;
  std::map<std::pair<std::size_t, std::size_t>, double> medians_{};  // of the powers from one to another
};

/// Sums the gains of the harmonics that stand out of the background, each less its cost. Long periods are scored by
/// their first harmonics.
double score_period(const Whitened& w, Background& background, double period, double floor) {
  constexpr std::int64_t kMostHarmonics = 100;
  const auto whole = static_cast<std::int64_t>(period);
  const bool folded = static_cast<double>(whole) == period;
  std::span<const double> values = w.values;
  std::vector<double> sums;
  if (folded) {  // one cycle has the same sums
    sums.assign(static_cast<std::size_t>(whole), 0);
    for (std::size_t t = 0; t < values.size(); ++t) sums[t % sums.size()] += values[t];
    values = sums;
  }
  const double cost = 2 * std::log(w.count);
  double score = 0;
  for (std::int64_t j = 1; static_cast<double>(2 * j) <= period && j <= kMostHarmonics; ++j) {
    const double frequency = static_cast<double>(j) / period;
    Wave wave(frequency);
    double c = 0, s = 0;
    for (const double v : values) {
      c += v * wave.cosine();
      s += v * wave.sine();
      wave.next();
    }
    const double share = folded && 2 * j == whole ? 1 : 2;
    const double noise = std::max(background.at(frequency), floor);
    const double gain = share * (c * c + s * s) / (w.count * noise);
    score += std::max(0.0, gain - cost * share / 2);
  }
  return score;
}

/// Two periods must differ by half of the shorter one.
bool is_near(double period, double other) { return period < 1.5 * other && other < 1.5 * period; }

struct Candidate {
  double period = 0;
  enum class Kind : std::uint8_t { other, usual, likely } kind = Kind::other;
  double score = 0;

  bool likely() const { return kind == Kind::likely; }
};

/// Whether each place of a cycle has two known values.
bool knows_each_place(std::span<const double> y, std::size_t period) {
  std::vector<int> known(period);
  for (std::size_t t = 0; t < y.size(); ++t)
    if (!std::isnan(y[t])) ++known[t % period];
  return std::ranges::all_of(known, [](int count) { return count >= 2; });
}

/// The periods to look at, the shortest first.
std::vector<Candidate> candidates(std::span<const double> y, std::span<const double> likely,
                                  std::span<const double> found) {
  const std::int64_t size = std::ssize(y);
  std::vector<Candidate> all;
  for (const double p : likely)
    if (p >= 2 && 2 * p <= static_cast<double>(size)) all.push_back({p, Candidate::Kind::likely});
  for (const std::size_t p : {4, 12})
    if (likely.empty() && found.empty() && knows_each_place(y, p))
      all.push_back({static_cast<double>(p), Candidate::Kind::usual});
  const auto replaced = [&, named = all](double period) {
    return std::ranges::any_of(named, [=](const Candidate& c) { return std::abs(c.period - period) < 1; });
  };
  for (std::int64_t p = 3; p <= std::min(size / 3, kLongestPeriod); ++p)
    if (!replaced(static_cast<double>(p))) all.push_back({static_cast<double>(p)});
  if (!found.empty()) std::erase_if(all, [&](const Candidate& c) { return is_near(c.period, found[0]); });
  std::ranges::stable_sort(all, {}, &Candidate::period);
  return all;
}

/// Returns the period with the highest score, 0 if there is none. A period that is not likely gives way to a shorter
/// one that reaches a good part of its score, since long periods also explain the harmonics of others. `calendar`:
/// periods of the calendar are known.
double strongest_period(const Whitened& w, std::int64_t known, bool calendar, std::vector<Candidate> all) {
  constexpr double kTie = 1.02, kPart = 0.35, kMost = 0.7, kUsualCost = 2, kUsualTie = 1.2;
  // A period that the calendar does not have needs more evidence, most of all beside those that it has.
  struct Evidence {
    double share, logs;
  };
  const Evidence other = calendar ? Evidence{0.8, 6} : Evidence{0.95, 2};
  Background background(w);
  Candidate best;
  for (Candidate& c : all) {
    throw_if_stopped();
    c.score = score_period(w, background, c.period, 1e-3 * w.variance);
    if (c.kind == Candidate::Kind::usual) c.score -= kUsualCost;
    if (c.kind == Candidate::Kind::other)
      c.score = other.share * c.score - other.logs * std::log(static_cast<double>(known));
    // Twelve steps also explain the waves of four.
    const bool both_usual = c.kind == Candidate::Kind::usual && best.kind == Candidate::Kind::usual;
    if (c.score > (both_usual ? kUsualTie : kTie) * best.score) best = c;
  }
  if (best.likely() || best.period == 0) return best.period;
  for (const Candidate& c : all)
    if (c.period < best.period && c.score > (c.likely() ? kPart : kMost) * best.score &&
        (c.likely() || std::fmod(best.period, c.period) != 0))
      return c.period;
  return best.period;
}

/// Adds a period. A multiple of the first one takes its place, if smoothing can follow a season of that length.
void add_period(double period, std::vector<double>& found) {
  constexpr double kLongestSeason = 60;
  if (!found.empty() && std::fmod(period, found[0]) == 0 && period <= kLongestSeason) found.clear();
  found.push_back(period);
}

}  // namespace

double mean_of_known(std::span<const double> y) {
  double sum = 0, count = 0;
  for (const double v : y) {
    if (std::isnan(v)) continue;
    sum += v;
    ++count;
  }
  return sum / count;
}

std::vector<double> find_periods(std::span<const double> all, std::span<const double> likely) {
  constexpr double kCycles = 2.5;
  double search = kUsualSearch;
  for (const double p : likely)
    if (kCycles * p <= kLongestSearch) search = std::max(search, kCycles * p);
  const auto y = all.last(std::min(all.size(), static_cast<std::size_t>(search)));
  const auto known = std::ranges::count_if(y, [](double v) { return !std::isnan(v); });
  std::vector<double> found;
  constexpr std::int64_t kFewest = 12;
  if (known < kFewest) return found;
  for (int round = 0; round < 2; ++round) {
    const SeriesTrend trend(y, found);
    std::vector<double> left(y.begin(), y.end());
    for (std::size_t t = 0; t < left.size(); ++t)
      left[t] -= trend.season(static_cast<double>(t)) + trend.slope() * static_cast<double>(t);
    constexpr double kRounding = 1e-12;
    const double largest = kRounding * centre(left);
    const Whitened w = whiten(left, trend.correlation());
    if (!(w.variance > largest * largest)) return found;
    const double period = strongest_period(w, known, !likely.empty(), candidates(y, likely, found));
    if (period == 0) return found;
    add_period(period, found);
  }
  return found;
}

}  // namespace npzoo
