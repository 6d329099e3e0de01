#pragma once

#include <string>
#include <vector>

#include "npzoo/datasets/events/table.h"
#include "npzoo/datasets/kinds/events/source.h"

namespace npzoo {

/// A file of recorded events, how it is read, and how it is divided.
struct EventFile {
  enum class Kind : std::uint8_t { table, jodie, own };

  std::string path;      // of an own table absolute; empty: the recipe for one that is still to be named
  std::string checksum;  // of the bytes of an own table
  Kind kind = Kind::table;
  EventTableForm form;
  double validation = 0, test = 0;  // shares of the sequences
  bool by_time = false;             // shares of the events of each sequence instead, the last ones for the test
};

/// Training, validation and test of a file.
struct EventParts {
  std::vector<RecordedPiece> training, validation, test;

  const std::vector<RecordedPiece>& of(Split split) const;
};

/// The events of a piece, at their own times. Observation ends with the last of them unless the piece is the end of its
/// sequence.
EventSequence events_of(const RecordedPiece& piece);

/// Divides sequences by sequence or by time. By sequence, the part of each follows from their number and order. By
/// time, validation and test are cut into tasks, and the context of each is the events before its first target. Throws
/// Error if a part is empty.
EventParts divide(std::vector<NamedSequence> sequences, const EventFile& file, const EventTaskRules& rules);

/// Reads and divides a file. Throws Error as read_event_table and divide do, and if an own table has changed.
EventParts read_parts(const EventFile& file, const EventTaskRules& rules);

}  // namespace npzoo
