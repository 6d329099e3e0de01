#include "npzoo/models/forecast/series_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "npzoo/models/blocks/dropping.h"
#include "npzoo/models/predictions/independent.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/mask_points/mask_points.h"
#include "npzoo/ops/reduce/reduce.h"

namespace npzoo {

/// Rows [first, first + count) of a batch, without padding.
struct TasksOfOneSize {
  std::int64_t first = 0, count = 0, context = 0, targets = 0;

  Tensor rows(const Tensor& x, std::int64_t points) const {
    return slice(slice(x, 0, first, first + count), 1, 0, points);
  }
};

namespace {

std::int64_t points_of(const Tensor& lengths, std::int64_t b, std::int64_t all) {
  return lengths.defined() ? lengths.values<std::int64_t>()[static_cast<std::size_t>(b)] : all;
}

/// The whole batch where all of it has one size, else its rows.
std::vector<TasksOfOneSize> groups_of(std::int64_t batch, std::int64_t context, const Tensor& lengths,
                                      std::int64_t targets, const Tensor& target_lengths) {
  std::vector<TasksOfOneSize> rows;
  for (std::int64_t b = 0; b < batch; ++b)
    rows.push_back({b, 1, points_of(lengths, b, context), points_of(target_lengths, b, targets)});
  const auto same_size = [&](const TasksOfOneSize& row) {
    return row.context == rows[0].context && row.targets == rows[0].targets;
  };
  if (rows.empty() || std::ranges::all_of(rows, same_size))
    return {{0, batch, rows.empty() ? context : rows[0].context, rows.empty() ? targets : rows[0].targets}};
  return rows;
}

/// x (B, n, D) with zeros behind: (B, points, D).
Tensor with_padding(const Tensor& x, std::int64_t points) {
  if (x.dim(1) == points) return x;
  return concat({x, Tensor::zeros(x.shape().with(1, points - x.dim(1)), x.dtype(), x.device())}, 1);
}

Tensor joined(std::vector<Tensor> groups) { return groups.size() == 1 ? groups[0] : concat(groups, 0); }

}  // namespace

struct SeriesState : HeldContext {
  struct Group {
    TasksOfOneSize tasks;
    SeriesModel::History history;
    Tensor memory;
    Draws after;  // the encoder has drawn
  };

  using HeldContext::HeldContext;
  std::vector<Group> groups{};
};

void SeriesConfig::read(ConfigReader& reader) {
  dim_x = reader.size("dim_x", kGivenByData);
  dim_y = reader.size("dim_y", kGivenByData);
  known = reader.integer("label_len", "last context points that the decoder reads", 0, 65'536);
  dropout = read_dropout(reader);
  gaussian = reader.get<bool>("gaussian", "whether standard deviations are predicted too", true);
}

bool read_activation(ConfigReader& reader) {
  return reader.choice("activation", "activation of the feed-forward networks", {"relu", "gelu"}) == "gelu";
}

void SeriesModel::for_histories(const Task& task, const Draws& draws,
                                const std::function<void(const History&, const SeriesPass&)>& f) const {
  for (const TasksOfOneSize& tasks :
       groups_of(task.xc.dim(0), task.xc.dim(1), task.lengths, task.xt.dim(1), task.target_lengths)) {
    Draws own = draws.from(tasks.first);
    f(history_of(tasks.rows(task.xc, tasks.context), tasks.rows(task.yc, tasks.context)), {own, true, series_.dropout});
  }
}

Tensor SeriesModel::marks_of(const Tensor& x) const { return slice(x, 2, 1, series_.dim_x); }

SeriesModel::History SeriesModel::history_of(const Tensor& xc, const Tensor& yc) const {
  if (xc.dim(1) > 0) return {yc, marks_of(xc)};
  return {Tensor::zeros(yc.shape().with(1, 1), yc.dtype(), yc.device()),
          Tensor::zeros({xc.dim(0), 1, series_.marks()}, xc.dtype(), xc.device())};
}

Tensor SeriesModel::last_known(const Tensor& x) const {
  return slice(x, 1, x.dim(1) - std::min(series_.known, x.dim(1)), x.dim(1));
}

Moments SeriesModel::moments_of(const Tensor& raw) const {
  if (series_.gaussian) return gaussian_head(raw, series_.std);
  return {raw, Tensor::full(raw.shape(), 1, raw.dtype(), raw.device())};
}

Tensor SeriesModel::raw_forecast(const Task& task, const SeriesPass& pass) const {
  const History history = history_of(task.xc, task.yc);
  const Tensor memory = encode(history, pass);
  if (task.xt.dim(1) == 0) return Tensor::zeros({task.xt.dim(0), 0, series_.out()}, task.xt.dtype(), task.xt.device());
  return decode(history, memory, marks_of(task.xt), pass);
}

Moments SeriesModel::forecast(const Task& task, const SeriesPass& pass) const {
  return moments_of(raw_forecast(task, pass));
}

std::unique_ptr<ContextState> SeriesModel::do_condition(const Context& context, Draws& draws,
                                                        std::int64_t samples) const {
  auto state = std::make_unique<SeriesState>(context, draws, samples);
  const std::int64_t batch = context.xc.dim(0);
  const auto groups = groups_of(batch, context.xc.dim(1), context.lengths, 0, {});
  for (const TasksOfOneSize& tasks : groups) {
    Draws own = groups.size() == 1 ? draws : draws.from(tasks.first);
    const History history = history_of(tasks.rows(context.xc, tasks.context), tasks.rows(context.yc, tasks.context));
    const Tensor memory = encode(history, {own});
    state->groups.push_back({tasks, history, memory, own});
    if (groups.size() == 1) draws = own;
  }
  return state;
}

std::unique_ptr<Prediction> SeriesModel::do_query(const ContextState& state, const Tensor& xt) const {
  std::vector<Tensor> raw;
  for (const SeriesState::Group& group : state_as<SeriesState>(state, "series").groups) {
    const Tensor marks = marks_of(group.tasks.rows(xt, xt.dim(1)));
    Draws draws = group.after;
    raw.push_back(xt.dim(1) == 0 ? Tensor::zeros({group.tasks.count, 0, series_.out()}, xt.dtype(), xt.device())
                                 : decode(group.history, group.memory, marks, {draws}));
  }
  return std::make_unique<Independent>(moments_of(joined(std::move(raw))));
}

Tensor SeriesModel::loss(const Task& task, Draws& draws) const {
  const std::int64_t targets = task.xt.dim(1);
  const auto groups = groups_of(task.xc.dim(0), task.xc.dim(1), task.lengths, targets, task.target_lengths);
  std::vector<Tensor> raw;
  for (const TasksOfOneSize& tasks : groups) {
    Draws own = groups.size() == 1 ? draws : draws.from(tasks.first);
    const Task part{
        tasks.rows(task.xc, tasks.context), tasks.rows(task.yc, tasks.context), tasks.rows(task.xt, tasks.targets), {}};
    raw.push_back(with_padding(raw_forecast(part, {own, true, series_.dropout}), targets));
    if (groups.size() == 1) draws = own;
  }
  const Moments moments = moments_of(joined(std::move(raw)));
  const Tensor y = task.target_lengths.defined() ? mask_points(task.yt, task.target_lengths) : task.yt;
  const Tensor score = series_.gaussian ? Independent(moments).log_likelihood(y)
                                        : affine(sum(square(sub(y, moments.mean)), -1), -1, 0);  // (B, Nt)
  return mean_over_channels(nll(score, task.target_weights, task.target_totals), series_.dim_y);
}

}  // namespace npzoo
