#include "npzoo/models/applications/events/event_writer.h"

#include <fmt/format.h>

#include "npzoo/datasets/tables/prediction_rows.h"

namespace npzoo {

EventWriter::EventWriter(const TrainedModel& trained, const EventData& data, const EventOptions& options,
                         const std::filesystem::path& next, const std::filesystem::path& paths, bool facts)
    : data_(data) {
  const EventTableForm& form = data.form;
  const std::string model =
      fmt::format("model: {} trained under {}", trained.checkpoint.run.spec.name, trained.checkpoint.run.protocol.name);
  if (!next.empty()) {
    std::vector<std::string> header{form.sequence, "last_" + form.time, "mean_" + form.time};
    for (const double p : options.quantiles) header.push_back(fmt::format("q{}_{}", p, form.time));
    for (std::int64_t k = 0; form.marks > 1 && k < form.marks; ++k)
      header.push_back(fmt::format("p_{}_{}", form.mark, k));
    std::vector<std::string> comments{model, "the next event of each sequence, given all before it"};
    if (options.now) comments.push_back(fmt::format("given that nothing more has happened until {}", *options.now));
    next_.emplace(next, header, facts ? comments : std::vector<std::string>());
    facts_ = comments;
  }
  if (options.samples == 0 || paths.empty()) return;
  std::vector<std::string> header{form.sequence, "sample", form.time};
  if (form.marks > 1) header.push_back(form.mark);
  const std::string how =
      fmt::format("free-running: {} paths of each sequence over a horizon of {}", options.samples, options.horizon);
  paths_.emplace(paths, header, facts ? std::vector{model, how} : std::vector<std::string>());
  if (facts_.empty()) facts_.push_back(model);
  facts_.push_back(how);
}

void EventWriter::write(std::size_t sequence, const FollowingEvents& f) {
  const std::string name = as_cell(data_.sequences[sequence].name, ',');
  const bool marks = data_.form.marks > 1;
  if (next_) {
    std::vector<double> row{f.last, few_digits(f.mean, f.last)};
    for (const double time : f.quantiles) row.push_back(few_digits(time, f.last));
    if (marks)
      for (const double p : f.mark_probability) row.push_back(few_digits(p));
    next_->write(name, row);
  }
  if (!paths_) return;
  for (std::size_t s = 0; s < f.paths.size(); ++s)
    for (std::size_t i = 0; i < f.paths[s].times.size(); ++i) {
      std::vector<double> row{static_cast<double>(s + 1), few_digits(f.paths[s].times[i], f.last)};
      if (marks) row.push_back(static_cast<double>(f.paths[s].marks[i]));
      paths_->write(name, row);
    }
}

void EventWriter::commit() {
  if (next_) next_->commit();
  if (paths_) paths_->commit();
}

}  // namespace npzoo
