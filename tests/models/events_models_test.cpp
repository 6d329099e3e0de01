#include <doctest/doctest.h>

#include "npzoo/datasets/events/event_task.h"
#include "npzoo/engine/memory.h"
#include "npzoo/models/events/thp.h"
#include "npzoo/models/predictions/event_prediction.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

template <class F>
void for_event_models(const F& f) {
  int count = 0;
  for (const ModelCase& c : small_models()) {
    if (model_info(c.spec.name).takes != TaskForm::events) continue;
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    f(dynamic_cast<const EventModel&>(*model));
    ++count;
  }
  CHECK(count >= 4);
}

std::unique_ptr<Prediction> predicted(const ContextState& state, const Model& model, const Tensor& xt) {
  return model.query(state, xt);
}

EventScores scores(const Prediction& p, const Tensor& y) { return dynamic_cast<const EventPrediction&>(p).score(y); }

/// y with the gap and the mark of event `at` changed.
Tensor with_changed(const Tensor& y, std::int64_t at) {
  Tensor other = y.to(Device::cpu).clone();
  for (std::int64_t b = 0; b < y.dim(0); ++b) {
    double* event = other.data<double>() + (b * y.dim(1) + at) * 2;
    event[0] = 3 * event[0] + 1;
    event[1] = event[1] == 0 ? 0 : event[1] - 1;
  }
  return other.to(y.device());
}

}  // namespace

TEST_CASE("event models: one pass equals going from event to event") {
  for_event_models([](const EventModel& model) {
    const Task task = random_task(model, {3, 4, 6});
    const auto state = condition(model, context_of(task));
    const auto p = predicted(*state, model, task.xt);
    const auto& sequence = dynamic_cast<const Autoregressive&>(*p);
    const EventScores at_once = scores(*p, task.yt);
    std::vector<Tensor> time, joint;
    sequence.teacher_forced(task.yt, [&](const Prediction& each, std::int64_t begin, std::int64_t end) {
      const EventScores one = dynamic_cast<const EventDensity&>(each).score(slice(task.yt, 1, begin, end));
      CHECK(difference(one.time, slice(at_once.time, 1, begin, end)) <= kRounding);
      CHECK(difference(one.mark, slice(at_once.mark, 1, begin, end)) <= kRounding);
      joint.push_back(each.joint_log_likelihood(slice(task.yt, 1, begin, end)).view({3, 1}));
    });
    REQUIRE(joint.size() == 6);
    const Tensor all = concat(joint, 1);
    std::vector<double> sum(3);
    for (std::size_t i = 0; i < 18; ++i) sum[i / 6] += doubles(all)[i];
    CHECK(largest_difference(p->joint_log_likelihood(task.yt), sum) <= 18 * kRounding);
  });
}

TEST_CASE("event models: an event changes the prediction of later events, not of earlier ones or itself") {
  for_event_models([](const EventModel& model) {
    const Task task = random_task(model, {2, 3, 6});
    const auto state = condition(model, context_of(task));
    const auto p = predicted(*state, model, task.xt);
    const EventScores before = scores(*p, task.yt);
    for (std::int64_t at = 0; at < 6; ++at) {
      const EventScores after = scores(*p, with_changed(task.yt, at));
      CHECK(same_bits(slice(after.time, 1, 0, at), slice(before.time, 1, 0, at)));
      CHECK(same_bits(slice(after.expected_gap, 1, 0, at + 1), slice(before.expected_gap, 1, 0, at + 1)));
      CHECK(same_bits(slice(after.mark_probability, 1, 0, at + 1), slice(before.mark_probability, 1, 0, at + 1)));
      for (std::int64_t later = at + 1; later < 6; ++later)
        CHECK(difference(slice(after.expected_gap, 1, later, later + 1),
                         slice(before.expected_gap, 1, later, later + 1)) > 1e-8);
    }
  });
}

TEST_CASE("event models: the loss is the mean likelihood of events and ends, whatever is padding") {
  for_event_models([](const EventModel& model) {
    Task task = random_task(model, {2, 3, 4});
    Tensor y = task.yt.to(Device::cpu).clone();
    y.data<double>()[3 * 2 + 1] = kNoEvent;  // the first row ends with an end,
    for (const int i : {2, 3}) {             // the second has two events
      y.data<double>()[(4 + i) * 2] = 0;
      y.data<double>()[(4 + i) * 2 + 1] = kNoEvent;
    }
    task.yt = y.to(default_device());
    task.target_weights = Tensor::from<double>({2, 4}, {1, 1, 1, 1, 1, 1, 0, 0}).to(default_device());
    task.target_totals = Tensor::full({2}, 2.5, DType::float64, default_device());
    if (dynamic_cast<const Thp*>(&model) != nullptr) return;  // has more in its loss, see below
    const auto state = condition(model, context_of(task));
    const std::vector<double> joint = doubles(predicted(*state, model, task.xt)->joint_log_likelihood(task.yt));
    CHECK(loss(model, task).item() == doctest::Approx(-(joint[0] + joint[1]) / 5).epsilon(1e-12));
  });
}

TEST_CASE("event models: THP's loss has forecasts besides the likelihood, for events and not for ends") {
  const auto model = varied_model(small_model("thp"));
  const auto& thp = dynamic_cast<const Thp&>(*model);
  Task task = random_task(*model, {2, 3, 3});
  Tensor y = task.yt.to(Device::cpu).clone();
  y.data<double>()[2 * 2 + 1] = kNoEvent;
  task.yt = y.to(default_device());
  const auto state = condition(*model, context_of(task));
  const auto p = predicted(*state, *model, task.xt);
  const EventScores each = scores(*p, task.yt);
  const std::vector<double> joint = doubles(p->joint_log_likelihood(task.yt)), gap = doubles(each.expected_gap),
                            mark = doubles(each.mark_probability), event = doubles(task.yt);
  const auto marks = static_cast<std::size_t>(thp.marks());
  double sum = -joint[0] - joint[1];
  for (std::size_t i = 0; i < 6; ++i) {
    if (event[2 * i + 1] == kNoEvent) continue;
    sum += (gap[i] - event[2 * i]) * (gap[i] - event[2 * i]) / 100;
    const double shared = thp.smoothing() / static_cast<double>(marks);
    for (std::size_t k = 0; k < marks; ++k)
      sum -=
          (static_cast<double>(k) == event[2 * i + 1] ? 1 - thp.smoothing() : shared) * std::log(mark[i * marks + k]);
  }
  CHECK(loss(*model, task).item() == doctest::Approx(sum / 6).epsilon(1e-12));
}

TEST_CASE("event models: the objective of THP's authors is another, and takes contexts of one size") {
  ModelSpec spec = small_model("thp");
  const auto corrected = varied_model(spec);
  spec.config["objective"] = std::string("authors");
  const auto theirs = varied_model(spec);
  const Task task = random_task(*theirs, {2, 3, 3});
  const auto drawn = [&](std::uint64_t seed) {
    Draws draws(seed, Purpose::training, 0);
    return theirs->loss(task, draws).item();
  };
  CHECK(drawn(1) == drawn(1));
  CHECK(drawn(1) != drawn(2));  // by random points
  CHECK(drawn(1) != loss(*corrected, task).item());
  Task ragged = task;
  ragged.lengths = Tensor::from<std::int64_t>({2}, {3, 2});
  Draws draws(1, Purpose::training, 0);
  CHECK(error_of([&] { theirs->loss(ragged, draws); }) ==
        "[thp] contexts of several sizes found, expected one for objective = 'authors'");
  spec.config["objective"] = std::string("theirs");
  CHECK(error_of([&] { make_model(spec); }) == "[thp] objective 'theirs' found, expected corrected or authors");
  spec = small_model("thp");
  spec.config["smooth"] = 1.0;
  CHECK(error_of([&] { make_model(spec); }) == "[thp] smooth is 1, expected a number >= 0 and < 1");
}

TEST_CASE("event models: contexts in another order are other contexts") {
  for_event_models([](const EventModel& model) {
    const Task task = random_task(model, {1, 3, 1});
    const auto swapped = [](const Tensor& x) { return concat({slice(x, 1, 1, 3), slice(x, 1, 0, 1)}, 1); };
    const Moments p = predict(model, task), q = predict(model, {task.xc, swapped(task.yc), task.xt, task.yt, {}});
    CHECK(difference(p.mean, q.mean) > 1e-6);
  });
}

TEST_CASE("event models: intensities integrate to the survival") {
  for_event_models([](const EventModel& model) {
    const Task task = random_task(model, {2, 3, 2});
    const auto state = condition(model, context_of(task));
    const auto p = predicted(*state, model, task.xt);
    // Simpson's rule over [0.5, 1.5] of the gap.
    constexpr std::int64_t kPoints = 201;
    std::vector<double> at;
    for (int i = 0; i < 4; ++i)
      for (int s = 0; s < kPoints; ++s) at.push_back(0.5 + s / (kPoints - 1.0));
    const Tensor elapsed = Tensor::from<double>({2, 2, kPoints}, std::span<const double>(at));
    const std::vector<double> each = doubles(dynamic_cast<const EventPrediction&>(*p).intensities(task.yt, elapsed));
    const auto survival = [&](double gap) {
      Tensor ends = task.yt.to(Device::cpu).clone();
      for (std::int64_t i = 0; i < 4; ++i) {
        ends.data<double>()[2 * i] = gap;
        ends.data<double>()[2 * i + 1] = kNoEvent;
      }
      Draws draws = some_draws();
      // Scores the first target alone: the history of later ones would change.
      return doubles(scores(*p, ends.to(default_device())).time);
    };
    const std::vector<double> from = survival(0.5), to = survival(1.5);
    const std::int64_t marks = model.marks();
    for (std::int64_t b = 0; b < 2; ++b) {
      double integral = 0;
      for (std::int64_t s = 0; s < kPoints; ++s)
        for (std::int64_t k = 0; k < marks; ++k)
          integral += (s == 0 || s == kPoints - 1 ? 1
                       : s % 2 == 1               ? 4
                                                  : 2) /
                      (3.0 * (kPoints - 1)) * each[static_cast<std::size_t>((b * 2 * kPoints + s) * marks + k)];
      const auto first = static_cast<std::size_t>(2 * b);
      CHECK(integral == doctest::Approx(from[first] - to[first]).epsilon(1e-6));
    }
  });
}

TEST_CASE("event models: tasks that are not events are one-line errors") {
  ModelSpec spec = small_model("thp-plus");
  spec.config["dim_y"] = std::int64_t{1};
  CHECK(error_of([&] { make_model(spec); }) ==
        "[thp-plus] dim_x 1 and dim_y 1 found, expected events, which have 1 and 2");
  spec = small_model("cmhp");
  spec.config["clock"] = std::string("sun");
  CHECK(error_of([&] { make_model(spec); }) == "[cmhp] clock 'sun' found, expected since start, gaps or both");
  const auto model = varied_model(small_model("cmhp"));
  const Task one = random_task(*model, {1, 3, 1}), three = random_task(*model, {3, 3, 1});
  const auto state = condition(*model, context_of(one));
  CHECK(error_of([&] { model->update(*state, context_of(three)); }) ==
        "[events] 3 batch elements found, expected 1 as in the state");
  CHECK(error_of([&] {
          model->query(*state, one.xt)->joint_log_likelihood(three.yt.view({1, 3, 2}));
        }) == "[prediction] y (1, 3, 2) found, expected values of 1 targets");
}
