#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/scores.h"

namespace npzoo {

/// The best values that are possible in expectation, per target point, in the metric of the protocol. "known": the true
/// hyper-parameters are given; "Bayes": they are integrated out. Absent if not computed.
struct OracleValues {
  std::optional<double> known_marginal, known_joint;
  std::optional<double> bayes_diagonal, bayes_mixture, bayes_joint;
  std::optional<double> standard_error;  // of each of them

  bool operator==(const OracleValues&) const = default;
};

struct OracleOptions {
  std::int64_t tasks = 6000;     // whose parameters, if they are not known, are integrated out
  std::int64_t batch_size = 16;  // tasks of a batch, as in the evaluation of the protocol
  std::uint64_t seed = 0;        // of the tasks
  int nodes = 8;                 // of the quadrature, along each side of a cell
  /// Called with the stage ("known" or "oracle"), the number of batches or tasks that are done, and how many there are;
  /// first with none done. May throw to stop.
  std::function<void(const char* stage, std::int64_t done, std::int64_t of)> progress{};
};

/// One of the best possible values, in nats.
struct OracleFigure {
  const char* key;                              // "known_marginal", as in protocols and in JSON
  std::string words;                            // for people
  std::optional<double> OracleValues::*stated;  // where a protocol states the same
  std::optional<Estimate> value{};              // none: the density says nothing
  std::optional<MarginalFit> fit{};             // of a figure of Gaussians: how they fit
};

/// The best values that are possible under the distribution of a test.
struct OracleFindings {
  /// Whether parameters were integrated out accurately.
  struct Integration {
    double error = 0;        // what a finer rule changes, in nats
    bool converged = false;  // the error is small enough
  };

  std::vector<OracleFigure> figures{};
  const char* unit = "target point";  // that figures are per: "target point" or "event"
  const char* task = "task";          // what a task is called
  std::int64_t tasks = 0;             // of the figures whose parameters are integrated out, or of all
  std::int64_t known_tasks = 0;       // of the other figures
  std::optional<Integration> integration{};
};

/// Whether an estimate is within three standard errors and 0.01 of a value that is stated with an error of its own.
bool agrees(const Estimate& estimate, double stated, double stated_error);

}  // namespace npzoo
