#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "npzoo/datasets/events/event_tasks.h"
#include "npzoo/datasets/events/table.h"
#include "npzoo/datasets/scores.h"

namespace npzoo {

/// Σ sums / Σ counts over independent sequences, to first order in what they vary by; a standard error of two at least.
/// Throws Error if all counts are 0.
Estimate ratio_of_sums(std::span<const double> sums, std::span<const double> counts);

/// Returns the log-likelihood per event under the process that the tasks are simulated from, for the targets of `tasks`
/// tasks of an evaluation. No model beats it in expectation. Throws Error if the tasks are not simulated.
Estimate true_log_likelihood(const EventTasks& config, std::int64_t tasks, std::uint64_t seed);

/// Writes how a table of events is read, as keys of TOML: those that differ from the usual form.
std::string event_form_text(const EventTableForm& form);

/// A table of events under a process.
struct ProcessScores {
  std::string process;
  std::int64_t sequences = 0, events = 0;
  double total = 0;         // log-likelihood of all, nats
  Estimate log_likelihood;  // per event
  std::string warning{};    // of times that seem not to begin at the start of observation; may be empty
};

/// `process` is a TOML file as read_process has it, which may have the keys of `event_form_text`. Without them each
/// sequence is observed from time 0 until its last event, and the table's columns are sequence, time and mark, which
/// one of one mark need not have. Throws Error as read_event_table does, and where a sequence is impossible.
ProcessScores score_events(const std::filesystem::path& table, const std::filesystem::path& process);

}  // namespace npzoo
