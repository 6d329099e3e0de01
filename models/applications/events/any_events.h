#pragma once

#include <filesystem>
#include <memory>

#include "npzoo/datasets/tables/column_choice.h"
#include "npzoo/models/applications/events/following_events.h"

// Weights that predict events of tables that they were not trained on.

namespace npzoo {

/// Their name.
inline constexpr const char* kAnyEvents = "thp-plus:npzoo/any-events";

/// True if the weights were trained on processes of many kinds, so that they predict any table of events.
bool predict_any_events(const TrainedModel& trained);

/// Returns how they read a table: the unit of time is the mean gap, and marks are the kinds of events that occur.
/// Throws Error as choose_event_columns does, for more kinds than the weights know, and if no time passes.
EventTableForm form_of_any_events(const TrainedModel& trained, const std::filesystem::path& table,
                                  const ColumnChoice& wishes, const CellRules& cells);

/// The same for arrays of events, as make_events has them.
void fit_form_of_any_events(std::span<const double> times, std::span<const std::int64_t> marks,
                            std::span<const std::uint32_t> sequences, EventTableForm& form);

/// Returns the latest events of each sequence, about as many as the weights were trained on; observation begins with
/// the one before them. Adds a fact about those left out.
EventData latest_events(EventData data);

/// The model for tables with `marks` kinds of events, of those that it knows; no other kind can come.
std::unique_ptr<Model> with_marks(const TrainedModel& trained, std::int64_t marks);

}  // namespace npzoo
