#include "npzoo/models/blocks/attention_listener.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// While it lives, layers are composed of their steps: a listener wants to hear of attention.
class Listener final : public AttentionListener {
 public:
  void hear(const HeardAttention&) override { ++heard; }
  int heard = 0;
};

}  // namespace

TEST_CASE("models: predictions by whole layers are near those by their steps") {
  for (const char* name : {"tnp-d", "tnp-kr-full"}) {
    CAPTURE(name);
    ModelSpec spec = small_model(name);
    spec.config["d_model"] = std::int64_t{64};
    spec.config["nhead"] = std::int64_t{4};
    spec.config["dim_feedforward"] = std::int64_t{32};
    const auto model = varied_model(spec, DType::float32);
    Task task = random_task(*model, {2, 21, 9}, DType::float32);
    task.lengths = Tensor::from<std::int64_t>({2}, {21, 5});
    const NoGrad off;
    const Moments whole = predict(*model, task);
    Listener listener;
    const Moments steps = predict(*model, task);
    CHECK(listener.heard > 0);
    CHECK(difference(whole, steps) <= 1e-4);
    // The kernel sums in another order: on a GPU the two differ.
    CHECK(same_bits(whole.mean, steps.mean) == (default_device() == Device::cpu));
  }
}
