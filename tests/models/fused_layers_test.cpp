#include <algorithm>
#include <utility>

#include "npzoo/engine/cuda/emulated_runtime.h"
#include "npzoo/models/blocks/attention_listener.h"
#include "npzoo/models/training/device_step.h"
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
    const auto model = varied_model(wide_model(name), DType::float32);
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

TEST_CASE("models: trainings by whole layers are near those by their steps") {
  for (const char* name : {"tnp-d", "tnp-kr-full", "tnp-nd", "flownp"}) {
    CAPTURE(name);
    const auto model = varied_model(wide_model(name), DType::float32);
    for (const std::int64_t nc : {0, 21}) {
      CAPTURE(nc);
      Task task = random_task(*model, {2, nc, 9}, DType::float32);
      if (nc > 0) task.lengths = Tensor::from<std::int64_t>({2}, {21, 5});
      const auto gradients_of_loss = [&] { return gradients(*model, [&] { return loss(*model, task); }); };
      const auto whole = gradients_of_loss();
      Listener listener;
      const auto steps = gradients_of_loss();
      CHECK(gradient_difference(whole, steps) <= 1e-4);
      const bool same =
          std::ranges::equal(whole, steps, [](const Tensor& a, const Tensor& b) { return same_bits(a, b); });
      if (nc > 0) CHECK(same == (default_device() == Device::cpu));
    }
  }
}

TEST_CASE("models: a training step of TNP-D is few kernels on a device") {
  if constexpr (kHasEmulator) {
    if (!has_gpu() || active_gpu() != Gpu::emulated) return;
    const OnGpu gpu;
    ModelSpec spec = wide_model("tnp-d");  // with the sizes of the protocol tnp/gp-rbf
    for (const auto& [key, size] :
         {std::pair("dim_feedforward", 128), std::pair("num_layers", 6), std::pair("emb_depth", 4)})
      spec.config[key] = std::int64_t{size};
    const auto model = make_model(spec);
    Optimiser optimiser({.kind = OptimiserKind::adam, .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
                        named_parameters(*model));
    DeviceStep step(*model, optimiser);
    const Task task = random_task(*model, {1, 3, 2}, DType::float32);
    const std::int64_t before = emulator::submitted_kernels();  // the first step is done kernel by kernel
    static_cast<void>(step(task, some_draws(), 1e-3, 0));
    const std::int64_t kernels = emulator::submitted_kernels() - before;
    CHECK(kernels <= 54);  // 18 of the layers
  }
}
