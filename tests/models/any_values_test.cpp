#include <array>

#include "npzoo/engine/draws.h"
#include "npzoo/engine/tape.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

// No model touches memory outside its arrays, for any values of points. Each run puts an odd number into a place of the
// points and calls all that a model offers; builds with -Dguard=true and address sanitizer see accesses outside of the
// arrays. NPZOO_PROPERTY_RUNS is the number of runs for each model and tensor.

namespace {

std::int64_t runs_per_tensor() {
  const char* const runs = std::getenv("NPZOO_PROPERTY_RUNS");
  return runs ? std::atoll(runs) : 1;
}

template <class T>
std::vector<double> odd_numbers() {
  using Limits = std::numeric_limits<T>;
  return {kNaN,          kInfinity,     -kInfinity,       0,    -0.0,  -1,   0.5, Limits::denorm_min(),
          Limits::min(), Limits::max(), Limits::lowest(), 1e30, -1e30, 1e-30};
}

/// The tensors of a task that have values, by their number: xc, yc, xt and yt.
Tensor& part_of(Task& task, std::size_t which) { return *std::array{&task.xc, &task.yc, &task.xt, &task.yt}[which]; }

Task with_value(Task task, std::size_t which, std::int64_t place, double value) {
  Tensor changed = part_of(task, which).to(DType::float64).clone();
  changed.values<double>()[static_cast<std::size_t>(place)] = value;
  part_of(task, which) = changed.to(part_of(task, which).dtype());
  return task;
}

bool ends_in_one_line(const std::string& message) {
  return message.starts_with("[") && message.find('\n') == std::string::npos;
}

/// Calls f. An Error of one line is an answer too.
template <class F>
void call_through(F&& f) {
  const std::string message = error_of(f);
  CHECK_MESSAGE((message == "no error" || ends_in_one_line(message)), message);
}

void predict_all(const Model& model, const Task& task) {
  Draws draws = some_draws();
  const auto state = model.condition(context_of(task), draws, kFewSamples);
  const auto prediction = model.query(*state, task.xt);
  call_through([&] { static_cast<void>(moments(*prediction)); });
  call_through([&] { static_cast<void>(prediction->log_likelihood(task.yt)); });
  call_through([&] { static_cast<void>(prediction->joint_log_likelihood(task.yt)); });
  call_through([&] { static_cast<void>(prediction->sample(2, draws)); });
  call_through([&] { static_cast<void>(prediction->functions(2, draws)); });
  call_through([&] { static_cast<void>(model.query(*model.update(*state, context_of(task)), task.xt)); });
}

void train_once(Model& model, const Task& task) {
  Tape tape;
  Draws draws = some_draws();
  const Task whole = model.prepared(task, draws);
  Tensor loss;
  {
    const Recording on(tape);
    for (const auto& [name, parameter] : named_tensors(model))
      if (parameter->trained) tape.watch(parameter->value);
    loss = model.loss(whole, draws);
  }
  static_cast<void>(tape.backward(loss));
}

/// Means of the targets of a task, as one array, and NaN if there is none.
std::vector<double> means_of_targets(const Model& model, const Task& task) {
  return doubles(moments(*model.query(*condition(model, context_of(task)), task.xt)).mean);
}

}  // namespace

TEST_CASE("any values: no model touches memory outside its arrays, and every call ends in a result or in one line") {
  const OnCpu cpu;
  Random random(20240301);
  std::int64_t runs = 0;
  for (const ModelCase& c : small_models())
    for (const DType dtype : {DType::float64, DType::float32}) {
      CAPTURE(c.label);
      CAPTURE(to_string(dtype));
      const auto model = varied_model(c.spec, dtype);
      const Task task = random_task(*model, {2, 6, 4}, dtype);
      const std::vector<double> odd = dtype == DType::float64 ? odd_numbers<double>() : odd_numbers<float>();
      for (std::size_t which = 0; which < 4; ++which)
        for (std::int64_t run = 0; run < runs_per_tensor(); ++run) {
          Task changed = task;
          for (std::int64_t more = random.integer(0, 3); more >= 0; --more) {
            const double value = odd[static_cast<std::size_t>(random.integer(0, std::ssize(odd)))];
            changed = with_value(changed, which, random.integer(0, part_of(changed, which).numel()), value);
          }
          CAPTURE(which);
          call_through([&] { predict_all(*model, changed); });
          call_through([&] { train_once(*model, changed); });
          ++runs;
        }
    }
  CHECK(runs > 0);
  if (std::getenv("NPZOO_PROPERTY_RUNS")) MESSAGE(runs, " runs");
}

TEST_CASE("any values: an observed NaN is in the mean of every target that depends on it") {
  const OnCpu cpu;
  for (const ModelCase& c : small_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task task = random_task(*model, {1, 6, 4});
    const auto place = task.yc.numel() / 2;
    const std::vector<double> before = means_of_targets(*model, task);
    const double here = doubles(task.yc)[static_cast<std::size_t>(place)];
    std::vector<double> after, found;
    const std::string refused = error_of([&] { found = means_of_targets(*model, with_value(task, 1, place, kNaN)); });
    if (refused != "no error") {
      CHECK_MESSAGE(ends_in_one_line(refused), refused);
      continue;
    }
    after = means_of_targets(*model, with_value(task, 1, place, here + 0.5));
    for (std::size_t i = 0; i < before.size(); ++i)
      if (after[i] != before[i]) CHECK_MESSAGE(std::isnan(found[i]), "target ", i);
  }
}
