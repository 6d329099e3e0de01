#include "npzoo/models/tnp/inctnp.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

#include "npzoo/models/predictions/one_by_one.h"
#include "npzoo/ops/gather/gather.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr std::int64_t kPoints = 9, kFirst = 4;

struct IncTnpForm {
  std::string label;
  std::unique_ptr<Model> model;

  const IncTnp& operator*() const { return dynamic_cast<const IncTnp&>(*model); }
  const IncTnp* operator->() const { return &**this; }
};

/// Every small form with two inputs and three values.
std::vector<IncTnpForm> forms_of(const std::string& name, DType dtype = DType::float64) {
  std::vector<IncTnpForm> forms;
  for (const ModelCase& c : small_models_of_all_dimensions())
    if (c.spec.name == name && c.spec.config.at("dim_x") == ModelConfig::mapped_type(std::int64_t{2}) &&
        c.spec.config.at("dim_y") == ModelConfig::mapped_type(std::int64_t{3}))
      forms.push_back({c.label, varied_model(c.spec, dtype)});
  return forms;
}

Context between(const Task& task, std::int64_t begin, std::int64_t end) {
  return {slice(task.xc, 1, begin, end), slice(task.yc, 1, begin, end), {}};
}

/// The keys and values that a state holds, each (B, N, ·).
std::vector<Tensor> kept(const ContextState& state) {
  const GrowingRows& rows = dynamic_cast<const IncTnpState&>(state).cache.rows;
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < rows.arrays(); ++i) all.push_back(rows.points(i));
  return all;
}

/// The state of the context's points, given in these chunks.
std::unique_ptr<ContextState> grown(const Model& model, const Task& task, const std::vector<std::int64_t>& chunks) {
  std::unique_ptr<ContextState> state;
  std::int64_t begin = 0;
  for (const std::int64_t count : chunks) {
    const Context next = between(task, begin, begin + count);
    state = state ? model.update(*state, next) : condition(model, next);
    begin += count;
  }
  return state;
}

}  // namespace

TEST_CASE("inctnp: row i of a sequence is the prediction of point i + 1 from the points before it") {
  for (const IncTnpForm& form : forms_of("inctnp-seq")) {
    CAPTURE(form.label);
    const Task task = random_task(*form, {3, kFirst, kPoints - kFirst});
    Draws draws = some_draws();
    const Moments rows = form->predict_sequence(task, draws).moments;
    const Task all{concat({task.xc, task.xt}, 1), concat({task.yc, task.yt}, 1), {}, {}};
    for (std::int64_t i = 0; i + 1 < kPoints; ++i) {
      const Moments alone = query(*form, *condition(*form, between(all, 0, i + 1)), slice(all.xc, 1, i + 1, i + 2));
      CHECK(difference(alone, {slice(rows.mean, 1, i, i + 1), slice(rows.std, 1, i, i + 1)}) <= kRounding);
    }
  }
}

TEST_CASE("inctnp: keys and values that are kept are those of all points at once") {
  for (const std::string name : {"inctnp", "inctnp-seq"})
    for (const auto& [dtype, tolerance] : {std::pair{DType::float64, 1e-12}, {DType::float32, 1e-5}})
      for (const IncTnpForm& form : forms_of(name, dtype)) {
        CAPTURE(form.label);
        const Task task = random_task(*form, {2, kPoints, 3}, dtype);
        const auto whole = condition(*form, context_of(task));
        for (const std::vector<std::int64_t>& chunks :
             {std::vector<std::int64_t>{1, 2, 6}, std::vector<std::int64_t>(9, 1),
              std::vector<std::int64_t>{0, 5, 0, 4}}) {
          const auto state = grown(*form, task, chunks);
          const auto found = kept(*state), expected = kept(*whole);
          REQUIRE(found.size() == expected.size());
          for (std::size_t i = 0; i < found.size(); ++i) CHECK(difference(found[i], expected[i]) <= tolerance);
          CHECK(difference(query(*form, *state, task.xt), query(*form, *whole, task.xt)) <= tolerance);
        }
      }
}

TEST_CASE("inctnp: a point changes nothing of the points before it") {
  for (const IncTnpForm& form : forms_of("inctnp")) {
    CAPTURE(form.label);
    const Task task = random_task(*form, {2, kPoints, 1});
    const auto before = kept(*condition(*form, context_of(task)));
    for (const std::int64_t changed : {0, 4, 8}) {
      Context other{task.xc.clone(), task.yc.clone(), {}};
      for (std::int64_t b = 0; b < 2; ++b)
        other.yc = concat({slice(other.yc, 1, 0, changed), affine(slice(other.yc, 1, changed, changed + 1), 1, 0.5),
                           slice(other.yc, 1, changed + 1, kPoints)},
                          1);
      const auto after = kept(*condition(*form, other));
      for (std::size_t i = 0; i < before.size(); ++i) {
        CHECK(same_bits(slice(after[i], 1, 0, changed), slice(before[i], 1, 0, changed)));
        CHECK(difference(slice(after[i], 1, changed, kPoints), slice(before[i], 1, changed, kPoints)) > 1e-3);
      }
    }
  }
}

TEST_CASE("inctnp: predictions depend on the order of the context, and targets on no other target") {
  for (const IncTnpForm& form : forms_of("inctnp")) {
    CAPTURE(form.label);
    const Task task = random_task(*form, {1, kPoints, 4});
    const Tensor order = Tensor::from<std::int64_t>({1, kPoints}, {8, 7, 6, 5, 4, 3, 2, 1, 0});
    const Moments before = predict(*form, task);
    const Task turned{gather(task.xc, order), gather(task.yc, order), task.xt, task.yt, {}};
    CHECK(difference(predict(*form, turned), before) > 1e-4);
    const Tensor last = slice(task.xt, 1, 3, 4);
    CHECK(difference(query(*form, *condition(*form, context_of(task)), last),
                     {slice(before.mean, 1, 3, 4), slice(before.std, 1, 3, 4)}) <= kRounding);
  }
}

TEST_CASE("inctnp: the loss of a sequence is the mean of the losses of its points, each from those before") {
  for (const IncTnpForm& form : forms_of("inctnp-seq")) {
    CAPTURE(form.label);
    const Task task = random_task(*form, {3, kFirst, kPoints - kFirst});
    const Task all{concat({task.xc, task.xt}, 1), concat({task.yc, task.yt}, 1), {}, {}};
    double sum = 0;
    for (std::int64_t i = 1; i < kPoints; ++i) {
      const auto state = condition(*form, between(all, 0, i));
      sum += nll(*form->query(*state, slice(all.xc, 1, i, i + 1)), slice(all.yc, 1, i, i + 1)).item();
    }
    CHECK(loss(*form, task).item() == doctest::Approx(sum / (kPoints - 1) / 3).epsilon(1e-12));
  }
  // incTNP sums over channels, and scores the targets alone. target_buffer_test.cpp has the loss with a buffer.
  for (const IncTnpForm& form : forms_of("inctnp")) {
    if (form->config().buffer > 0) continue;
    const Task task = random_task(*form, {3, kFirst, 2});
    CHECK(loss(*form, task).item() == doctest::Approx(target_nll(*form, task).item()).epsilon(1e-12));
  }
}

TEST_CASE("inctnp: the loss of sequences of different lengths is the mean of those of its tasks") {
  for (const IncTnpForm& form : forms_of("inctnp-seq")) {
    CAPTURE(form.label);
    const Task whole = random_task(*form, {4, 5, 4});
    Task ragged = padded(whole, {5, 2, 0, 0}, kNaN);
    ragged.target_lengths = Tensor::from<std::int64_t>({4}, {4, 3, 2, 1});
    for (Tensor* points : {&ragged.xt, &ragged.yt}) {
      *points = points->clone();
      const std::int64_t width = points->dim(2);
      for (std::int64_t b = 0; b < 4; ++b)
        std::fill_n(points->data<double>() + (b * 4 + 4 - b) * width, b * width, kNaN);
    }
    double sum = 0;
    for (std::int64_t b = 0; b < 4; ++b) {
      const std::int64_t nc = ragged.lengths.data<std::int64_t>()[b], nt = 4 - b;
      const auto cut = [&](const Tensor& x, std::int64_t n) { return slice(row(x, b), 1, 0, n); };
      sum += loss(*form, {cut(whole.xc, nc), cut(whole.yc, nc), cut(whole.xt, nt), cut(whole.yt, nt), {}}).item();
    }
    CHECK(loss(*form, ragged).item() == doctest::Approx(sum / 4).epsilon(1e-12));
    // The weights of points follow them.
    Task weighted = random_task(*form, {1, 2, 2});
    weighted.context_weights = Tensor::from<double>({1, 2}, {5, 0});
    weighted.target_weights = Tensor::from<double>({1, 2}, {0, 3});
    const auto state = condition(*form, {concat({weighted.xc, slice(weighted.xt, 1, 0, 1)}, 1),
                                         concat({weighted.yc, slice(weighted.yt, 1, 0, 1)}, 1),
                                         {}});
    const double last = nll(*form->query(*state, slice(weighted.xt, 1, 1, 2)), slice(weighted.yt, 1, 1, 2)).item();
    CHECK(loss(*form, weighted).item() == doctest::Approx(last / 3).epsilon(1e-12));
  }
}

TEST_CASE("inctnp: states that share memory grow apart") {
  for (const IncTnpForm& form : forms_of("inctnp")) {
    const Task task = random_task(*form, {2, 6, 3}), other = random_task(*form, {2, 12, 3});
    const auto base = condition(*form, between(task, 0, 3));
    const auto first = form->update(*base, between(task, 3, 4));  // has room for more
    const auto a = form->update(*first, between(task, 4, 6));     // takes it
    const auto b = form->update(*first, between(other, 8, 10));   // has to copy
    const auto joined = [&](const Context& x, const Context& y) {
      return Context{concat({x.xc, y.xc}, 1), concat({x.yc, y.yc}, 1), {}};
    };
    const Context start = between(task, 0, 4);
    const auto expect = [&](const ContextState& state, const Context& context) {
      CHECK(difference(query(*form, state, task.xt), query(*form, *condition(*form, context), task.xt)) <= kRounding);
    };
    expect(*base, between(task, 0, 3));
    expect(*first, start);
    expect(*a, between(task, 0, 6));
    expect(*b, joined(start, between(other, 8, 10)));
  }
}

TEST_CASE("inctnp: threads may extend one state at the same time") {
  const auto model = varied_model(small_model("inctnp"));
  const Task task = random_task(*model, {2, 12, 3});
  const auto first = condition(*model, between(task, 0, 3));
  const auto base = model->update(*first, between(task, 3, 4));  // has room for more
  std::vector<std::unique_ptr<ContextState>> found(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i)
    threads.emplace_back([&, i] {
      const auto begin = static_cast<std::int64_t>(4 + 2 * i);
      found[i] = model->update(*base, between(task, begin, begin + 2));
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Context start = between(task, 0, 4),
                  more = between(task, static_cast<std::int64_t>(4 + 2 * i), 6 + 2 * static_cast<std::int64_t>(i));
    const Context all{concat({start.xc, more.xc}, 1), concat({start.yc, more.yc}, 1), {}};
    CHECK(difference(query(*model, *found[i], task.xt), query(*model, *condition(*model, all), task.xt)) <= kRounding);
  }
}

TEST_CASE("inctnp: one target after the other is the end of a sequence, and paths continue from their own values") {
  for (const IncTnpForm& form : forms_of("inctnp-seq")) {
    CAPTURE(form.label);
    const Task task = random_task(*form, {2, kFirst, 3});
    Draws draws = some_draws();
    const Moments rows = form->predict_sequence(task, draws).moments;
    const std::shared_ptr<const ContextState> state = condition(*form, context_of(task));
    const OneByOne targets(*form, state, task.xt, some_draws(), 2);
    CHECK(difference(moments(targets.given_those_before(task.yt)),
                     {slice(rows.mean, 1, kFirst - 1, kFirst + 2), slice(rows.std, 1, kFirst - 1, kFirst + 2)}) <=
          kRounding);
    Draws again = some_draws();
    const Tensor paths = targets.sample(2, again);
    const Marginals along = targets.marginals();
    for (std::int64_t path = 0; path < 2; ++path) {
      const auto of_path = [&](const Tensor& x) { return reshape(slice(x, 0, path, path + 1), {2, 3, 3}); };
      const Moments given = moments(targets.given_those_before(of_path(paths)));
      CHECK(difference(given, {of_path(along.mean), of_path(along.std)}) <= kRounding);
    }
  }
}

TEST_CASE("inctnp: states of other layers, batches and models are refused") {
  const auto model = varied_model(small_model("inctnp"));
  ModelSpec deeper = small_model("inctnp");
  deeper.config["num_layers"] = std::int64_t{3};
  const auto other = varied_model(deeper), cnp = varied_model(small_model("cnp"));
  const Task one = random_task(*model, {1, 3, 1}), three = random_task(*model, {3, 3, 1});
  const auto state = condition(*model, context_of(one));
  const auto update_with = [&](const Model& of, const ContextState& from, const Task& task) {
    return error_of([&] { of.update(from, {task.xc, task.yc, {}}); });
  };
  CHECK(update_with(*other, *state, one) == "[causal_transformer] the state of the context has 2 layers, expected 3");
  CHECK(update_with(*model, *state, three) ==
        "[causal_transformer] 3 batch elements found, expected 1 as in the state");
  CHECK(error_of([&] { query(*model, *state, three.xt); }) ==
        "[causal_transformer] 3 batch elements found, expected 1 as in the state");
  CHECK(update_with(*model, *condition(*cnp, context_of(one)), one) ==
        "[inctnp] the state comes from another kind of model");
}

TEST_CASE("inctnp: one head of the width of tokens has no output layer") {
  ModelSpec spec = small_model("inctnp");
  const auto outputs = [](const ModelSpec& of) {
    const auto model = make_model(of);
    return std::ranges::count_if(named_parameters(*model), [](const NamedParameter& p) {
      return p.name.find("attention.out.") != std::string::npos;
    });
  };
  CHECK(outputs(spec) == 8);  // weight and bias, two layers of both streams
  spec.config["num_heads"] = std::int64_t{1};
  CHECK(outputs(spec) == 8);
  spec.config["head_dim"] = spec.config.at("embed_dim");
  CHECK(outputs(spec) == 0);
}
