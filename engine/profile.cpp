#include "npzoo/engine/profile.h"

#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/measure/flops.h"

namespace npzoo {

void Profile::start() {
  since_ = std::chrono::steady_clock::now();
  flops_since_ = counted_flops_here();
}

void Profile::lap(const char* operation, Cost Passes::*pass, Device device) {
  if (device == Device::cuda) gpu_runtime().synchronise();
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - since_;
  Cost& cost = operations_[operation].*pass;
  ++cost.calls;
  cost.milliseconds += elapsed.count();
  cost.flops += counted_flops_here() - flops_since_;
  start();  // the time of the bookkeeping does not count
}

void Profile::add(const Profile& other) {
  for (const auto& [operation, passes] : other.operations_)
    for (Cost Passes::*pass : {&Passes::forward, &Passes::backward}) {
      Cost& cost = operations_[operation].*pass;
      cost.calls += (passes.*pass).calls;
      cost.milliseconds += (passes.*pass).milliseconds;
      cost.flops += (passes.*pass).flops;
    }
}

}  // namespace npzoo
