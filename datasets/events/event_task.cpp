#include "npzoo/datasets/events/event_task.h"

#include <algorithm>

#include "npzoo/datasets/events/draw.h"

namespace npzoo {

namespace {

/// Rows of points of one task, and how many of them are real.
struct EventRows {
  std::vector<double> x, y;  // (rows), (rows, 2)

  std::int64_t count() const { return std::ssize(x); }
  void add(std::int64_t number, double gap, double mark) {
    x.push_back(static_cast<double>(number));
    y.insert(y.end(), {gap, mark});
  }
};

/// Context and targets of a piece.
std::pair<EventRows, EventRows> rows_of(const SequencePiece& piece, const EventTaskRules& rules) {
  const EventSequence& s = *piece.sequence;
  EventRows context, targets;
  // The first event of a context says when it happened, so that the clock of a piece is that of its sequence.
  const bool from_start = piece.first == 0 || rules.context > 0;
  double before = from_start ? 0 : s.times[static_cast<std::size_t>(piece.first - 1)];
  for (std::int64_t i = piece.first; i < piece.end; ++i) {
    const double time = s.times[static_cast<std::size_t>(i)];
    (i < piece.first + rules.context ? context : targets)
        .add(i, time - before, static_cast<double>(s.marks[static_cast<std::size_t>(i)]));
    before = time;
  }
  if (piece.end == s.events() && s.end > before) targets.add(s.events(), s.end - before, kNoEvent);
  return {std::move(context), std::move(targets)};
}

/// All of them, padded to as many rows as the longest has.
class EventPadding {
 public:
  EventPadding(const std::vector<EventRows>& rows, std::int64_t least) : longest_(least) {
    for (const EventRows& row : rows) longest_ = std::max(longest_, row.count());
    for (const EventRows& row : rows) {
      x_.insert(x_.end(), row.x.begin(), row.x.end());
      y_.insert(y_.end(), row.y.begin(), row.y.end());
      for (std::int64_t i = row.count(); i < longest_; ++i) {
        x_.push_back(static_cast<double>(i));
        y_.insert(y_.end(), {0.0, kNoEvent});
      }
    }
  }

  Tensor x(const SourceOptions& options) const { return tensor(x_, 1, options); }
  Tensor y(const SourceOptions& options) const { return tensor(y_, 2, options); }

 private:
  Tensor tensor(const std::vector<double>& values, std::int64_t width, const SourceOptions& options) const {
    return Tensor::from<double>({options.batch_size, longest_, width}, std::span(values))
        .to(options.dtype)
        .to(options.device);
  }

  std::int64_t longest_;
  std::vector<double> x_, y_;
};

Tensor lengths_of(const std::vector<EventRows>& rows) {
  Tensor lengths = Tensor::empty({std::ssize(rows)}, DType::int64, Device::cpu);
  for (std::size_t b = 0; b < rows.size(); ++b) lengths.values<std::int64_t>()[b] = rows[b].count();
  return lengths;
}

/// 1 for what is real, an end included.
void add_weights(const std::vector<EventRows>& targets, Task& task, const SourceOptions& options) {
  const std::int64_t longest = task.xt.dim(1);
  std::vector<double> weights(targets.size() * static_cast<std::size_t>(longest));
  double events = 0;
  for (std::size_t b = 0; b < targets.size(); ++b) {
    std::fill_n(weights.begin() + static_cast<std::ptrdiff_t>(b) * longest, targets[b].count(), 1.0);
    for (std::size_t i = 1; i < targets[b].y.size(); i += 2) events += targets[b].y[i] != kNoEvent;
  }
  const std::vector<double> totals(targets.size(), std::max(events, 1.0) / static_cast<double>(targets.size()));
  const auto tensor = [&options](const Shape& shape, const std::vector<double>& values) {
    return Tensor::from<double>(shape, std::span(values)).to(options.dtype).to(options.device);
  };
  task.target_lengths = lengths_of(targets);
  task.target_weights = tensor({options.batch_size, longest}, weights);
  task.target_totals = tensor({options.batch_size}, totals);
}

}  // namespace

Task event_task(const std::vector<SequencePiece>& pieces, const EventTaskRules& rules, const SourceOptions& asked) {
  SourceOptions options = asked;
  options.batch_size = std::ssize(pieces);
  std::vector<EventRows> contexts, targets;
  for (const SequencePiece& piece : pieces) {
    auto [context, target] = rows_of(piece, rules);
    contexts.push_back(std::move(context));
    targets.push_back(std::move(target));
  }
  const EventPadding context(contexts, rules.context), target(targets, 1);
  Task task{context.x(options), context.y(options), target.x(options), target.y(options)};
  const auto is_short = [&rules](const EventRows& rows) { return rows.count() < rules.context; };
  if (std::ranges::any_of(contexts, is_short)) task.lengths = lengths_of(contexts);
  if (rules.ragged) add_weights(targets, task, options);
  return task;
}

std::vector<TaskEvents> events_of(const Task& batch) {
  std::vector<TaskEvents> tasks(static_cast<std::size_t>(batch.xt.dim(0)));
  const auto add = [](const Tensor& y, std::size_t row, std::int64_t count, EventSequence& sequence) {
    const auto values = y.values<double>().subspan(row * static_cast<std::size_t>(y.dim(1) * 2));
    for (std::size_t i = 0; i < 2 * static_cast<std::size_t>(count); i += 2) {
      sequence.end += values[i];
      if (values[i + 1] == kNoEvent) continue;
      sequence.end = after_last(sequence.times, sequence.end);
      sequence.times.push_back(sequence.end);
      sequence.marks.push_back(static_cast<std::int64_t>(values[i + 1]));
    }
  };
  const Tensor yc = batch.yc.to(Device::cpu).to(DType::float64), yt = batch.yt.to(Device::cpu).to(DType::float64);
  for (std::size_t row = 0; row < tasks.size(); ++row) {
    add(yc, row, batch.lengths.defined() ? batch.lengths.values<std::int64_t>()[row] : yc.dim(1), tasks[row].sequence);
    tasks[row].first_target = tasks[row].sequence.events();
    add(yt, row, yt.dim(1), tasks[row].sequence);
  }
  return tasks;
}

std::optional<std::vector<double>> EventTruth::log_likelihood(const Task& task, Density density) const {
  if (density != Density::joint) return {};
  std::vector<double> all;
  for (const TaskEvents& events : events_of(task))
    all.push_back(processes_.at(all.size())->log_likelihood(events.sequence, events.first_target));
  return all;
}

}  // namespace npzoo
