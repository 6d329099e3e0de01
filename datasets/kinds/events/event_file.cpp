#include "npzoo/datasets/kinds/events/event_file.h"

#include <algorithm>
#include <filesystem>

#include "npzoo/datasets/data_folder.h"
#include "npzoo/datasets/permutation.h"
#include "npzoo/datasets/tables/own_file.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

using Sequences = std::vector<std::shared_ptr<const EventSequence>>;

std::int64_t share_of(double share, std::int64_t count) {
  return static_cast<std::int64_t>(share * static_cast<double>(count) + 0.5);
}

EventParts divide_by_sequence(const Sequences& sequences, const EventFile& file) {
  const auto count = std::ssize(sequences);
  const std::int64_t test = share_of(file.test, count), validation = share_of(file.validation, count);
  check(test > 0 && validation > 0 && test + validation < count,
        "[events] {} has {} sequences with an event to predict, expected one or more for each of training, validation "
        "and test",
        file.path, count);
  const Permutation order(count, 0, 0);
  EventParts parts;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t place = order(i);
    auto& part = place < test ? parts.test : place < test + validation ? parts.validation : parts.training;
    const auto& sequence = sequences[static_cast<std::size_t>(i)];
    part.push_back({sequence, 0, sequence->events()});
  }
  return parts;
}

/// Cuts the events [first, end) into tasks of at most `rules.points` events. The first task has the first events as its
/// context; every other event is a target once.
void cut(const std::shared_ptr<const EventSequence>& sequence, std::int64_t first, std::int64_t end,
         const EventTaskRules& rules, std::vector<RecordedPiece>& pieces) {
  for (std::int64_t target = first + rules.context; target < end; target += rules.points - rules.context)
    pieces.push_back({sequence, target - rules.context, std::min(end, target - rules.context + rules.points)});
}

EventParts divide_by_time(const Sequences& sequences, const EventFile& file, const EventTaskRules& rules) {
  EventParts parts;
  for (const auto& sequence : sequences) {
    const std::int64_t events = sequence->events(), test = events - share_of(file.test, events),
                       validation = test - share_of(file.validation, events);
    if (validation > rules.context) parts.training.push_back({sequence, 0, validation});
    cut(sequence, std::max<std::int64_t>(validation - rules.context, 0), test, rules, parts.validation);
    cut(sequence, std::max<std::int64_t>(test - rules.context, 0), events, rules, parts.test);
  }
  check(!parts.training.empty() && !parts.validation.empty() && !parts.test.empty(),
        "[events] {} has too few events, expected enough for training, validation and test", file.path);
  return parts;
}

}  // namespace

const std::vector<RecordedPiece>& EventParts::of(Split split) const {
  return split == Split::training ? training : split == Split::validation ? validation : test;
}

EventSequence events_of(const RecordedPiece& piece) {
  const EventSequence& s = *piece.sequence;
  EventSequence events;
  events.times.assign(s.times.begin() + piece.first, s.times.begin() + piece.end);
  events.marks.assign(s.marks.begin() + piece.first, s.marks.begin() + piece.end);
  events.end = piece.end == s.events() ? s.end : events.times.back();
  return events;
}

EventParts divide(std::vector<NamedSequence> named, const EventFile& file, const EventTaskRules& rules) {
  Sequences sequences;
  for (NamedSequence& one : named) {
    const bool has_target = one.events.events() > rules.context || one.events.end > one.events.times.back();
    if (has_target) sequences.push_back(std::make_shared<const EventSequence>(std::move(one.events)));
  }
  return file.by_time ? divide_by_time(sequences, file, rules) : divide_by_sequence(sequences, file);
}

EventParts read_parts(const EventFile& file, const EventTaskRules& rules) {
  const bool own = file.kind == EventFile::Kind::own;
  check(!own || !file.path.empty(), "[events] no table found, expected npzoo train --events FILE --time COLUMN");
  if (own) check_table_unchanged(file.path, file.checksum);
  EventFile found = file;
  if (!std::filesystem::path(file.path).is_absolute())
    found.path = data_file("events", {file.path}, "the source of the protocol describes it");
  EventTable table = file.kind == EventFile::Kind::jodie ? read_jodie_table(found.path, file.form)
                                                         : read_event_table(found.path, file.form);
  return divide(std::move(table.sequences), found, rules);
}

}  // namespace npzoo
