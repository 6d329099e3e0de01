#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/table_writer.h"
#include "npzoo/models/applications/events/following_events.h"

namespace npzoo {

/// Writes the tables of next events and of paths, in the units and with the column names of the events' table. The
/// files appear with `commit()`.
class EventWriter {
 public:
  /// An empty path: no such table. With `facts` lines of comments come first. `data` must live as long as this.
  EventWriter(const TrainedModel& trained, const EventData& data, const EventOptions& options,
              const std::filesystem::path& next, const std::filesystem::path& paths, bool facts = true);

  /// Returns the lines that describe how the tables were made.
  const std::vector<std::string>& facts() const { return facts_; }
  void write(std::size_t sequence, const FollowingEvents& following);
  void commit();

 private:
  const EventData& data_;
  std::vector<std::string> facts_;
  std::optional<TableWriter> next_, paths_;
};

}  // namespace npzoo
