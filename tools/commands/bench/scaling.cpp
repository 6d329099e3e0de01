#include <algorithm>

#include "npzoo/engine/tape.h"
#include "npzoo/models/blocks/chunks.h"
#include "tools/bench/scaling.h"
#include "tools/bench/support.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/presets.h"

namespace npzoo::tools {

namespace {

struct BenchScalingCommand {
  CommonOptions common;
  std::vector<std::string> models;
  ProtocolOptions protocol;  // without a name: one that has a preset of the model
  ScalingOptions sizes;
};

void add_flags(Flags& flags, BenchScalingCommand& c) {
  add_flags(flags, c.common);
  flags.texts("--models", c.models, "names, a list like tnp-d,tnp-kr-full").required();
  add_flags(flags, c.protocol,
            "protocol of the presets and dimensions (default: tnp-kr/gp1d-rbf, or the first that has a preset)");
  add_flags(flags, c.sizes);
}

/// Points of a chunk as in predict and stream; on a GPU enough work for each kernel.
std::int64_t largest_chunk() { return chunk_points(default_device()); }
constexpr const char* kPreferredProtocol = "tnp-kr/gp1d-rbf";

/// Uses a model as a program does whose data does not fit in memory: targets are made and predictions dropped chunk by
/// chunk, unless the model predicts them jointly, and so is the context, where the model streams. The time to draw the
/// points does not count.
class BoundedPrediction {
 public:
  BoundedPrediction(const Model& model, Density density, std::uint64_t seed)
      : model_(model),
        targets_(targets_at_a_time(density, largest_chunk())),
        random_(seed),
        draws_(seed, Purpose::prediction, 0) {}

  double operator()(std::int64_t nc, std::int64_t nt) {
    elapsed_ms_ = 0;
    const auto state = encode(nc);
    for (std::int64_t begin = 0, count = 0; begin < nt; begin += count) {
      count = std::min(targets_, nt - begin);
      const Tensor xt = places(count);
      elapsed_ms_ += milliseconds([&] { static_cast<void>(model_.query(*state, xt)->marginals()); });
    }
    return elapsed_ms_;
  }

 private:
  Tensor points(std::int64_t count, std::int64_t width) { return random_normal(random_, {1, count, width}); }
  Tensor places(std::int64_t count) { return nearest_places(model_, points(count, model_.dim_x())); }
  Context context(std::int64_t count) { return {places(count), points(count, model_.dim_y()), {}}; }

  std::unique_ptr<ContextState> encode(std::int64_t nc) {
    const std::int64_t chunk = model_.streams() ? largest_chunk() : std::max<std::int64_t>(nc, 1);
    std::unique_ptr<ContextState> state;
    for (std::int64_t begin = 0; begin == 0 || begin < nc; begin += chunk) {
      const Context next = context(std::min(chunk, nc - begin));
      elapsed_ms_ +=
          milliseconds([&] { state = state ? model_.update(*state, next) : model_.condition(next, draws_, kSamples); });
    }
    return state;
  }

  const Model& model_;
  std::int64_t targets_;  // at a time
  Random random_;
  Draws draws_;
  double elapsed_ms_ = 0;
};

Protocol protocol_for(const std::string& model, const ProtocolOptions& chosen) {
  static_cast<void>(model_info(model));
  if (!chosen.name.empty()) return load_protocol(chosen);
  const auto found = protocol_with_preset(model, kPreferredProtocol);
  return load_protocol(chosen, found ? *found : load_protocol(kPreferredProtocol));
}

PredictMs load(const ModelSpec& spec, std::uint64_t seed) {
  const std::shared_ptr<Model> model = make_model(spec, {.seed = seed});
  return [model, density = model_info(spec.name).density, seed](std::int64_t nc, std::int64_t nt) {
    const NoGrad off;
    return BoundedPrediction(*model, density, seed)(nc, nt);
  };
}

int run(const BenchScalingCommand& c) {
  apply(c.common);
  std::vector<ScalingSubject> subjects;
  for (const std::string& name : c.models) {
    const Protocol protocol = protocol_for(name, c.protocol);
    const ModelSpec spec = model_spec(protocol, name);
    subjects.push_back({name, protocol.name, [spec, seed = c.sizes.seed] { return load(spec, seed); }});
  }
  const std::vector<ScalingRow> rows = measure_scaling(subjects, c.sizes);
  if (c.common.json)
    print_json(to_json(rows));
  else
    print_scaling(rows);
  return 0;
}

}  // namespace

extern const CommandInfo bench_scaling_command = command<BenchScalingCommand, add_flags, run>(
    "Time and memory of predictions as the number of points grows.", CommandGroup::check,
    "npzoo bench scaling --models cnp,tnp-kr-fast --vary context --points 100,1000");

}  // namespace npzoo::tools
