#include <fmt/core.h>

#include "npzoo/models/registry.h"
#include "npzoo/models/training/trainer.h"

int main() {
  using namespace npzoo;
  TrainingRun run;
  run.protocol = load_protocol("quick/gp1d");
  run.protocol.training.steps = 100;
  run.spec = model_spec(run.protocol, "tnp-d");

  Trainer trainer(run);
  while (!trainer.finished()) trainer.step();

  const Context context{Tensor::from<float>({1, 3, 1}, {-1.f, 0.f, 1.f}),      // x (batch, points, inputs)
                        Tensor::from<float>({1, 3, 1}, {0.4f, -0.2f, 0.9f})};  // y
  Draws draws(run.seed, Purpose::prediction, 0);                               // for models that draw functions
  const auto state = trainer.model().condition(context, draws, kSamples);      // encoded once
  const auto prediction = trainer.model().query(*state, Tensor::from<float>({1, 2, 1}, {-0.5f, 0.5f}));
  const Moments p = moments(*prediction);
  for (int i = 0; i < 2; ++i) fmt::print("{:.2f} ± {:.2f}\n", p.mean.values<double>()[i], p.std.values<double>()[i]);
}
