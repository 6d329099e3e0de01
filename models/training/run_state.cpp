#include "npzoo/models/training/run_state.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "npzoo/engine/io/json.h"

namespace npzoo {

using nlohmann::json;

namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 53;  // sums of two of them do not overflow
constexpr std::int64_t kLargestBatch = std::int64_t{1} << 31;

}  // namespace

std::string run_state_to_json(const Checkpoint& c) {
  const TrainingConfig& training = c.run.protocol.training;
  json state = {{"seed", c.run.seed},
                {"steps", training.steps},
                {"warmup_steps", training.schedule.warmup_steps},
                {"batch_size", training.batch_size},
                {"lr", training.optimiser.lr},
                {"validation_batches", c.run.protocol.validation.batches},
                {"step", c.step},
                {"best_step", c.best_step},
                {"loss_sum", c.loss_sum},
                {"loss_count", c.loss_count},
                {"seconds", c.seconds}};
  if (c.best_step >= 0) state["best_log_likelihood"] = c.best_log_likelihood;
  if (std::isfinite(c.loss)) state["loss"] = c.loss;
  if (c.run.init) state["init"] = {{"source", c.run.init->source}, {"checksum", c.run.init->checksum}};
  return state.dump();
}

void run_state_from_json(std::string_view text, std::string_view where, Checkpoint& c) {
  const json object = parse_json(text, where);
  const JsonReader state(object, where);
  TrainingConfig& training = c.run.protocol.training;
  std::int64_t& validation_batches = c.run.protocol.validation.batches;
  c.run.seed = state.unsigned_integer("seed");
  training.steps = state.integer("steps", 1, kMost);
  if (state.has("warmup_steps"))  // of older runs it is the protocol's, even if they are shorter
    training.schedule.warmup_steps = state.integer("warmup_steps", 0, training.steps);
  training.batch_size = state.integer("batch_size", 1, kLargestBatch);
  training.optimiser.lr = state.number("lr");
  check(training.optimiser.lr > 0, "{}: lr is {}, expected a number > 0", where, training.optimiser.lr);
  if (state.has("validation_batches")) validation_batches = state.integer("validation_batches", 1, kMost);
  c.step = state.integer("step", 0, training.steps);
  c.best_step = state.integer("best_step", -1, c.step);
  if (c.best_step >= 0) c.best_log_likelihood = state.number("best_log_likelihood");
  c.loss_sum = state.number("loss_sum");
  c.loss_count = state.integer("loss_count", 0, c.step);
  c.seconds = state.number("seconds");
  check(c.seconds >= 0, "{}: seconds is {}, expected a number >= 0", where, c.seconds);
  if (state.has("loss")) c.loss = state.number("loss");
  if (state.has("init")) {
    const JsonReader init(object.at("init"), where);
    c.run.init = {init.text("source"), init.text("checksum")};
  }
}

}  // namespace npzoo
