#include "npzoo/models/applications/events/event_writer.h"

#include <fmt/format.h>

#include <cmath>

#include "npzoo/datasets/tables/prediction_rows.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/words.h"

namespace npzoo {

namespace {

std::string name_of_mark(const EventTableForm& form, std::size_t mark) {
  return form.mark_names.empty() ? fmt::format("{}", mark) : form.mark_names[mark];
}

std::string name_of_sequences(const EventTableForm& form) { return form.sequence.empty() ? "sequence" : form.sequence; }

}  // namespace

EventWriter::EventWriter(const TrainedModel& trained, const EventData& data, const EventOptions& options,
                         const std::filesystem::path& next, const std::filesystem::path& paths, bool facts)
    : data_(data) {
  const EventTableForm& form = data.form;
  const std::string model =
      fmt::format("model: {} trained under {}", trained.checkpoint.run.spec.name, trained.checkpoint.run.protocol.name);
  if (!next.empty()) {
    std::vector<std::string> header{name_of_sequences(form), "last_" + form.time, "mean_" + form.time};
    for (const double p : options.quantiles) header.push_back(fmt::format("q{}_{}", p, form.time));
    for (std::int64_t k = 0; form.marks > 1 && k < form.marks; ++k)
      header.push_back(fmt::format("p_{}_{}", form.mark, name_of_mark(form, static_cast<std::size_t>(k))));
    if (options.horizon > 0) {
      header.push_back("mean_events");
      for (const double p : options.quantiles) header.push_back(fmt::format("q{}_events", p));
    }
    std::vector<std::string> comments{model, "the next event of each sequence, given all before it"};
    if (options.now)
      comments.push_back(fmt::format("given that nothing more has happened until {}", data.times.text(*options.now)));
    if (options.horizon > 0)
      comments.push_back(fmt::format("events: how many come until the horizon of {}{}", options.horizon,
                                     data.times.kind == ColumnForm::Kind::time ? " days" : ""));
    comments.insert(comments.end(), data.facts.begin(), data.facts.end());
    next_.emplace(next, header, facts ? comments : std::vector<std::string>());
    facts_ = comments;
  }
  if (options.samples == 0 || paths.empty()) return;
  std::vector<std::string> header{name_of_sequences(form), "sample", form.time};
  if (form.marks > 1) header.push_back(form.mark);
  const bool dates = data.times.kind == ColumnForm::Kind::time;
  const std::string how = fmt::format("free-running: {} of each sequence over a horizon of {}{}",
                                      counted(options.samples, "path"), options.horizon, dates ? " days" : "");
  paths_.emplace(paths, header, facts ? std::vector{model, how} : std::vector<std::string>());
  if (facts_.empty()) facts_.push_back(model);
  facts_.push_back(how);
}

void EventWriter::write(std::size_t sequence, const FollowingEvents& f) {
  constexpr char kSeparator = ',';
  const std::string name = as_cell(data_.sequences[sequence].name, kSeparator);
  const bool marks = data_.form.marks > 1;
  const auto time = [&](double value) {
    check(std::isfinite(value), "[predict] sequence {}: the model gives the time {}, expected a finite one", name,
          value);
    const bool date = data_.times.kind == ColumnForm::Kind::time;
    return data_.times.text(date ? value : few_digits(value, f.last));
  };
  if (next_) {
    std::string cells = fmt::format("{},{},{}", name, data_.times.text(f.last), time(f.mean));
    for (const double quantile : f.quantiles) cells += kSeparator + time(quantile);
    std::vector<double> numbers;
    if (marks)
      for (const double p : f.mark_probability) numbers.push_back(few_digits(p));
    if (f.count) {
      numbers.push_back(few_digits(f.count->mean));
      numbers.insert(numbers.end(), f.count->quantiles.begin(), f.count->quantiles.end());
    }
    next_->write(cells, numbers);
  }
  if (!paths_) return;
  for (std::size_t s = 0; s < f.paths.size(); ++s)
    for (std::size_t i = 0; i < f.paths[s].times.size(); ++i) {
      std::string cells = fmt::format("{},{},{}", name, s + 1, time(f.paths[s].times[i]));
      if (marks)
        cells +=
            kSeparator + as_cell(name_of_mark(data_.form, static_cast<std::size_t>(f.paths[s].marks[i])), kSeparator);
      paths_->write(cells, {});
    }
}

void EventWriter::commit() {
  if (next_) next_->commit();
  if (paths_) paths_->commit();
}

}  // namespace npzoo
