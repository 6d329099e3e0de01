#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/events/process.h"

namespace npzoo {

/// A number of a fitted process. The standard error is that of the inverse observed information, NaN at the border.
struct FittedParameter {
  std::string name;
  double value = 0, standard_error = 0;
};

/// A process with the parameters under which sequences are most likely.
struct FittedProcess {
  std::shared_ptr<const PointProcess> process;
  std::vector<FittedParameter> parameters;
  double log_likelihood = 0;  // of all events, nats: the sum of `process->log_likelihood`
  double criterion = 0;       // Akaike's information criterion, where rates of half an event are the likeliest, 0
  std::string text;           // as `read_process` reads it, TOML
};

// All throw Error if there is no event, or if no time is observed. `marks` is M; each sequence is observed from time 0
// to its end. `names` are those of the marks in the names of parameters; empty: 0 … M − 1.

using MarkNames = std::span<const std::string>;

/// Homogeneous rates. A mark that was never seen has the rate of half an event.
FittedProcess fit_poisson(std::span<const EventSequence> sequences, std::int64_t marks, MarkNames names = {});
/// Rates that repeat after `period`, constant in each of its equal `parts`. Parts without an event count as half of
/// one.
FittedProcess fit_clock_poisson(std::span<const EventSequence> sequences, std::int64_t marks, double period,
                                std::int64_t parts, MarkNames names = {});
/// Exponential kernels with one decay for all pairs of marks: expectation maximisation (Veen and Schoenberg, JASA
/// 2008), then, of at most kMostPreciseMarks marks, Newton's method on the logarithms of parameters; with more marks
/// there are no standard errors. Time is linear in the events and grows with the square of M.
/// Throws Interrupted after a request to stop.
FittedProcess fit_hawkes(std::span<const EventSequence> sequences, std::int64_t marks, MarkNames names = {});
inline constexpr std::int64_t kMostPreciseMarks = 12;

}  // namespace npzoo
