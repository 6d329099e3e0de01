#include "npzoo/datasets/events/process.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "npzoo/datasets/events/mark_chain.h"
#include "npzoo/datasets/events/process_prior.h"
#include "npzoo/datasets/events/time_change.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

std::shared_ptr<const PointProcess> process_of(const std::string& text) {
  TomlReader reader(text, "[oracle] p.toml");
  auto process = read_process(reader);
  reader.finish();
  return process;
}

constexpr const char* kHawkes = R"(kind = "hawkes"
baseline = [0.2, 0.3, 0.0]
excitation = [[0.8, 0.1, 0.0], [0.4, 0.5, 0.2], [0.3, 0.0, 0.7]]
decay = [[2.0, 1.0, 0.5], [1.5, 1.0, 3.0], [0.7, 1.0, 4.0]]
)";

const std::vector<std::string>& process_texts() {
  static const std::vector<std::string> texts{
      "kind = \"poisson\"\nrates = [0.5, 1.5]\n",
      kHawkes,
      "kind = \"hawkes\"\nbaseline = [0.5]\nexcitation = [[0.8]]\ndecay = [[1.0]]\n",
      "kind = \"self-correcting\"\nrate = 1.0\ncorrection = 1.0\n",
      "kind = \"self-correcting\"\nrate = 0.6\ncorrection = 0.2\n",
      "kind = \"renewal\"\ngaps = { kind = \"gamma\", shape = 0.9, scale = 1.5 }\n",
      "kind = \"renewal\"\ngaps = { kind = \"gamma\", shape = 3.0, scale = 0.4 }\n",
      "kind = \"renewal\"\ngaps = { kind = \"weibull\", shape = 1.7, scale = 1.2 }\n",
      "kind = \"renewal\"\ngaps = { kind = \"log-normal\", mean = -0.3, std = 0.8 }\n"};
  return texts;
}

/// Those of texts, and two that are made of others.
std::vector<std::shared_ptr<const PointProcess>> all_processes() {
  std::vector<std::shared_ptr<const PointProcess>> all;
  for (const std::string& text : process_texts()) all.push_back(process_of(text));
  const auto chain = std::make_shared<const MarkChain>(all[6], std::vector{0.3, 0.7}, std::vector{0.9, 0.1, 0.5, 0.5});
  all.push_back(chain);
  all.push_back(std::make_shared<const TimeChange>(all[1], 3.75, std::vector{0.5, 2.0, 1.0}));
  all.push_back(std::make_shared<const TimeChange>(chain, 1, std::vector{0.4}));
  return all;
}

/// Gauss and Legendre's rule of 7 points on each half until halves add nothing.
double intensity_integral(const std::function<double(double)>& f, double a, double b, int depth = 0) {
  constexpr double kNodes[] = {0, 0.4058451513773972, 0.7415311855993945, 0.9491079123427585};
  constexpr double kWeights[] = {0.4179591836734694, 0.3818300505051189, 0.2797053914892766, 0.1294849661688697};
  const auto rule = [&](double low, double high) {
    const double middle = (low + high) / 2, half = (high - low) / 2;
    double sum = kWeights[0] * f(middle);
    for (int i = 1; i < 4; ++i) sum += kWeights[i] * (f(middle - half * kNodes[i]) + f(middle + half * kNodes[i]));
    return half * sum;
  };
  const double middle = (a + b) / 2, whole = rule(a, b), halves = rule(a, middle) + rule(middle, b);
  if (std::abs(whole - halves) <= 1e-12 * std::max(1.0, std::abs(halves)) || depth == 30) return halves;
  return intensity_integral(f, a, middle, depth + 1) + intensity_integral(f, middle, b, depth + 1);
}

/// Length of the parts of the clock of all_processes.
constexpr double kClockPart = 1.25;

/// Returns the log-likelihood by its definition: intensities one by one, integrated by quadrature.
double by_quadrature(const PointProcess& process, const EventSequence& s, std::int64_t first) {
  const auto marks = static_cast<std::size_t>(process.marks());
  const auto total = [&](double time) {
    double sum = 0;
    for (const double x : process.intensities(s, std::vector{time})) sum += x;
    return sum;
  };
  double log_likelihood = 0, from = first == 0 ? 0 : s.times[static_cast<std::size_t>(first - 1)];
  for (auto i = static_cast<std::size_t>(first); i <= s.times.size(); ++i) {
    const double to = i < s.times.size() ? s.times[i] : s.end;
    // In the fourth root of the time intensities of renewals are smooth where they begin, too. Speeds of a clock jump.
    for (double low = from; low < to;) {
      const double high = std::min(to, (std::floor(low / kClockPart + 1e-9) + 1) * kClockPart);
      log_likelihood -=
          intensity_integral([&](double u) { return 4 * u * u * u * total(std::min(low + u * u * u * u, high)); }, 0,
                             std::pow(high - low, 0.25));
      low = high;
    }
    if (i < s.times.size())
      log_likelihood += std::log(process.intensities(s, std::vector{to})[static_cast<std::size_t>(s.marks[i]) % marks]);
    from = to;
  }
  return log_likelihood;
}

}  // namespace

TEST_CASE("events: densities are those of the intensities, integrated by quadrature") {
  for (const auto& process : all_processes()) {
    CAPTURE(process->name());
    Random random(3);
    for (const SimulatedExtent& extent : {SimulatedExtent{.end = 12}, SimulatedExtent{.events = 15}}) {
      EventSequence s = process->draw(extent, random);
      for (const double beyond : {0.0, 2.5}) {
        s.end += beyond;
        for (const std::int64_t first : {std::int64_t{0}, s.events() / 2, s.events()}) {
          const double exact = process->log_likelihood(s, first);
          CHECK(std::isfinite(exact));
          CHECK(std::abs(exact - by_quadrature(*process, s, first)) <= 1e-8);
        }
      }
    }
  }
}

TEST_CASE("events: a density is the product of its parts") {
  for (const auto& process : all_processes()) {
    CAPTURE(process->name());
    Random random(4);
    const EventSequence whole = process->draw({.end = 20}, random);
    EventSequence head = whole;
    head.times.resize(5);
    head.marks.resize(5);
    head.end = head.times.back();
    CHECK(process->log_likelihood(head, 0) + process->log_likelihood(whole, 5) ==
          doctest::Approx(process->log_likelihood(whole, 0)).epsilon(1e-12));
  }
}

TEST_CASE("events: compensators between simulated events are exponential with mean 1") {
  // Their mean over n events is 1 ± 1 / √n, and their variance 1 ± √(8 / n): the random time change theorem.
  constexpr std::int64_t kEvents = 20'000;
  for (const auto& process : all_processes()) {
    CAPTURE(process->name());
    Random random(5);
    double sum = 0, squares = 0;
    std::int64_t count = 0;
    while (count < kEvents) {
      const EventSequence s = process->draw({.events = 40}, random);
      for (std::int64_t i = 0; i < s.events(); ++i, ++count) {
        EventSequence until = s;
        until.times.resize(static_cast<std::size_t>(i));
        until.marks.resize(static_cast<std::size_t>(i));
        until.end = s.times[static_cast<std::size_t>(i)];
        const double compensator = -process->log_likelihood(until, i);
        sum += compensator;
        squares += (compensator - 1) * (compensator - 1);
      }
    }
    const auto n = static_cast<double>(count);
    CHECK(std::abs(sum / n - 1) <= 4 / std::sqrt(n));
    CHECK(std::abs(squares / n - 1) <= 4 * std::sqrt(8 / n));
  }
}

TEST_CASE("events: marks come in proportion to their intensities") {
  const auto process = process_of(kHawkes);
  Random random(6);
  double expected = 0, variance = 0, found = 0;
  for (int i = 0; i < 300; ++i) {
    const EventSequence s = process->draw({.events = 40}, random);
    const std::vector<double> intensities = process->intensities(s, s.times);
    for (std::size_t e = 0; e < s.marks.size(); ++e) {
      const double sum = intensities[3 * e] + intensities[3 * e + 1] + intensities[3 * e + 2];
      const double p = intensities[3 * e + 1] / sum;
      expected += p;
      variance += p * (1 - p);
      found += s.marks[e] == 1;
    }
  }
  CHECK(std::abs(found - expected) <= 4 * std::sqrt(variance));
}

TEST_CASE("events: a simulation stops where it is to, and is a function of the seed") {
  const auto process = process_of(kHawkes);
  Random random(7), again(7);
  const EventSequence some = process->draw({.events = 30}, random);
  CHECK(some.events() == 30);
  CHECK(some.end == some.times.back());
  CHECK(process->draw({.events = 30}, again).times == some.times);
  const EventSequence window = process->draw({.end = 9}, random);
  CHECK(window.end == 9);
  CHECK((window.events() > 0 && window.times.back() < 9));
  CHECK(process->draw({.end = 1e9, .events = 10}, random).events() == 10);
  const auto exploding = process_of("kind = \"hawkes\"\nbaseline = [1]\nexcitation = [[9]]\ndecay = [[1]]\n");
  CHECK(error_of([&] { exploding->draw({.end = 1e6}, random); }) ==
        "[events] a simulation has more than 1048576 events, expected a process and an end that give fewer");
  EventSequence few = exploding->draw({.events = 8}, random);  // an unstable process has a density, too
  CHECK(std::abs(exploding->log_likelihood(few, 0) - by_quadrature(*exploding, few, 0)) <= 1e-8);
}

TEST_CASE("events: a process without excitation, and gaps that are exponential, are Poisson") {
  const auto poisson = process_of("kind = \"poisson\"\nrates = [0.5, 1.5]\n"),
             one = process_of("kind = \"poisson\"\nrates = [0.8]\n");
  Random random(8);
  const EventSequence s = poisson->draw({.end = 30}, random), unmarked = one->draw({.end = 30}, random);
  const auto hawkes =
      process_of("kind = \"hawkes\"\nbaseline = [0.5, 1.5]\nexcitation = [[0, 0], [0, 0]]\ndecay = [[1, 1], [1, 1]]\n");
  CHECK(hawkes->log_likelihood(s, 0) == doctest::Approx(poisson->log_likelihood(s, 0)).epsilon(1e-13));
  for (const char* gaps : {"\"gamma\"", "\"weibull\""}) {
    const auto renewal =
        process_of(std::string("kind = \"renewal\"\ngaps = { kind = ") + gaps + ", shape = 1, scale = 1.25 }\n");
    CHECK(renewal->log_likelihood(unmarked, 3) == doctest::Approx(one->log_likelihood(unmarked, 3)).epsilon(1e-13));
  }
  const auto fitted = Poisson::fitted(std::vector{s}, 3);
  CHECK(fitted->rates()[1] == doctest::Approx(static_cast<double>(std::ranges::count(s.marks, 1)) / 30));
  CHECK(fitted->rates()[2] == doctest::Approx(0.5 / 30));
  CHECK(error_of([] { Poisson::fitted({}, 1); }) ==
        "[events] an observed time of 0 found, expected a longer one to fit rates to");
}

TEST_CASE("events: impossible sequences have density 0") {
  const EventSequence never{{1.0}, {1}, 2};
  const double none = -std::numeric_limits<double>::infinity();
  CHECK(process_of("kind = \"poisson\"\nrates = [1.0, 0.0]\n")->log_likelihood(never, 0) == none);
  CHECK(process_of("kind = \"hawkes\"\nbaseline = [1, 0]\nexcitation = [[0, 0], [0, 0]]\ndecay = [[1, 1], [1, 1]]\n")
            ->log_likelihood(never, 0) == none);
  const EventSequence at_once{{0.0}, {0}, 0};
  const auto gamma = process_of("kind = \"renewal\"\ngaps = { kind = \"gamma\", shape = 2, scale = 1 }\n");
  CHECK(gamma->log_likelihood(at_once, 0) == none);
}

TEST_CASE("events: parameters that cannot be") {
  const auto error = [](const std::string& text) { return error_of([&] { process_of(text); }); };
  const std::string all = kHawkes;
  const auto with = [&all](const std::string& before, const std::string& after) {
    std::string text = all;
    return text.replace(text.find(before), before.size(), after);
  };
  CHECK(error("kind = \"cox\"\n") ==
        "[oracle] p.toml: kind is 'cox', expected one of \"poisson\", \"clock-poisson\", \"hawkes\", "
        "\"self-correcting\", \"renewal\"");
  CHECK(error("kind = \"poisson\"\nrates = []\n") ==
        "[oracle] p.toml: rates is a TOML array, expected an array of numbers");
  CHECK(error("kind = \"poisson\"\nrates = [0, 0.0]\n") ==
        "[oracle] p.toml: rates is all 0, expected at least one number > 0");
  CHECK(error(with("0.3, 0.0]", "-0.5, 0]")) == "[oracle] p.toml: baseline[1] is -0.5, expected a number >= 0");
  CHECK(error(with("baseline", "base")) == "[oracle] p.toml: baseline is missing, expected an array of numbers");
  CHECK(
      error(with("[0.8, 0.1, 0.0], ", "")) ==
      "[oracle] p.toml: excitation is of 2 rows with 6 numbers in all, expected 3 rows of 3, as many as baseline has");
  CHECK(error(with("[2.0, 1.0, 0.5]", "[2.0, 1.0]")) ==
        "[oracle] p.toml: decay is of 3 rows with 8 numbers in all, expected 3 rows of 3, as many as baseline has");
  CHECK(error(with("[2.0, 1.0, 0.5]", "2.0")) == "[oracle] p.toml: decay[0] is 2.0, expected an array of numbers");
  CHECK(error(with("[2.0, 1.0, 0.5]", "[2.0, 0, 0.5]")) == "[oracle] p.toml: decay[0][1] is 0, expected a number > 0");
  CHECK(error(with("0.8", "\"a\"")) == "[oracle] p.toml: excitation[0][0] is 'a', expected a number >= 0");
  CHECK(error(all + "alpha = 1\n") ==
        "[oracle] p.toml: alpha is an unknown key, expected one of: baseline, decay, excitation, kind");
  CHECK(error("kind = \"renewal\"\ngaps = { kind = \"gamma\", shape = 0, scale = 1 }\n") ==
        "[oracle] p.toml: gaps.shape is 0, expected a number > 0");
  CHECK(error("kind = \"renewal\"\ngaps = { kind = \"weibull\", shape = 1, scale = 1, mean = 0 }\n") ==
        "[oracle] p.toml: gaps.mean is an unknown key, expected one of: kind, scale, shape");
  CHECK(error("kind = \"self-correcting\"\nrate = 1\ncorrection = -1\n") ==
        "[oracle] p.toml: correction is -1, expected a number >= 0");
}

TEST_CASE("events: processes that are drawn have about the rate that they should") {
  Random random(11);
  double kinds = 0, log_rates = 0;
  constexpr int kProcesses = 300, kEvents = 150;
  for (int i = 0; i < kProcesses; ++i) {
    const auto process = draw_process(8, random);
    CHECK((process->marks() >= 1 && process->marks() <= 8));
    kinds += static_cast<double>(process->marks());
    const EventSequence s = process->draw({.events = kEvents}, random);
    REQUIRE(s.events() == kEvents);
    CHECK(std::isfinite(process->log_likelihood(s, 0)));
    log_rates += std::log(kEvents / s.end);
  }
  // Of 40 % one kind and else 1 to 8 kinds the mean is 3.1; the logarithms of rates have mean 0 and deviation .63, and
  // sequences of self-exciting and irregular processes begin slowly.
  CHECK(std::abs(kinds / kProcesses - 3.1) < 0.6);
  CHECK(std::abs(log_rates / kProcesses) < 0.25);
  Random again(11);
  const auto first = draw_process(8, again);
  CHECK(first->draw({.events = 5}, again).times.size() == 5);
}

TEST_CASE("events: times ascend where gaps are lost to rounding") {
  const auto bursts = process_of(
      "kind = \"renewal\"\ngaps = { kind = \"gamma\", shape = 0.05, scale = 20.0 }\n");  // P(gap < 1e-16) = .14
  Random random(8);
  for (const auto& process :
       {bursts, std::shared_ptr<const PointProcess>(std::make_shared<const TimeChange>(bursts, 1, std::vector{0.3}))}) {
    const EventSequence s = process->draw({.events = 500}, random);
    CHECK(std::ranges::adjacent_find(s.times, std::greater_equal()) == s.times.end());
    CHECK(s.end == s.times.back());
  }
}

TEST_CASE("events: parts of processes that cannot be") {
  const auto one = process_of("kind = \"poisson\"\nrates = [0.5]\n"), two = process_of(process_texts()[0]);
  CHECK(error_of([&] { MarkChain(two, {1}, {1}); }) == "[events] a process of 2 marks found, expected one of one mark");
  CHECK(error_of([&] {
          MarkChain(one, {0.5, 0.5}, {1, 0, 0.5, 0.4});
        }) == "[events] a chain with 2 and 4 probabilities found, expected M and M · M that add up to 1 in each row");
  CHECK(error_of([&] { TimeChange(one, 0, {1}); }) ==
        "[events] a period of 0 with 1 speeds found, expected numbers above 0 and one speed or more");
  CHECK(error_of([&] {
          TimeChange(one, 1, {1, 0});
        }) == "[events] a period of 1 with 2 speeds found, expected numbers above 0 and one speed or more");
}
