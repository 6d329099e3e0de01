#include "npzoo/datasets/kinds/events/source.h"

#include <algorithm>

#include "npzoo/datasets/events/process_prior.h"
#include "npzoo/datasets/permutation.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

std::uint64_t stream_of(Split split, std::uint64_t index) { return static_cast<std::uint64_t>(split) << 56 | index; }

void check_batch_size(const SourceOptions& options) {
  check(options.batch_size > 0, "[events] batch size {}, expected at least 1", options.batch_size);
}

}  // namespace

std::shared_ptr<const PointProcess> SimulatedProcesses::next(Random& random) const {
  return one ? one : draw_process(marks, random);
}

std::string SimulatedProcesses::truth() const { return one ? one->name() + " process" : "process of each sequence"; }

SimulatedEvents::SimulatedEvents(SimulatedProcesses processes, const SimulatedExtent& extent,
                                 const EventTaskRules& rules, const SourceOptions& options)
    : processes_(std::move(processes)), extent_(extent), rules_(rules), options_(options) {
  check_batch_size(options);
}

Batch SimulatedEvents::batch(std::uint64_t index) const {
  Random random(options_.seed, stream_of(options_.split, index));
  std::vector<EventSequence> sequences;
  std::vector<std::shared_ptr<const PointProcess>> processes;
  for (std::int64_t b = 0; b < options_.batch_size; ++b) {
    processes.push_back(processes_.next(random));
    sequences.push_back(processes.back()->draw(extent_, random));
  }
  std::vector<SequencePiece> pieces;
  for (const EventSequence& sequence : sequences) pieces.push_back({&sequence, 0, sequence.events()});
  return {event_task(pieces, rules_, options_),
          std::make_shared<const EventTruth>("true " + processes_.truth(), std::move(processes))};
}

RecordedEvents::RecordedEvents(std::vector<RecordedPiece> pieces, const EventTaskRules& rules,
                               const SourceOptions& options)
    : pieces_(std::move(pieces)), rules_(rules), options_(options) {
  check_batch_size(options);
  check(!pieces_.empty(), "[events] no sequence found, expected at least one in each part");
}

std::optional<std::int64_t> RecordedEvents::size() const {
  if (options_.split == Split::training) return {};
  return (std::ssize(pieces_) + options_.batch_size - 1) / options_.batch_size;
}

Batch RecordedEvents::batch(std::uint64_t index) const {
  std::vector<SequencePiece> chosen;
  const std::int64_t count = std::ssize(pieces_);
  if (options_.split == Split::training) {
    Random random(options_.seed, stream_of(options_.split, index));
    for (const std::int64_t item : items_of_batch(count, options_.batch_size, options_.seed, index)) {
      const RecordedPiece& piece = pieces_[static_cast<std::size_t>(item)];
      const std::int64_t taken = rules_.points == 0 ? piece.events() : std::min(piece.events(), rules_.points);
      const std::int64_t first = piece.first + random.integer(0, piece.events() - taken + 1);
      chosen.push_back({piece.sequence.get(), first, first + taken});
    }
  } else {
    const auto first = static_cast<std::int64_t>(index) * options_.batch_size;
    for (std::int64_t item = first; item < std::min(first + options_.batch_size, count); ++item) {
      const RecordedPiece& piece = pieces_[static_cast<std::size_t>(item)];
      chosen.push_back({piece.sequence.get(), piece.first, piece.end});
    }
  }
  return {event_task(chosen, rules_, options_)};
}

}  // namespace npzoo
