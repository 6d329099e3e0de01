#include "npzoo/models/predictions/autoregressive.h"
#include "npzoo/models/trials/likelihood.h"
#include "tests/models/events.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// The same event is said to come next wherever it is asked.
class KnownEvents final : public Model {
 public:
  KnownEvents() : raw_(raw(DType::float64)) {}

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws,
                                             std::int64_t samples) const override {
    return std::make_unique<HeldContext>(context, draws, samples);
  }
  std::unique_ptr<Prediction> do_query(const ContextState&, const Tensor& xt) const override {
    const auto each = [&](const Tensor& x) {
      const Tensor one = slice(slice(x, 0, 0, 1), 1, 0, 1).to(xt.device());
      return broadcast_to(one, {xt.dim(0), xt.dim(1), x.dim(2)});
    };
    return std::make_unique<NextEvent>(LogNormalMixture{each(log_softmax(raw_[0])), each(raw_[1]), each(exp(raw_[2]))},
                                       each(log_softmax(raw_[3])));
  }
  void visit(ModuleVisitor&) override {}
  std::int64_t dim_x() const override { return 1; }
  std::int64_t dim_y() const override { return 2; }

 private:
  std::vector<Tensor> raw_;
};

/// Sequences of such events.
class EventSource final : public TaskSource {
 public:
  explicit EventSource(const Model& model) : model_(model) {}

  Batch batch(std::uint64_t index) const override {
    Draws draws(3, Purpose::evaluation, index);
    const Tensor xc = Tensor::zeros({20, 5, 1}, DType::float64), xt = Tensor::zeros({20, 30, 1}, DType::float64);
    const auto drawn = [&](const Tensor& x) {
      return model_.query(ContextState(), x)->sample(1, draws).view({x.dim(0), x.dim(1), 2}).to(device());
    };
    return {Task{xc, drawn(xc), xt, drawn(xt), {}}};
  }
  Device device() const override { return default_device(); }

 private:
  const Model& model_;
};

/// They come one after the other, each given those before.
class EventChain final : public Autoregressive {
 public:
  EventChain(const Model& model, const ContextState& state, const Tensor& xt, std::int64_t paths)
      : Autoregressive(std::make_shared<const HeldContext>(state_as<HeldContext>(state, "events")), xt, some_draws(),
                       paths, 2),
        model_(model) {}

 protected:
  std::unique_ptr<Prediction> next(const ContextState& state, const Tensor& xt) const override {
    return model_.query(state, xt);
  }
  std::unique_ptr<ContextState> after(const ContextState& state, const Context& observed) const override {
    return model_.update(state, observed);
  }

 private:
  const Model& model_;
};

}  // namespace

TEST_CASE("next event: a chain of them keeps weights and scale") {
  const KnownEvents model;
  const Tensor xc = Tensor::zeros({2, 0, 1}, DType::float64), xt = Tensor::zeros({2, 5, 1}, DType::float64);
  const auto state = condition(model, {xc, Tensor::zeros({2, 0, 2}, DType::float64)});
  const EventChain chain(model, *state, xt, 3);
  const auto one = model.query(*state, xt);
  CHECK(chain.marginals().mean.shape() == Shape{9, 2, 5, 1});
  Draws draws = some_draws();
  const Tensor y = chain.sample(1, draws).view({2, 5, 2}).to(default_device());
  CHECK(difference(cdf(chain.marginals(), y), cdf(one->marginals(), y)) <= 1e-14);
  CHECK(difference(crps(chain.marginals(), y), crps(one->marginals(), y)) <= 1e-13);
  CHECK(difference(log_likelihood(chain.marginals(), y), log_likelihood(one->marginals(), y)) <= 1e-14);
  CHECK(difference(chain.joint_log_likelihood(y), one->joint_log_likelihood(y)) <= 1e-13);
}

TEST_CASE("evaluate: events are scored as anything else is") {
  const KnownEvents model;
  const EventSource source(model);
  const Evaluation e = evaluate(model, source, {.batches = 3, .density = Density::joint, .context = true});
  double joint = 0, squares = 0;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Task task = source.task(i);
    for (const double x : doubles(model.query(ContextState(), task.xt)->joint_log_likelihood(task.yt)))
      joint += x / (3 * 20 * 30);
    const std::vector<double> mean = doubles(moments(*model.query(ContextState(), task.xc)).mean), y = doubles(task.yc);
    for (std::size_t k = 0; k < mean.size(); ++k) squares += std::pow(mean[k] - y[2 * k], 2) / (3 * 20 * 5);
  }
  CHECK(e.joint_log_likelihood == doctest::Approx(joint).epsilon(1e-12));
  CHECK(e.context_rmse == doctest::Approx(std::sqrt(squares)).epsilon(1e-12));
  // They are right, so a share of 1800 gaps as large as that of the interval is inside.
  for (const auto& [percent, inside] : e.coverage) {
    const double share = percent / 100.0;
    CHECK(std::abs(inside - share) <= 5 * std::sqrt(share * (1 - share) / 1800));
  }
}
