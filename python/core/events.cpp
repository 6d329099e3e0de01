#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>

#include "npzoo/models/applications/events/following_events.h"
#include "python/core/arrays.h"
#include "python/core/calls.h"
#include "python/core/model.h"

namespace npzoo::python {

using namespace nb::literals;

namespace {

using Numbers = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::dict as_dict(FollowingEvents following) {
  nb::dict row;
  const std::size_t quantiles = following.quantiles.size(), marks = following.mark_probability.size();
  row["last"] = following.last;
  row["mean"] = following.mean;
  row["quantiles"] = array_from(std::move(following.quantiles), {quantiles});
  row["mark_probability"] = array_from(std::move(following.mark_probability), {marks});
  nb::list paths;
  for (FollowingEvents::Path& path : following.paths) {
    const std::size_t events = path.times.size();
    paths.append(nb::make_tuple(array_from(std::move(path.times), {events}), path.marks));
  }
  row["paths"] = paths;
  row["count_mean"] = following.count ? nb::cast(following.count->mean) : nb::none();
  row["count_quantiles"] = following.count ? nb::cast(following.count->quantiles) : nb::none();
  return row;
}

std::span<const std::int64_t> marks_of(const std::optional<Integers>& marks) {
  return marks ? std::span<const std::int64_t>(marks->data(), marks->size()) : std::span<const std::int64_t>();
}

std::span<const std::uint32_t> numbers_of(const std::optional<Numbers>& numbers) {
  return numbers ? std::span<const std::uint32_t>(numbers->data(), numbers->size()) : std::span<const std::uint32_t>();
}

/// One array for each sequence, nats per unit of the table's time.
nb::list log_likelihoods(const LoadedModel& model, const Doubles& times, const std::optional<Integers>& marks,
                         const std::optional<Numbers>& sequences) {
  const TrainedModel& trained = in_float32(model, "events");
  std::vector<std::vector<double>> all = unlocked([&] {
    const EventData data = make_events(trained, span_of(times), marks_of(marks), numbers_of(sequences));
    return log_likelihoods_of_events(trained, data);
  });
  nb::list rows;
  for (std::vector<double>& row : all) {
    const std::size_t events = row.size();
    rows.append(array_from(std::move(row), {events}));
  }
  return rows;
}

nb::list next_events(const LoadedModel& model, const Doubles& times, const std::optional<Integers>& marks,
                     const std::optional<Numbers>& sequences, const std::vector<double>& quantiles,
                     std::optional<double> now, std::int64_t samples, double horizon, std::optional<std::uint64_t> seed,
                     nb::object progress) {
  const TrainedModel& trained = in_float32(model, "events");
  CallWatch watch;
  std::vector<FollowingEvents> all = unlocked(watch, [&] {
    const EventData data = make_events(trained, span_of(times), marks_of(marks), numbers_of(sequences));
    return predict_following_events(trained, data,
                                    {.quantiles = quantiles,
                                     .now = now,
                                     .samples = samples,
                                     .horizon = horizon,
                                     .seed = seed,
                                     .progress = watch.progress(progress)});
  });
  nb::list rows;
  for (FollowingEvents& following : all) rows.append(as_dict(std::move(following)));
  return rows;
}

}  // namespace

void add_events(nb::module_& module) {
  module.def("next_events", &next_events, "model"_a, "times"_a.noconvert(), "marks"_a, "sequences"_a, "quantiles"_a,
             "now"_a, "samples"_a, "horizon"_a, "seed"_a, "progress"_a.none());
  module.def("event_log_likelihoods", &log_likelihoods, "model"_a, "times"_a.noconvert(), "marks"_a, "sequences"_a);
}

}  // namespace npzoo::python
