#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "npzoo/engine/config.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/applications/tables/fill.h"
#include "npzoo/models/c_calls.h"
#include "npzoo/models/linearised_prediction.h"
#include "npzoo/models/training/named_weights.h"
#include "npzoo/npzoo.h"

struct npzoo_model {
  std::shared_ptr<const npzoo::TrainedModel> trained;
};

struct npzoo_state {
  std::shared_ptr<const npzoo::TrainedModel> trained;
  std::shared_ptr<const npzoo::ContextState> state;
  std::int64_t tasks = 1;
};

namespace npzoo {

namespace {

thread_local std::string last_error;

Tensor tensor_of(const double* values, const char* what, const Shape& shape) {
  for (const std::int64_t extent : shape) check(extent >= 0, "[c] {} of shape {} found, expected counts", what, shape);
  if (shape.numel() > 0) check_given(values, what);
  return Tensor::from<double>(shape, std::span(values, static_cast<std::size_t>(shape.numel()))).to(DType::float32);
}

Context context_of(const Model& model, std::int64_t tasks, std::int64_t points, const double* xc, const double* yc,
                   const std::int64_t* lengths) {
  Context context{
      tensor_of(xc, "xc", {tasks, points, model.dim_x()}), tensor_of(yc, "yc", {tasks, points, model.dim_y()}), {}};
  if (lengths == nullptr) return context;
  for (std::int64_t b = 0; b < tasks; ++b)
    check(lengths[b] >= 0 && lengths[b] <= points, "[c] a length of {} found, expected 0 to {}", lengths[b], points);
  context.lengths = Tensor::from<std::int64_t>({tasks}, std::span(lengths, static_cast<std::size_t>(tasks)));
  return clear_padding(context);
}

void write_figures(const Tensor& tensor, double* to) {
  if (to == nullptr) return;
  const Tensor numbers = tensor.to(DType::float64);
  std::ranges::copy(numbers.values<double>(), to);
}

FillData data_of(const npzoo_table& t) {
  check(
      t.rows >= 0 && t.inputs >= 1 && t.values >= 1 && t.targets >= 0 && t.quantiles >= 0,
      "[c] {} rows, {} inputs, {} values, {} targets and {} quantiles found, expected counts, and an input and a value",
      t.rows, t.inputs, t.values, t.targets, t.quantiles);
  check_given(t.x, "x");
  check_given(t.y, "y");
  const auto rows = static_cast<std::size_t>(t.rows), inputs = static_cast<std::size_t>(t.inputs),
             targets = static_cast<std::size_t>(t.targets);
  FillData data{.dim_x = t.inputs, .x = {t.x, rows * inputs}, .values = {}};
  for (std::size_t v = 0; v < static_cast<std::size_t>(t.values); ++v) data.values.emplace_back(t.y + v * rows, rows);
  if (t.groups != nullptr) data.groups = {t.groups, rows};
  if (t.targets == 0) return data;
  check_given(t.target_x, "target_x");
  data.targets = std::span(t.target_x, targets * inputs);
  if (t.groups != nullptr) {
    check_given(t.target_groups, "target_groups");
    data.target_groups = {t.target_groups, targets};
  }
  return data;
}

void write_figures(const FillResult& result, double* mean, double* std, double* quantiles) {
  const std::size_t places = result.answered.size(), width = result.quantiles.size();
  const auto copy = [&](const std::vector<double>& figures, std::size_t each, double*& to) {
    if (to == nullptr) return;
    for (std::size_t i = 0; i < places * each; ++i)
      *to++ = result.answered[i / each] ? figures[i] : std::numeric_limits<double>::quiet_NaN();
  };
  for (const PredictedColumn& column : result.columns) {
    copy(column.mean, 1, mean);
    copy(column.std, 1, std);
    if (width > 0) copy(column.quantiles, width, quantiles);
  }
}

}  // namespace

npzoo_status c_failure(npzoo_status status, const char* text) noexcept {
  try {
    last_error = text;
  } catch (...) {
    last_error.clear();
  }
  return status;
}

// C linkage makes these the global functions of the header.
extern "C" {

int32_t npzoo_api_version(void) { return NPZOO_API_VERSION; }
const char* npzoo_version(void) { return kVersion; }
const char* npzoo_last_error(void) { return last_error.c_str(); }

npzoo_status npzoo_set_threads(int32_t threads) {
  return guarded([&] { set_threads(threads); });
}

npzoo_status npzoo_load(const char* weights, npzoo_model** model) {
  return guarded([&] {
    check_given(weights, "weights");
    check_given(model, "model");
    *model = new npzoo_model{std::make_shared<const TrainedModel>(load_model(weights))};
  });
}

void npzoo_free_model(npzoo_model* model) { delete model; }
int64_t npzoo_dim_x(const npzoo_model* model) { return model == nullptr ? 0 : model->trained->model->dim_x(); }
int64_t npzoo_dim_y(const npzoo_model* model) { return model == nullptr ? 0 : model->trained->model->dim_y(); }

npzoo_status npzoo_condition(const npzoo_model* model, int64_t tasks, int64_t points, const double* xc,
                             const double* yc, const int64_t* lengths, uint64_t seed, int64_t samples,
                             npzoo_state** state) {
  return guarded([&] {
    check_given(model, "model");
    check_given(state, "state");
    const NoGrad off;
    Draws draws(seed, Purpose::prediction, 0);
    const Context context = context_of(*model->trained->model, tasks, points, xc, yc, lengths);
    *state = new npzoo_state{model->trained, model->trained->model->condition(context, draws, samples), tasks};
  });
}

npzoo_status npzoo_update(const npzoo_state* state, int64_t points, const double* xc, const double* yc,
                          const int64_t* lengths, npzoo_state** updated) {
  return guarded([&] {
    check_given(state, "state");
    check_given(updated, "updated");
    const NoGrad off;
    const Context more = context_of(*state->trained->model, state->tasks, points, xc, yc, lengths);
    *updated = new npzoo_state{state->trained, state->trained->model->update(*state->state, more), state->tasks};
  });
}

void npzoo_free_state(npzoo_state* state) { delete state; }

npzoo_status npzoo_query(const npzoo_state* state, int64_t points, const double* xt, double* mean, double* std) {
  return guarded([&] {
    check_given(state, "state");
    const NoGrad off;
    const Model& model = *state->trained->model;
    const Tensor x = tensor_of(xt, "xt", {state->tasks, points, model.dim_x()});
    const Moments found = moments(*model.query(*state->state, x));
    write_figures(found.mean, mean);
    write_figures(found.std, std);
  });
}

npzoo_status npzoo_log_likelihood(const npzoo_state* state, int64_t points, const double* xt, const double* yt,
                                  double* log_likelihood) {
  return guarded([&] {
    check_given(state, "state");
    check_given(log_likelihood, "log_likelihood");
    const NoGrad off;
    const Model& model = *state->trained->model;
    const Tensor x = tensor_of(xt, "xt", {state->tasks, points, model.dim_x()}),
                 y = tensor_of(yt, "yt", {state->tasks, points, model.dim_y()});
    write_figures(model.query(*state->state, x)->log_likelihood(y), log_likelihood);
  });
}

npzoo_status npzoo_vjp(const npzoo_model* model, int64_t tasks, int64_t points, const double* xc, const double* yc,
                       int64_t targets, const double* xt, const double* d_mean, const double* d_std, uint64_t seed,
                       int64_t samples, double* d_xc, double* d_yc, double* d_xt) {
  return guarded([&] {
    check_given(model, "model");
    const Model& m = *model->trained->model;
    LinearisedPrediction prediction(m, context_of(m, tasks, points, xc, yc, nullptr),
                                    tensor_of(xt, "xt", {tasks, targets, m.dim_x()}),
                                    Draws(seed, Purpose::prediction, 0), samples);
    const Shape values{tasks, targets, m.dim_y()};
    const auto found = prediction.pull_back(tensor_of(d_mean, "d_mean", values), tensor_of(d_std, "d_std", values));
    write_figures(found.xc, d_xc);
    write_figures(found.yc, d_yc);
    write_figures(found.xt, d_xt);
  });
}

npzoo_status npzoo_fill(const npzoo_model* model, const npzoo_table* table, double* mean, double* std,
                        double* quantiles) {
  return guarded([&] {
    check_given(table, "table");
    const FillData data = data_of(*table);
    FillOptions options;
    if (table->quantiles > 0) {
      check_given(table->probabilities, "probabilities");
      options.quantiles.assign(table->probabilities, table->probabilities + table->quantiles);
    }
    write_figures(model != nullptr ? fill(*model->trained, data, options) : fill(std::string(), data, options), mean,
                  std, quantiles);
  });
}

}  // extern "C"

}  // namespace npzoo
