#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "npzoo/datasets/events/table.h"
#include "npzoo/datasets/tables/column_choice.h"
#include "npzoo/models/applications/events/event_forecast.h"
#include "npzoo/models/applications/trained_model.h"
#include "npzoo/models/applications/warning.h"

namespace npzoo {

/// Sequences of events, in the units of the model, and how their table is written.
struct EventData {
  EventTableForm form;
  std::vector<NamedSequence> sequences;
  std::vector<Warning> warnings{};
  ColumnForm times{};                // how the table writes times
  std::vector<std::string> facts{};  // about how the events were read

  /// Reads a time as the table writes it: a number, or a date. Throws Error for anything else.
  double time_of(std::string_view text) const;
  std::int64_t events() const;
};

/// Makes sequences of arrays: `times` (n), in the unit of the training's table and ascending within a sequence, the
/// `marks` (n) of the events, from 0 on (empty: all are 0), and the number of each event's sequence, from 0 on (empty:
/// there is one). For weights of a user's own table, times count from the first event of each sequence. Throws Error if
/// the weights were not trained on events, if arrays differ in length, for a number without events, for times that are
/// negative or not ascending, and for marks that the model does not have.
EventData make_events(const TrainedModel& trained, std::span<const double> times,
                      std::span<const std::int64_t> marks = {}, std::span<const std::uint32_t> sequences = {});
/// Reads a table as the training did, or as form_of_any_events says: the group of `wishes` is the column of sequences,
/// its input that of times, its value that of marks. A model of a JODIE file also takes a table with the columns
/// sequence, time and mark. Throws Error as read_event_table does, and if the weights were not trained on events.
EventData read_events(const TrainedModel& trained, const std::filesystem::path& table, const ColumnChoice& wishes = {},
                      const CellRules& cells = {});

struct EventOptions {
  /// Probabilities of the quantiles of the next event's time, each above 0 and below 1.
  std::vector<double> quantiles{0.05, 0.5, 0.95};
  /// No event has happened from the last one until this time; none: no time has passed. For dates see
  /// EventData::time_of.
  std::optional<double> now{};
  std::int64_t samples = 0;             // paths
  double horizon = 0;                   // paths end, and events count, until so long after the last event or `now`
  std::optional<std::uint64_t> seed{};  // of random numbers; none: the seed of the training
  std::stop_token stop{};               // after a request the call throws Interrupted
  /// Called with the number of sequences so far and of all.
  std::function<void(std::int64_t done, std::int64_t all)> progress{};
};

/// The events after a sequence; all times in the unit of the table, dates as days (EventData::times).
struct FollowingEvents {
  double last = 0;                         // time of the last event
  double mean = 0;                         // of the time of the next event
  std::vector<double> quantiles{};         // of that time
  std::vector<double> mark_probability{};  // (M), before the time is known
  struct Path {
    std::vector<double> times;
    std::vector<std::int64_t> marks;
  };
  std::vector<Path> paths{};  // (samples): free-running continuations
  /// The number of events until the horizon, if there is one: by the samples, or by 200 paths.
  struct Count {
    double mean = 0;
    std::vector<double> quantiles{};
  };
  std::optional<Count> count{};
};

/// Predicts the next event of each sequence, given all events before it and the silence since the last one, and draws
/// paths of further events. Calls `take` with the number of each sequence, in order. Throws Error if `now` is before
/// the last event of a sequence, and as forecast_next and continue_events do; throws Interrupted after a request to
/// stop.
void predict_following_events(const TrainedModel& trained, const EventData& data, const EventOptions& options,
                              const std::function<void(std::size_t sequence, const FollowingEvents&)>& take);
std::vector<FollowingEvents> predict_following_events(const TrainedModel& trained, const EventData& data,
                                                      const EventOptions& options = {});

/// Log-density of each event's time and mark, given the events before it, in nats per unit of the table's time: (n) of
/// each sequence. NaN for the first event, which is given to the model, and for those that were left out.
std::vector<std::vector<double>> log_likelihoods_of_events(const TrainedModel& trained, const EventData& data);

}  // namespace npzoo
