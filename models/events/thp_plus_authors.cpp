#include "npzoo/models/events/thp_plus_authors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "npzoo/datasets/events/event_task.h"
#include "npzoo/datasets/task.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/events/thp_plus.h"
#include "npzoo/models/parity/recorded_tensors.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

std::string hawkes_encoder_place(const std::vector<std::string>& ours) {
  if (ours[0] == "embedding") return "encoder.event_emb.weight";
  const std::string start = fmt::format("encoder.layer_stack.{}.", ours[1]);
  const std::pair<const char*, const char*> parts[] = {
      {"query", "slf_attn.w_qs"},  {"key", "slf_attn.w_ks"},         {"value", "slf_attn.w_vs"},
      {"out", "slf_attn.fc"},      {"norm1", "slf_attn.layer_norm"}, {"expand", "pos_ffn.w_1"},
      {"contract", "pos_ffn.w_2"}, {"norm2", "pos_ffn.layer_norm"}};
  const auto part = std::ranges::find(parts, ours[2], [](const auto& p) { return std::string(p.first); });
  return fmt::format("{}{}.{}", start, part->second, ours.back());
}

std::int64_t recorded_marks(const ModelConfig& ours) {
  return ConfigReader(ours, "parity").size("num_classes", "classes of events");
}

namespace {

AuthorsPlace place_of_thp_plus(const std::string& name) {
  const auto words = split_name(name);
  const std::string& kind = words.back();
  if (words[0] == "decode") return {"prob_dist.decoder.net.0." + kind};
  if (words[0] == "gap") return {"prob_dist.decoder.net.2." + kind};
  if (words[0] == "mark") return {"mark_linear." + kind};
  return {hawkes_encoder_place(words)};
}

ModelConfig config_of_thp_plus(ModelConfig theirs) {
  theirs.erase("weight_decay");
  theirs["dim_x"] = std::int64_t{1};
  theirs["dim_y"] = std::int64_t{2};
  theirs["clock"] = std::string("gaps");  // whatever they are given as times is to them the gap as well
  return theirs;
}

/// The first event is the context. Padding gets a gap that has a density.
Task events_of_record(const RecordedTensors& recorded, const ModelConfig& ours) {
  constexpr std::int64_t kAny = RecordedTensors::kAny;
  const Tensor times = recorded.numbers("times", {kAny, kAny, 1}).to(DType::float64);
  const std::int64_t batch = times.dim(0), events = times.dim(1);
  check(events >= 2, "{}: 'times' has {} events, expected two or more", recorded.where(), events);
  const Tensor marks = recorded.integers("marks", {batch, events, 1}, 0, recorded_marks(ours)).to(DType::float64),
               masks = recorded.numbers("masks", {batch, events, 1}).to(DType::float64);
  Tensor y = Tensor::zeros({batch, events, 2}, DType::float64, Device::cpu),
         weights = Tensor::zeros({batch, events}, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < batch * events; ++i) {
    const bool real = masks.data<double>()[i] != 0;
    weights.data<double>()[i] = real;
    y.data<double>()[2 * i] = real ? times.data<double>()[i] : 1;
    y.data<double>()[2 * i + 1] = real ? marks.data<double>()[i] - 1 : kNoEvent;
  }
  Task task{Tensor::zeros({batch, 1, 1}, DType::float64, Device::cpu), slice(y, 1, 0, 1),
            Tensor::zeros({batch, events - 1, 1}, DType::float64, Device::cpu), slice(y, 1, 1, events)};
  task.target_weights = slice(weights, 1, 1, events);
  return task;
}

/// 1 at the last target of each row that counts, else 0.
Tensor last_targets(const Tensor& weights) {
  Tensor last = Tensor::zeros(weights.shape(), weights.dtype(), Device::cpu);
  const Tensor counted = weights.to(Device::cpu);
  const std::int64_t targets = weights.dim(1);
  for (std::int64_t row = 0; row < weights.dim(0); ++row)
    for (std::int64_t i = targets - 1; i >= 0; --i)
      if (counted.data<double>()[row * targets + i] != 0) {
        last.data<double>()[row * targets + i] = 1;
        break;
      }
  return last.to(weights.device());
}

/// (B, Nt): log P(nothing happens before the gap), each component held within bounds without its gradient knowing.
Tensor bounded_log_survival(const LogNormalMixture& gap, const Tensor& gaps) {
  constexpr double kLeast = 1e-5;
  const Tensor survival = exp(log_normal_cdf(div(sub(gap.mean, log(gaps)), gap.std)));  // (B, Nt, K)
  Tensor moved;
  {
    const NoGrad off;
    moved = sub(clamp(survival, kLeast, 1 - kLeast), survival);
  }
  return logsumexp(add(gap.log_weight, log(add(survival, moved))), 2);
}

/// (B) each: densities of all events and of marks, and that nothing happened before the last one.
struct TheirLikelihood {
  Tensor events, survival;
};

std::unique_ptr<NextEvent> predictions_of_record(const Model& model, const Task& task, Draws& draws) {
  const auto& events = dynamic_cast<const LogNormalEventModel&>(model);
  const auto state = events.condition({task.xc, task.yc}, draws, 1);
  auto next = events.given_those_before(state_as<EventState>(*state, "events"), task.yt, draws);
  return std::unique_ptr<NextEvent>(dynamic_cast<NextEvent*>(next.release()));
}

TheirLikelihood their_likelihood(const NextEvent& next, const Task& task) {
  const Tensor gaps = slice(task.yt, 2, 0, 1), last = last_targets(task.target_weights);
  const Tensor gap_alone = NextEvent(next.gap()).log_likelihood(gaps);
  const Tensor events = sub(mul(task.target_weights, next.log_likelihood(task.yt)), mul(last, gap_alone));
  return {sum(events, 1), sum(mul(last, bounded_log_survival(next.gap(), gaps)), 1)};
}

Tensor their_loss(const Model& model, const Task& task, Draws& draws) {
  const TheirLikelihood all = their_likelihood(*predictions_of_record(model, task, draws), task);
  return affine(add(sum(all.events), sum(all.survival)), -1, 0);
}

/// Their metrics: right marks among those that are predicted, and the errors of a sequence squared when they have been
/// added up.
void add_their_scores(const NextEvent& next, const Task& task, const Tensor& expected, NamedTensors& outputs) {
  const auto here = [](const Tensor& x) { return x.detach().to(Device::cpu).to(DType::float64); };
  const Tensor y = here(task.yt), weights = here(task.target_weights), marks = here(next.mark_log_probability()),
               gaps = here(expected);
  const std::int64_t batch = y.dim(0), targets = y.dim(1), kinds = marks.dim(2);
  Tensor likeliest = Tensor::zeros({batch, targets}, DType::int64, Device::cpu);
  double right = 0, count = 0, squares = 0;
  for (std::int64_t row = 0; row < batch; ++row) {
    double error = 0;
    for (std::int64_t i = row * targets; i < (row + 1) * targets; ++i) {
      const double* mark = marks.data<double>() + i * kinds;
      const std::int64_t best = std::max_element(mark, mark + kinds) - mark;
      likeliest.data<std::int64_t>()[i] = best;
      const double weight = weights.data<double>()[i];
      count += weight;
      right += weight * (static_cast<double>(best) == y.data<double>()[2 * i + 1]);
      error += weight * (y.data<double>()[2 * i] - gaps.data<double>()[i]);
    }
    squares += error * error;
  }
  outputs["class_preds"] = likeliest;
  outputs["accuracy"] = Tensor::full({}, right / count, DType::float64);
  outputs["rmse"] = Tensor::full({}, std::sqrt(squares / count), DType::float64);
  const double loss = -sum(add(outputs["event_ll"], outputs["surv_ll"])).item();
  outputs["loss"] = Tensor::full({}, loss, DType::float64);
  outputs["nll"] = Tensor::full({}, loss / (count + static_cast<double>(batch)), DType::float64);
}

NamedTensors outputs_of_thp_plus(const Model& model, const Task& task, Draws& draws, bool, const ModelConfig&) {
  const NoGrad off;
  const auto prediction = predictions_of_record(model, task, draws);
  const NextEvent& next = *prediction;
  const LogNormalMixture& gap = next.gap();
  const TheirLikelihood all = their_likelihood(next, task);
  const Tensor expected = sum(exp(add(gap.log_weight, add(gap.mean, affine(square(gap.std), 0.5, 0)))), 2);  // (B, Nt)
  NamedTensors outputs{{"log_weights", gap.log_weight},
                       {"mu", gap.mean},
                       {"sigma", gap.std},
                       {"mark_logits", next.mark_log_probability()},
                       {"time_preds", expected},
                       {"event_ll", all.events},
                       {"surv_ll", all.survival}};
  add_their_scores(next, task, expected, outputs);
  return outputs;
}

constexpr AuthorsCode kThpPlusAuthors[] = {{.recorded_as = "thp-mix",
                                            .place = place_of_thp_plus,
                                            .config = config_of_thp_plus,
                                            .adam = {.lr = 1e-4, .epsilon = 1e-5, .penalty = 1e-4},
                                            .task = events_of_record,
                                            .loss = their_loss,
                                            .outputs = outputs_of_thp_plus}};

}  // namespace

std::span<const AuthorsCode> thp_plus_authors() { return kThpPlusAuthors; }

}  // namespace npzoo
