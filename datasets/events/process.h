#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/toml_reader.h"
#include "npzoo/engine/random.h"

namespace npzoo {

/// The events of one sequence, which is observed from time 0 to `end`.
struct EventSequence {
  std::vector<double> times;        // ascending, 0 or more
  std::vector<std::int64_t> marks;  // of each, one of 0 … M − 1
  double end = 0;                   // the last event's time or later

  std::int64_t events() const { return std::ssize(times); }
};

/// The end of a simulation: a time, or a number of events.
struct SimulatedExtent {
  double end = 0;           // 0: only when there are enough events
  std::int64_t events = 0;  // at most; 0: as many as there are until `end`
};

/// A temporal point process with known parameters, whose history begins at time 0: density and simulation are exact.
class PointProcess {
 public:
  /// Most events that a sequence may have: float32 counts them exactly.
  static constexpr std::int64_t kMostEvents = std::int64_t{1} << 20;

  virtual ~PointProcess() = default;

  /// "Hawkes".
  virtual std::string name() const = 0;
  virtual std::int64_t marks() const { return 1; }
  /// log p of the events from number `first` on, given those before, and of nothing else until the end: the sum of
  /// their log-intensities minus the integral of all intensities (the compensator) from event `first` − 1, or 0, to
  /// `end`. In nats; −∞ where an event is impossible. Takes time linear in the events.
  virtual double log_likelihood(const EventSequence& sequence, std::int64_t first) const = 0;
  /// Intensities just before each of some ascending times, given the events before: (times, M).
  virtual std::vector<double> intensities(const EventSequence& sequence, std::span<const double> times) const = 0;
  /// Throws Error if more than kMostEvents would come.
  virtual EventSequence draw(const SimulatedExtent& extent, Random& random) const = 0;
};

/// Events of mark k at rate μ_k, whatever came before.
class Poisson final : public PointProcess {
 public:
  explicit Poisson(std::vector<double> rates);
  /// The one under which sequences are most likely: events of each mark divided by the time observed. A mark that was
  /// never seen counts as half an event.
  static std::shared_ptr<const Poisson> fitted(std::span<const EventSequence> sequences, std::int64_t marks);

  std::string name() const override { return "Poisson"; }
  std::int64_t marks() const override { return std::ssize(rates_); }
  double log_likelihood(const EventSequence& sequence, std::int64_t first) const override;
  std::vector<double> intensities(const EventSequence& sequence, std::span<const double> times) const override;
  EventSequence draw(const SimulatedExtent& extent, Random& random) const override;

  const std::vector<double>& rates() const { return rates_; }

 private:
  std::vector<double> rates_;
};

/// The table of a process: `kind`, one of "poisson", "clock-poisson", "hawkes", "self-correcting" and "renewal", and
/// the parameters of that kind; other keys are left to the caller.
///
/// - poisson: `rates` [μ_k].
/// - clock-poisson: `period`, `rates` [[μ_kp]] for each of its equal parts p, from the start of observation on.
/// - hawkes: `baseline` [μ_k], `excitation` [[α_kj]], `decay` [[β_kj]]; mark k has intensity μ_k + Σ α_kj exp(−β_kj (t
/// −
///   t_i)) over earlier events i of mark j (Hawkes, "Spectra of some self-exciting and mutually exciting point
///   processes", Biometrika 1971).
/// - self-correcting: `rate` μ, `correction` α; exp(μ t − α N(t)) (Isham and Westcott, "A self-correcting point
///   process", 1979).
/// - renewal: `gaps`, independent of each other: a table whose `kind` is "gamma" or "weibull", with `shape` and
/// `scale`,
///   or "log-normal", with `mean` and `std` of the logarithm.
std::shared_ptr<const PointProcess> read_process(TomlReader& table);

}  // namespace npzoo
