#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "npzoo/models/applications/tables/prediction_report.h"
#include "npzoo/models/applications/trained_model.h"
#include "npzoo/models/numerical_events.h"
#include "npzoo/models/predictions/autoregressive_model.h"

namespace npzoo {

struct PointOptions {
  std::vector<std::string> x_names, y_names;  // of the inputs and values, for messages and comments
  std::vector<ColumnForm> x_forms{};          // how messages show inputs; empty: as numbers
  bool standardise = true;                    // map inputs and values to the units of the training
  std::int64_t samples = 0;                   // drawn with each prediction
  bool autoregressive = false;                // draw them as FillOptions::autoregressive does
  std::optional<std::uint64_t> seed{};        // of random numbers; none: the seed of the training
  std::int64_t chunk = 4096;                  // targets predicted at a time; bounds the memory
  std::stop_token stop{};                     // after a request a call throws Interrupted
};

/// The prediction at some targets, in the units of the data.
struct PointFigures {
  std::vector<double> mean, std;  // (m, Dy)
  std::vector<double> samples{};  // (m, S, Dy)
};

/// One task as it stands: a context, whole or growing, and predictions at any targets given all of it. All arrays are
/// row-major doubles.
class PointPredictor {
 public:
  /// `x` (n, Dx) and `y` (n, Dy) fix the units, as in `standardise_by_context`; they do not become observations. The
  /// model must live as long as this. Throws Error if names and arrays do not fit to the model, and as `standardise`
  /// does.
  PointPredictor(const TrainedModel& trained, std::span<const double> x, std::span<const double> y,
                 const PointOptions& options);
  ~PointPredictor();

  /// Adds observed points to the context. A model that does not stream encodes all of the context again.
  void observe(std::span<const double> x, std::span<const double> y);
  /// Predicts at `x` (m, Dx), `chunk` targets at a time or, if the model predicts jointly, all at once. `again`: these
  /// targets were predicted before, so the report does not count them a second time.
  PointFigures predict(std::span<const double> x, bool again = false);

  std::int64_t context_rows() const { return report_.context.rows(); }
  /// The largest number of targets that `predict` computes at a time. A call with more targets needs more memory only
  /// if they are joint.
  std::int64_t targets_at_a_time() const { return together_; }
  /// Units, noise and warnings about the points so far.
  const PredictionReport& report() const { return report_; }
  /// Returns the numerical events of its calls so far.
  const NumericalEvents& events() const { return events_; }
  /// How samples are drawn: each target by itself (marginal) or together.
  Density density() const { return density_; }

 private:
  bool draws_one_by_one() const { return options_.autoregressive && options_.samples > 0; }

  PointOptions options_;
  AutoregressiveModel one_by_one_;
  const Model& model_;
  Density density_;
  std::int64_t together_;
  PredictionReport report_;
  Draws draws_;
  std::unique_ptr<ContextState> state_;
  NumericalEvents events_{};
};

}  // namespace npzoo
