#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "npzoo/datasets/scores.h"
#include "npzoo/datasets/tables/standardise.h"
#include "npzoo/engine/ranks/job.h"
#include "npzoo/models/applications/tables/turned_inputs.h"
#include "npzoo/models/applications/tables/value_transform.h"
#include "npzoo/models/model.h"

namespace npzoo {

/// Observed points of one function, and the places to predict. Row-major, in the units of the table.
struct Series {
  std::vector<double> x;        // (n, Dx)
  std::vector<double> y;        // (n, Dy)
  std::vector<double> targets;  // (m, Dx)
  std::vector<double> truth{};  // (m, Dy), NaN where it is not known; empty: nowhere
  /// (m, Dy): the variance of an independent error of the targets, such as that of what was subtracted from the values;
  /// empty: none. It is not part of samples.
  std::vector<double> added_variance{};
  std::vector<std::string> value_names = {"y"};  // what messages call the Dy columns of y
  /// Units of all similar series together, used if this one has fewer than two points. A series without a point is
  /// predicted to have their mean and standard deviation. None: the units of its own context.
  std::optional<Standardisation> usual{};
  /// A transform for each of the Dy values, or nothing. With transforms `y` holds what `forward` returns, and `truth`
  /// the values themselves. The caller owns the array.
  std::span<const ValueTransform> transforms{};
  double ratio = 1;  // up to which two inputs have one scale (see keep_proportions); 1 of a part of a large series
};

/// The prediction of a series, in the units of the table.
struct SeriesPrediction {
  Standardisation units;               // by the series' own context
  std::vector<double> mean, std;       // (m, Dy)
  std::vector<double> quantiles{};     // (m, Dy, Q)
  std::vector<double> samples{};       // (m, Dy, S), of all targets together if the model draws functions, otherwise
                                       // of each by itself (see PlaceSamples)
  std::vector<double> log_density{};   // (m), nats, of the values of a target together; these three only where there is
                                       // a truth, NaN where it is not known
  std::vector<double> crps{};          // (m, Dy), continuous ranked probability score
  std::vector<double> central_mass{};  // (m, Dy), of the smallest central interval that holds the truth
  std::optional<InputTurn> turn{};     // of the inputs, if they were turned (see LocalOptions)
  double noise_ratio = 1;  // of the factors of deviations, the largest over the smallest (see ChangingNoise)
};

/// A method for single series.
class SeriesMethod {
 public:
  /// The next series; none at the end.
  using Next = std::function<std::optional<Series>()>;
  /// Takes the answers, in the order of the series.
  using Take = std::function<void(SeriesPrediction)>;

  virtual ~SeriesMethod() = default;
  /// Values of a series.
  virtual std::int64_t dim_y() const = 0;
  /// How a series is standardised, by its own points.
  virtual Standardisation units_of(const Series& series) const = 0;
  virtual void predict(const Next& next, const Take& take) = 0;
};

struct SeriesOptions {
  Density density = Density::marginal;    // of the model's row
  std::vector<std::string> x_names{"x"};  // of the Dx inputs, for messages
  std::vector<double> quantiles{};        // each above 0 and below 1
  std::int64_t samples = 0;
  std::uint64_t seed = 0;  // random numbers of the model and of samples
  bool standardise = true;
  std::int64_t chunk = 4096;  // targets of a series that are predicted at a time
  /// Contexts and targets of a batch, unless one series alone has more. 0: as many as suit the device. The threads of a
  /// CPU take a batch each, a GPU does one after the other.
  std::int64_t batch_points = 0;
  std::int64_t batch_series = 64;
  std::int64_t held_points = 1 << 20;  // series are sorted by size in portions of so many points
  /// Called after each batch with the number of targets since the last call, by one thread at a time.
  std::function<void(std::int64_t)> progress{};
  /// `predict` looks at it before each batch and throws Interrupted after a request.
  std::stop_token stop{};
  Job* job = nullptr;  // ranks that share the batches: all get the answers of one process, to the bit
};

/// Predicts many series: standardises each by its own context, sorts them by size, pads them into batches and computes
/// these on the threads of the pool. Batches follow from the sizes alone, so that the bits of an answer depend on the
/// series that come with it and not on the number of threads. Memory is that of about `held_points` points and of a
/// batch for each thread, or of the largest series where that is more.
class SeriesPredictor {
 public:
  using Next = SeriesMethod::Next;
  using Take = SeriesMethod::Take;

  /// The model must live as long as this.
  SeriesPredictor(const Model& model, const TrainingRange& range, SeriesOptions options);

  std::int64_t dim_x() const { return model_.dim_x(); }
  std::int64_t dim_y() const { return model_.dim_y(); }

  /// Throws Error for arrays whose sizes do not fit together, and as `standardise` does.
  void predict(const Next& next, const Take& take) const;
  std::vector<SeriesPrediction> predict(std::span<const Series> series) const;

  /// Throws Error for arrays whose sizes do not fit together.
  void check_sizes(const Series& series) const;
  /// Returns how a series is standardised. Throws Error as `standardise` does.
  Standardisation units_of(const Series& series) const;

 private:
  struct Batch;
  std::vector<SeriesPrediction> predict_held(const std::vector<Series>& series, std::uint64_t first_batch,
                                             std::uint64_t& batches) const;
  std::vector<Batch> batches(const std::vector<Series>& series, std::uint64_t first) const;
  std::int64_t targets_of(const Batch& batch, const std::vector<Series>& series) const;
  void predict_batch(const Batch& batch, const std::vector<Series>& series, std::vector<SeriesPrediction>& out) const;
  bool jointly() const;
  std::unique_ptr<Prediction> spread_of_all(std::int64_t count, std::int64_t width) const;

  const Model& model_;
  TrainingRange range_;
  SeriesOptions options_;
};

}  // namespace npzoo
