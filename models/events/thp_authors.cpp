#include "npzoo/models/events/thp_authors.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "npzoo/datasets/events/event_task.h"
#include "npzoo/datasets/task.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/events/thp.h"
#include "npzoo/models/events/thp_plus_authors.h"
#include "npzoo/models/parity/recorded_tensors.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"
#include "npzoo/ops/softmax/softmax.h"
#include "npzoo/ops/time_encoding/time_encoding.h"

namespace npzoo {

namespace {

constexpr std::int64_t kRandomPoints = 100;

/// Whole sequences, from their first event on.
struct WholeSequences {
  Tensor y;      // (B, N, 2)
  Tensor times;  // (B, N)
  Tensor real;   // (B, N), 1 for events, 0 for padding and ends
};

Tensor channel_of(const Tensor& y, std::int64_t c) { return reshape(slice(y, 2, c, c + 1), {y.dim(0), y.dim(1)}); }

WholeSequences whole_sequences(const Task& task) {
  check(!task.lengths.defined(), "[thp] contexts of several sizes found, expected one for objective = 'authors'");
  const Tensor y = concat({task.yc, task.yt}, 1), start = Tensor::zeros({y.dim(0)}, DType::float64, y.device());
  const Tensor event = affine(clamp(affine(channel_of(y, 1), -1, 0), 0, 1), -1, 1);
  const Tensor ones = Tensor::full({y.dim(0), task.yc.dim(1)}, 1, y.dtype(), y.device());
  const Tensor real = task.target_weights.defined() ? mul(event, concat({ones, task.target_weights}, 1)) : event;
  return {y, event_times(channel_of(y, 0), start).to(y.dtype()), real};
}

Tensor limited_softplus(const Tensor& x, const Tensor& sharpness) {
  constexpr double kLargest = 20;
  return div(softplus(clamp(mul(x, sharpness), -std::numeric_limits<double>::infinity(), kLargest)), sharpness);
}

/// Terms of the objective, of N events each.
struct HawkesTerms {
  Tensor event, integral;             // (B, N), (B, N − 1)
  Tensor mark_loss, error;            // (B, N − 1), both forecasts made after the event before
  Tensor log_mark, logits, expected;  // (B, N, M), (B, N, M), (B, N); the last two 0 at padding
  Thp::Histories histories;
};

HawkesTerms hawkes_terms(const Thp& model, const WholeSequences& all, Draws& draws) {
  const std::int64_t batch = all.y.dim(0), n = all.y.dim(1), marks = model.marks();
  const auto earlier = [n](const Tensor& x) { return slice(x, 1, 0, n - 1); };
  const auto later = [n](const Tensor& x) { return slice(x, 1, 1, n); };
  HawkesTerms terms;
  terms.histories = model.histories_of(all.y, draws);
  const Tensor& history = terms.histories.recurrent;
  const Tensor mark = slice(all.y, 2, 1, 2), level = model.intensity(history),
               own_level = sum(mul(chosen_marks(mark, marks), level), 2);  // (B, N)
  const Tensor& sharpness = model.sharpness.value;
  terms.event = mul(all.real, log(affine(limited_softplus(own_level, sharpness), 1, kLeastIntensity)));

  const Tensor gap = mul(later(channel_of(all.y, 0)), later(all.real)), since = affine(earlier(all.times), 1, 1);
  const Tensor points = draws.uniform(1, batch, {n - 1, kRandomPoints}, all.y.dtype(), all.y.device());
  const Tensor elapsed =
      mul(reshape(div(gap, since), {batch, n - 1, 1}), reshape(points, {batch, n - 1, kRandomPoints}));
  const Tensor moved = add(reshape(later(own_level), {batch, n - 1, 1}), mul(elapsed, model.slope.value));
  terms.integral = mul(gap, mean(limited_softplus(moved, sharpness), 2));

  const Tensor real_mask = reshape(all.real, {batch, n, 1});
  terms.logits = mul(model.next_mark(history), real_mask);
  terms.log_mark = log_softmax(terms.logits);
  terms.expected = mul(reshape(model.next_gap(history), {batch, n}), all.real);
  terms.mark_loss = mul(later(all.real), mark_cross_entropy(earlier(terms.log_mark), later(mark), model.smoothing()));
  const Tensor first_padding = mul(earlier(all.real), affine(later(all.real), -1, 1));
  const Tensor true_gap = sub(gap, mul(first_padding, earlier(all.times)));
  terms.error = square(sub(earlier(terms.expected), true_gap));
  return terms;
}

Tensor objective_of(const HawkesTerms& terms) {
  const Tensor likelihood = sub(sum(terms.event), sum(terms.integral));
  return add(sub(sum(terms.mark_loss), likelihood), affine(sum(terms.error), 0.01, 0));
}

}  // namespace

Tensor hawkes_authors_loss(const Thp& model, const Task& task, Draws& draws) {
  return objective_of(hawkes_terms(model, whole_sequences(task), draws));
}

namespace {

AuthorsPlace place_of_thp(const std::string& name) {
  const auto words = split_name(name);
  const std::string& kind = words.back();
  if (words[0] == "slope") return {"alpha"};
  if (words[0] == "sharpness") return {"beta"};
  if (words[0] == "intensity") return {"linear." + kind};
  if (words[0] == "next_gap") return {"time_predictor.linear." + kind};
  if (words[0] == "next_mark") return {"type_predictor.linear." + kind};
  if (words[0] == "projection") return {"rnn.projection." + kind};
  if (words[0] == "rnn") return {fmt::format("rnn.rnn.{}_{}_l0", kind, words[1] == "input" ? "ih" : "hh")};
  return {hawkes_encoder_place(words)};
}

ModelConfig config_of_thp(ModelConfig theirs) {
  rename(theirs, {{"num_types", "num_classes"}});
  theirs["dim_x"] = std::int64_t{1};
  theirs["dim_y"] = std::int64_t{2};
  theirs["objective"] = std::string("authors");
  return theirs;
}

/// All events are targets.
Task sequences_of_record(const RecordedTensors& recorded, const ModelConfig& ours) {
  constexpr std::int64_t kAny = RecordedTensors::kAny;
  const Tensor times = recorded.numbers("event_time", {kAny, kAny}).to(DType::float64);
  const std::int64_t batch = times.dim(0), events = times.dim(1);
  check(events >= 2, "{}: 'event_time' has {} events, expected two or more", recorded.where(), events);
  const Tensor types = recorded.integers("event_type", {batch, events}, 0, recorded_marks(ours)).to(DType::float64);
  Tensor y = Tensor::zeros({batch, events, 2}, DType::float64, Device::cpu),
         weights = Tensor::zeros({batch, events}, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < batch * events; ++i) {
    const bool real = types.data<double>()[i] != 0;
    weights.data<double>()[i] = real;
    if (real) y.data<double>()[2 * i] = times.data<double>()[i] - (i % events == 0 ? 0 : times.data<double>()[i - 1]);
    y.data<double>()[2 * i + 1] = real ? types.data<double>()[i] - 1 : kNoEvent;
  }
  Task task{Tensor::zeros({batch, 0, 1}, DType::float64, Device::cpu),
            Tensor::zeros({batch, 0, 2}, DType::float64, Device::cpu),
            Tensor::zeros({batch, events, 1}, DType::float64, Device::cpu), y};
  task.target_weights = weights;
  return task;
}

/// Number of next marks that were forecast as the likeliest.
std::int64_t right_marks(const HawkesTerms& terms, const WholeSequences& all) {
  const Tensor log_mark = terms.log_mark.detach().to(Device::cpu), y = all.y.to(Device::cpu),
               real = all.real.to(Device::cpu);
  const std::int64_t n = y.dim(1), marks = log_mark.dim(2);
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < y.dim(0) * n; ++i) {
    if (i % n == 0 || real.data<double>()[i] == 0) continue;
    const double* before = log_mark.data<double>() + (i - 1) * marks;
    right += static_cast<double>(std::max_element(before, before + marks) - before) == y.data<double>()[2 * i + 1];
  }
  return right;
}

Tensor thp_loss(const Model& model, const Task& task, Draws& draws) {
  return hawkes_authors_loss(dynamic_cast<const Thp&>(model), task, draws);
}

NamedTensors outputs_of_thp(const Model& model, const Task& task, Draws& draws, bool, const ModelConfig&) {
  const NoGrad off;
  const WholeSequences all = whole_sequences(task);
  const HawkesTerms terms = hawkes_terms(dynamic_cast<const Thp&>(model), all, draws);
  return {{"attention", terms.histories.encoded},
          {"enc", terms.histories.recurrent},
          {"event_ll", sum(terms.event, 1)},
          {"integral", terms.integral},
          {"non_event_ll", sum(terms.integral, 1)},
          {"time_prediction", terms.expected},
          {"type_logits", terms.logits},
          {"type_loss", sum(terms.mark_loss)},
          {"se", sum(terms.error)},
          {"correct", Tensor::from<std::int64_t>({}, {right_marks(terms, all)})},
          {"loss", objective_of(terms)}};
}

constexpr AuthorsCode kThpAuthors[] = {{.recorded_as = "thp",
                                        .place = place_of_thp,
                                        .config = config_of_thp,
                                        .adam = {.lr = 1e-4, .epsilon = 1e-5},
                                        .task = sequences_of_record,
                                        .loss = thp_loss,
                                        .outputs = outputs_of_thp}};

}  // namespace

std::span<const AuthorsCode> thp_authors() { return kThpAuthors; }

}  // namespace npzoo
