// Log-likelihoods of the weights for any events, beside processes that are fitted and weights that are trained.
//
//     zero_shot_events WEIGHTS [PROTOCOL...]   default: the simulated and recorded protocols whose data is here
//
// For each protocol: nats per event over up to 200 sequences of its test, every event but the first given all those
// before it, times in the protocol's unit. The weights know the mean gap of the training and nothing else of the
// protocol. A Poisson and a Hawkes process are fitted to the training, and each to the past of the sequence alone, anew
// before each twentieth event. Two kinds of processes are none that the weights were trained on. Also the true process,
// and weights trained under the protocol, where there are some.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "npzoo/datasets/data_folder.h"
#include "npzoo/datasets/events/draw.h"
#include "npzoo/datasets/events/event_tasks.h"
#include "npzoo/datasets/events/fit.h"
#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/applications/events/any_events.h"
#include "npzoo/models/predictions/autoregressive.h"
#include "npzoo/models/training/named_weights.h"

using namespace npzoo;

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kSequences = 200, kMostTraining = 10'000;  // events that processes are fitted to

struct Sums {
  double total = 0, events = 0;

  void add(double log_likelihood, std::int64_t count) {
    total += log_likelihood;
    events += static_cast<double>(count);
  }
  double mean() const { return events > 0 ? total / events : kNone; }
};

EventSequence part(const EventSequence& s, std::int64_t first, std::int64_t end) {
  EventSequence found{{s.times.begin() + first, s.times.begin() + end},
                      {s.marks.begin() + first, s.marks.begin() + end}};
  found.end = found.times.back();
  return found;
}

double mean_gap(const std::vector<EventSequence>& sequences) {
  double length = 0, events = 0;
  for (const EventSequence& s : sequences) {
    if (s.times.empty()) continue;
    length += s.times.back();
    events += static_cast<double>(s.events());
  }
  return length / events;
}

/// How many gaps of a sequence lie in the central interval of 90 % of the weights, each given the events before it.
struct Coverage {
  std::int64_t inside = 0, gaps = 0;

  void add(const Model& model, const EventSequence& s, double unit) {
    constexpr std::int64_t kMost = 160;
    constexpr double kInterval = 0.9;
    EventSequence scaled = part(s, 0, std::min(s.events(), kMost));
    for (double& time : scaled.times) time /= unit;
    scaled.end = scaled.times.back();
    const Task task = event_task({{&scaled, 0, scaled.events()}}, {.context = 1, .ragged = false}, {});
    Draws draws(0, Purpose::prediction, 0);
    const auto prediction = model.query(*model.condition({task.xc, task.yc}, draws, 1), task.xt);
    const auto& events = dynamic_cast<const Autoregressive&>(*prediction);
    const Tensor mass = central_mass(on_host(events.given_those_before(task.yt)), task.yt);
    for (const double m : mass.values<double>()) inside += m <= kInterval;
    gaps += mass.numel();
  }
  double percent() const { return 100 * static_cast<double>(inside) / static_cast<double>(gaps); }
};

/// The log-likelihood of all events but the first, in windows of 160 events of which the latter 80 count.
double by_weights(const Model& model, const EventSequence& s, double unit) {
  constexpr std::int64_t kWindow = 160, kStep = 80;
  double sum = 0;
  for (std::int64_t from = 1; from < s.events();) {
    const std::int64_t first = std::max<std::int64_t>(from - kStep, 0), end = std::min(s.events(), first + kWindow);
    EventSequence window = part(s, first, end);
    const double start = first == 0 ? 0 : s.times[static_cast<std::size_t>(first - 1)];
    for (double& time : window.times) time = (time - start) / unit;
    window.end = window.times.back();
    const std::vector<double> each = event_log_likelihoods(model, window);
    for (std::int64_t i = from; i < end; ++i) sum += each[static_cast<std::size_t>(i - first)] - std::log(unit);
    from = end;
  }
  return sum;
}

/// The log-likelihood of events by processes that are fitted to those before them, anew for each twentieth.
template <class Fit>
double by_own_past(const EventSequence& s, std::int64_t from, const Fit& fit) {
  constexpr std::int64_t kEvery = 20;
  double sum = 0;
  for (std::int64_t i = from; i < s.events(); i += kEvery) {
    const EventSequence past = part(s, 0, i), until = part(s, 0, std::min(s.events(), i + kEvery));
    sum += fit(past)->log_likelihood(until, i);
  }
  return sum;
}

/// Sequences to score, and what they came from.
struct EventSet {
  std::string name;
  std::int64_t marks = 1;
  std::vector<EventSequence> training{}, test{};
  std::shared_ptr<const PointProcess> truth{};
  std::optional<TrainedModel> trained{};
};

EventSet set_of(const std::string& name) {
  const Protocol protocol = load_protocol(name);
  const EventTasks& tasks = *protocol.data->as_events();
  EventSet set{name, tasks.marks(), tasks.training_sequences(), tasks.shown(kSequences, 0), tasks.process()};
  if (weights_named("thp-plus:" + name)) set.trained = load_model("thp-plus:" + name);
  return set;
}

/// An excitation by each event before: how much there is after a time, and how much there is until then.
struct Kernel {
  double (*value)(double), (*integral)(double);
};

/// Self-exciting events of one kind with any kernel that falls; takes time quadratic in the events.
class AnyHawkes final : public PointProcess {
 public:
  AnyHawkes(std::string name, double baseline, Kernel kernel)
      : name_(std::move(name)), baseline_(baseline), kernel_(kernel) {}

  std::string name() const override { return name_; }
  double log_likelihood(const EventSequence& s, std::int64_t first) const override {
    const double from = first == 0 ? 0 : s.times[static_cast<std::size_t>(first - 1)];
    double sum = -baseline_ * (s.end - from);
    for (const double time : s.times)
      sum -= kernel_.integral(s.end - time) - kernel_.integral(std::max(from - time, 0.0));
    for (auto i = static_cast<std::size_t>(first); i < s.times.size(); ++i) sum += std::log(at(s, i, s.times[i]));
    return sum;
  }
  std::vector<double> intensities(const EventSequence& s, std::span<const double> times) const override {
    std::vector<double> all;
    for (const double time : times) {
      const auto before = std::ranges::lower_bound(s.times, time) - s.times.begin();
      all.push_back(at(s, static_cast<std::size_t>(before), time));
    }
    return all;
  }
  EventSequence draw(const SimulatedExtent& extent, Random& random) const override {
    EventDrawing drawing(extent);
    EventSequence past;
    while (true) {
      const double bound = at(past, past.times.size(), drawing.now());
      if (!drawing.reach(drawing.now() + exponential(random) / bound)) break;
      if (bound * random.uniform() >= at(past, past.times.size(), drawing.now())) continue;
      past.times.push_back(drawing.now());
      if (!drawing.add(0)) break;
    }
    return drawing.finish();
  }

 private:
  double at(const EventSequence& s, std::size_t before, double time) const {
    double sum = baseline_;
    for (std::size_t i = 0; i < before; ++i) sum += kernel_.value(time - s.times[i]);
    return sum;
  }

  std::string name_;
  double baseline_;
  Kernel kernel_;
};

/// Kinds of processes that the weights have not seen: after-shocks by Omori's law, with .7 of an event each, and an
/// excitation that decays fast and slowly.
std::vector<EventSet> unseen_kinds() {
  const Kernel omori{[](double t) { return 0.7 * 0.8 * std::pow(1 + t / 0.1, -1.8) / 0.1; },
                     [](double t) { return 0.7 * (1 - std::pow(1 + t / 0.1, -0.8)); }};
  const Kernel two{[](double t) { return 0.35 * 20 * std::exp(-20 * t) + 0.35 * 0.2 * std::exp(-0.2 * t); },
                   [](double t) { return 0.35 * -std::expm1(-20 * t) + 0.35 * -std::expm1(-0.2 * t); }};
  std::vector<EventSet> sets;
  for (const auto& [name, kernel] : {std::pair("unseen: Omori's law", omori), {"unseen: fast and slow decay", two}}) {
    EventSet set{.name = name};
    set.truth = std::make_shared<const AnyHawkes>(name, 0.3, kernel);
    Random random(17);
    for (std::int64_t i = 0; i < 80; ++i) set.training.push_back(set.truth->draw({.events = 128}, random));
    for (std::int64_t i = 0; i < kSequences; ++i) set.test.push_back(set.truth->draw({.events = 128}, random));
    sets.push_back(std::move(set));
  }
  return sets;
}

void score(EventSet set, const TrainedModel& any) {
  const std::int64_t marks = set.marks;
  const bool knows = marks <= any.checkpoint.run.protocol.data->as_events()->marks();
  std::vector<EventSequence>& training = set.training;
  const double unit = mean_gap(training);
  std::int64_t used = 0;
  std::size_t kept = 0;
  while (kept < training.size() && used < kMostTraining) used += training[kept++].events();
  training.resize(kept);
  const auto poisson = Poisson::fitted(training, marks);
  const auto hawkes = fit_hawkes(training, marks).process;
  const auto model = knows ? with_marks(any, marks) : nullptr;

  constexpr std::int64_t kPast = 20;  // events that processes are fitted to at least
  Coverage coverage;
  Sums zero, zero_late, by_poisson, by_hawkes, own_poisson, own_hawkes, truth, own_weights;
  for (const EventSequence& whole : set.test) {
    if (whole.events() < 2) continue;
    const EventSequence s = part(whole, 0, std::min<std::int64_t>(whole.events(), 400));
    const std::int64_t n = s.events();
    by_poisson.add(poisson->log_likelihood(s, 1), n - 1);
    by_hawkes.add(hawkes->log_likelihood(s, 1), n - 1);
    if (set.truth) truth.add(set.truth->log_likelihood(s, 1), n - 1);
    if (set.trained) {
      double sum = 0;
      for (const double x : event_log_likelihoods(*set.trained->model, s)) sum += std::isnan(x) ? 0 : x;
      own_weights.add(sum, n - 1);
    }
    if (model) {
      zero.add(by_weights(*model, s, unit), n - 1);
      coverage.add(*model, s, unit);
    }
    if (n <= kPast) continue;
    if (model) zero_late.add(by_weights(*model, s, unit) - by_weights(*model, part(s, 0, kPast), unit), n - kPast);
    own_poisson.add(
        by_own_past(s, kPast, [&](const EventSequence& past) { return Poisson::fitted(std::vector{past}, marks); }),
        n - kPast);
    own_hawkes.add(
        by_own_past(s, kPast, [&](const EventSequence& past) { return fit_hawkes(std::vector{past}, marks).process; }),
        n - kPast);
  }
  fmt::print("| {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.1f} |\n", set.name,
             zero.mean(), by_poisson.mean(), by_hawkes.mean(), own_weights.mean(), truth.mean(), zero_late.mean(),
             own_poisson.mean(), own_hawkes.mean(), coverage.percent());
}

}  // namespace

int main(int count, char** words) try {
  check(count >= 2, "zero_shot_events: no weights found, expected zero_shot_events WEIGHTS [PROTOCOL...]");
  const NoGrad off;
  const TrainedModel any = load_model(words[1]);
  std::vector<std::string> protocols(words + 2, words + count);
  if (protocols.empty())
    protocols = {
        "events/poisson", "events/hawkes", "events/self-correcting", "events/renewal",      "events/taxi",
        "events/twitter", "events/pubg",   "events/reddit-comments", "events/yelp-airport", "events/yelp-mississauga"};
  fmt::print(
      "| protocol | weights, untrained on it | Poisson | Hawkes | weights trained on it | truth | from the 21st event: "
      "weights | Poisson, own past | Hawkes, own past | in 90 % "
      "|\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const std::string& name : protocols) score(set_of(name), any);
  if (count == 2)
    for (EventSet& set : unseen_kinds()) score(std::move(set), any);
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
