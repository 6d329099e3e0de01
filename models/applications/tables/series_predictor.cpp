#include "npzoo/models/applications/tables/series_predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <numeric>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/applications/application_call.h"
#include "npzoo/models/applications/tables/likelihood_units.h"
#include "npzoo/models/applications/tables/series_figures.h"
#include "npzoo/models/predictions/independent.h"
#include "npzoo/models/share_work.h"

namespace npzoo {

namespace {

std::int64_t points(const Series& s) { return std::ssize(s.y) / std::ssize(s.value_names); }

/// Copies points into row `b` of `tensor` (B, N, D), from the first one on.
template <class T>
void put(std::span<const double> points, std::int64_t b, Tensor& tensor) {
  const auto at = tensor.values<T>().begin() + b * tensor.dim(1) * tensor.dim(2);
  std::ranges::transform(points, at, [](double value) { return static_cast<T>(value); });
}

/// The figures of a series.
constexpr std::array kFigures{
    &SeriesPrediction::mean,        &SeriesPrediction::std,  &SeriesPrediction::quantiles,   &SeriesPrediction::samples,
    &SeriesPrediction::log_density, &SeriesPrediction::crps, &SeriesPrediction::central_mass};

/// The figures of the series of a batch.
struct BatchFigures {
  std::vector<std::vector<double>> arrays;  // those of kFigures, of one series after the other

  static void fields(auto& bytes, auto& self) { bytes(self.arrays); }
};

/// Returns the numbers 0 … count − 1 such that neighbours lie far apart in the list: batches are sorted by their size,
/// and each rank gets a part of the list.
std::vector<std::int64_t> dealt(std::int64_t count, std::int64_t ranks) {
  std::vector<std::int64_t> order;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    for (std::int64_t i = rank; i < count; i += ranks) order.push_back(i);
  return order;
}

Tensor zeros(const Shape& shape, DType dtype = DType::float32) { return Tensor::zeros(shape, dtype, Device::cpu); }

}  // namespace

/// A batch of series: their positions, and the number of the batch, which selects its random numbers.
struct SeriesPredictor::Batch {
  std::vector<std::size_t> members;
  std::int64_t context = 0, targets = 0;  // of the largest
  std::uint64_t number = 0;
  bool unknown = false;  // no member has a point, and all are to be like the usual ones
};

SeriesPredictor::SeriesPredictor(const Model& model, const TrainingRange& range, SeriesOptions options)
    : model_(model), range_(range), options_(std::move(options)) {
  check(std::ssize(options_.x_names) == model.dim_x(), "[series] {} inputs found, expected {} for this model",
        options_.x_names.size(), model.dim_x());
}

void SeriesPredictor::check_sizes(const Series& s) const {
  const std::int64_t dim_x = model_.dim_x(), dim_y = model_.dim_y();
  check(std::ssize(s.value_names) == dim_y, "[series] {} values found, {}, expected {} for this model",
        s.value_names.size(), fmt::join(s.value_names, " and "), dim_y);
  check(std::ssize(s.x) % dim_x == 0 && std::ssize(s.x) / dim_x * dim_y == std::ssize(s.y),
        "[series] {} numbers of x and {} of y found, expected {} and {} for each point", s.x.size(), s.y.size(), dim_x,
        dim_y);
  check(std::ssize(s.targets) % dim_x == 0, "[series] {} numbers of targets found, expected {} for each",
        s.targets.size(), dim_x);
  check_observed(s.y, s.value_names, model_.likelihood());
  const std::int64_t known = std::ssize(s.targets) / dim_x * dim_y;
  check(s.transforms.empty() || std::ssize(s.transforms) == dim_y, "[series] {} transforms found, expected {}",
        s.transforms.size(), dim_y);
  check(s.truth.empty() || std::ssize(s.truth) == known, "[series] {} numbers of truth found, expected {}",
        s.truth.size(), known);
  check(s.added_variance.empty() || std::ssize(s.added_variance) == known,
        "[series] {} added variances found, expected {}", s.added_variance.size(), known);
}

Standardisation SeriesPredictor::units_of(const Series& s) const {
  if (!options_.standardise) return leave_as_is(options_.x_names.size(), s.value_names.size(), range_);
  if (s.usual && points(s) < 2) return units_of_likelihood(*s.usual, model_.likelihood());
  Standardisation units = standardise_by_context(s.x, s.y, options_.x_names, s.value_names, range_);
  keep_proportions(units, s.ratio);
  return units_of_likelihood(std::move(units), model_.likelihood());
}

/// Whether the prediction of a target may depend on the others, so that targets may be neither added nor postponed.
bool SeriesPredictor::jointly() const {
  return options_.density == Density::joint || (options_.samples > 0 && options_.density != Density::marginal);
}

void SeriesPredictor::predict(const Next& next, const Take& take) const {
  return call_application(options_.stop, &model_, [&] {
    std::uint64_t batch = 0;
    for (bool more = true; more;) {
      std::vector<Series> held;
      for (std::int64_t size = 0; size < options_.held_points;) {
        std::optional<Series> one = next();
        more = one.has_value();
        if (!more) break;
        check_sizes(*one);
        size += points(*one) + std::ssize(one->targets) / model_.dim_x() + 1;
        held.push_back(std::move(*one));
      }
      std::uint64_t batches = 0;
      for (SeriesPrediction& answer : predict_held(held, batch, batches)) take(std::move(answer));
      batch += batches;
    }
  });
}

std::vector<SeriesPrediction> SeriesPredictor::predict(std::span<const Series> series) const {
  std::vector<SeriesPrediction> answers;
  std::size_t at = 0;
  predict([&] { return at < series.size() ? std::optional(series[at++]) : std::nullopt; },
          [&](SeriesPrediction answer) { answers.push_back(std::move(answer)); });
  return answers;
}

std::vector<SeriesPredictor::Batch> SeriesPredictor::batches(const std::vector<Series>& series,
                                                             std::uint64_t first) const {
  constexpr std::int64_t kOfThread = 1024, kOfGpu = 8192;
  const std::int64_t most = options_.batch_points > 0         ? options_.batch_points
                            : default_device() == Device::cpu ? kOfThread
                                                              : kOfGpu;
  const auto targets = [&](std::size_t i) { return std::ssize(series[i].targets) / model_.dim_x(); };
  const bool together = jointly();
  std::vector<std::size_t> order(series.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      return together ? std::pair(targets(i), points(series[i])) : std::pair(points(series[i]), targets(i));
    };
    return key(a) < key(b);
  });
  std::vector<Batch> all;
  for (const std::size_t i : order) {
    if (targets(i) == 0) continue;
    const bool unknown = points(series[i]) == 0 && series[i].usual;
    const auto fits = [&](const Batch& b) {
      const std::int64_t context = std::max(b.context, points(series[i])), asked = std::max(b.targets, targets(i)),
                         count = std::ssize(b.members) + 1;
      return count <= options_.batch_series && count * (context + asked) <= most && b.unknown == unknown &&
             (!together || b.targets == targets(i));
    };
    if (all.empty() || !fits(all.back())) all.push_back({{}, 0, 0, first + all.size(), unknown});
    Batch& batch = all.back();
    batch.members.push_back(i);
    batch.context = std::max(batch.context, points(series[i]));
    batch.targets = std::max(batch.targets, targets(i));
  }
  return all;
}

std::vector<SeriesPrediction> SeriesPredictor::predict_held(const std::vector<Series>& series,
                                                            std::uint64_t first_batch, std::uint64_t& count) const {
  std::vector<SeriesPrediction> out(series.size());
  for (std::size_t i = 0; i < series.size(); ++i) out[i].units = units_of(series[i]);
  const std::vector<Batch> all = batches(series, first_batch);
  count = all.size();
  std::mutex told;
  const auto batches = static_cast<std::int64_t>(all.size());
  const std::vector<std::int64_t> order = dealt(batches, options_.job != nullptr ? options_.job->size() : 1);
  const auto batch_at = [&](std::int64_t place) -> const Batch& {
    return all[static_cast<std::size_t>(order[static_cast<std::size_t>(place)])];
  };
  const auto tell = [&](const Batch& batch) {
    const std::lock_guard lock(told);
    if (options_.progress) options_.progress(targets_of(batch, series));
  };
  const auto work = [&](std::int64_t begin, std::int64_t end) {
    const NoGrad off;
    for (std::int64_t i = begin; i < end; ++i) {
      throw_if_stopped();
      predict_batch(batch_at(i), series, out);
      tell(batch_at(i));
    }
  };
  const auto predict_some = [&](std::int64_t first, std::int64_t last) {
    if (default_device() == Device::cpu)
      thread_pool().for_range(last - first, 1,
                              [&](std::int64_t begin, std::int64_t end) { work(first + begin, first + end); });
    else
      work(first, last);
    std::vector<BatchFigures> figures(static_cast<std::size_t>(last - first));
    for (std::int64_t i = first; i < last; ++i)
      for (const std::size_t m : batch_at(i).members)
        for (const auto array : kFigures)
          figures[static_cast<std::size_t>(i - first)].arrays.push_back(std::move(out[m].*array));
    return figures;
  };
  std::vector<BatchFigures> figures = share_work<BatchFigures>(options_.job, batches, predict_some);
  const RankShare own = options_.job != nullptr
                            ? RankShare::of_rank(batches, options_.job->rank(), options_.job->size())
                            : RankShare{0, batches};
  for (std::int64_t i = 0; i < batches; ++i) {
    auto from = figures[static_cast<std::size_t>(i)].arrays.begin();
    for (const std::size_t m : batch_at(i).members)
      for (const auto array : kFigures) out[m].*array = std::move(*from++);
    if (i < own.first || i >= own.last) tell(batch_at(i));
  }
  return out;
}

std::int64_t SeriesPredictor::targets_of(const Batch& batch, const std::vector<Series>& series) const {
  std::int64_t targets = 0;
  for (const std::size_t m : batch.members) targets += std::ssize(series[m].targets) / model_.dim_x();
  return targets;
}

namespace {

Context padded_context(std::span<const std::size_t> members, const std::vector<Series>& series,
                       const std::vector<SeriesPrediction>& answers, std::int64_t width, const Model& model) {
  const std::int64_t count = std::ssize(members);
  Tensor xc = zeros({count, width, model.dim_x()}), yc = zeros({count, width, model.dim_y()});
  Tensor lengths = Tensor::empty({count}, DType::int64, Device::cpu);
  bool full = true;
  for (std::int64_t b = 0; b < count; ++b) {
    const std::size_t m = members[static_cast<std::size_t>(b)];
    put<float>(answers[m].units.map_inputs(series[m].x), b, xc);
    put<float>(answers[m].units.map_values(series[m].y), b, yc);
    lengths.values<std::int64_t>()[static_cast<std::size_t>(b)] = points(series[m]);
    full = full && points(series[m]) == width;
  }
  return {xc.to(default_device()), yc.to(default_device()), full ? Tensor() : lengths};
}

/// Rows of `v` from `begin` on, at most `count`.
std::span<const double> part(const std::vector<double>& v, std::int64_t begin, std::int64_t count, std::int64_t width) {
  const std::int64_t size = std::ssize(v), from = std::min(begin * width, size);
  return std::span(v).subspan(static_cast<std::size_t>(from),
                              static_cast<std::size_t>(std::min(count * width, size - from)));
}

/// Returns variances added at targets from `begin` on, (B, width, Dy) in the units of the model; undefined if no series
/// has any.
Tensor added_variances(std::span<const std::size_t> members, const std::vector<Series>& series,
                       const std::vector<SeriesPrediction>& answers, std::int64_t begin, std::int64_t width,
                       std::int64_t dim_y) {
  if (std::ranges::all_of(members, [&](std::size_t m) { return series[m].added_variance.empty(); })) return {};
  Tensor all = zeros({std::ssize(members), width, dim_y}, DType::float64);
  for (std::int64_t b = 0; b < std::ssize(members); ++b) {
    const std::size_t m = members[static_cast<std::size_t>(b)];
    const std::span<const double> some = part(series[m].added_variance, begin, width, dim_y);
    std::vector<double> scaled(some.begin(), some.end());
    for (std::size_t i = 0; i < scaled.size(); ++i)
      scaled[i] /= std::pow(answers[m].units.values[i % static_cast<std::size_t>(dim_y)].scale, 2);
    put<double>(scaled, b, all);
  }
  return all;
}

}  // namespace

/// Returns Gaussians of mean 0 and the standard deviation of all series together, in the units of the model.
std::unique_ptr<Prediction> SeriesPredictor::spread_of_all(std::int64_t count, std::int64_t width) const {
  const Shape shape{count, width, model_.dim_y()};
  return std::make_unique<Independent>(
      Moments{Tensor::zeros(shape, DType::float32, default_device()),
              Tensor::full(shape, range_.value_std, DType::float32, default_device())});
}

void SeriesPredictor::predict_batch(const Batch& batch, const std::vector<Series>& series,
                                    std::vector<SeriesPrediction>& out) const {
  const std::int64_t count = std::ssize(batch.members), dim_x = model_.dim_x(), dim_y = model_.dim_y();
  Draws draws(options_.seed, Purpose::prediction, batch.number);
  const auto state = batch.unknown ? nullptr
                                   : model_.condition(padded_context(batch.members, series, out, batch.context, model_),
                                                      draws, kSamples);
  const bool scored = std::ranges::any_of(batch.members, [&](std::size_t m) { return !series[m].truth.empty(); });
  const std::int64_t step = jointly() ? batch.targets : std::min(batch.targets, options_.chunk);
  for (std::int64_t begin = 0; begin < batch.targets; begin += step) {
    const std::int64_t width = std::min(step, batch.targets - begin);
    Tensor xt = zeros({count, width, dim_x}), yt = zeros({count, width, dim_y}, DType::float64);
    for (std::int64_t b = 0; b < count; ++b) {
      const std::size_t m = batch.members[static_cast<std::size_t>(b)];
      const Standardisation& units = out[m].units;
      put<float>(units.map_inputs(part(series[m].targets, begin, width, dim_x)), b, xt);
      std::vector<double> known = units.map_values(part(series[m].truth, begin, width, dim_y));
      std::ranges::replace_if(
          known, [](double y) { return std::isnan(y); }, 0.0);
      put<double>(known, b, yt);
    }
    const auto prediction = state ? model_.query(*state, xt.to(default_device())) : spread_of_all(count, width);
    SeriesFigures figures(*prediction, added_variances(batch.members, series, out, begin, width, dim_y), options_,
                          draws);
    if (scored) figures.score(yt);
    for (std::int64_t b = 0; b < count; ++b) {
      const std::size_t m = batch.members[static_cast<std::size_t>(b)];
      const std::span<const double> places = part(series[m].targets, begin, width, dim_x);
      const auto asked = std::ssize(places) / dim_x;
      figures.append(b, series[m], places, part(series[m].truth, begin, asked, dim_y), out[m]);
    }
  }
}

}  // namespace npzoo
