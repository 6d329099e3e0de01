#include "models/registry.h"

#include <algorithm>
#include <limits>

#include "models/cmanp/cmanp.h"
#include "models/conditional/cnp.h"
#include "models/tnp/eqtnp.h"
#include "models/tnp/lbanp.h"
#include "models/tnp/tnp_d.h"
#include "models/tnp/tnp_kr.h"

namespace npzoo {

namespace {

constexpr ModelInfo kModels[] = {
    {"cnp", "Conditional neural process", "Garnelo et al., Conditional neural processes, ICML 2018", make_cnp},
    {"tnp-d", "Transformer neural process, diagonal", "Nguyen and Grover, Transformer neural processes, ICML 2022",
     make_tnp_d},
    {"tnp-kr-full", "Transformer neural process with kernel regression blocks, full attention",
     "Jenson et al., Transformer neural processes - kernel regression, 2024", make_tnp_kr_full},
    {"tnp-kr-fast", "Transformer neural process with kernel regression blocks, random-feature attention",
     "Jenson et al., Transformer neural processes - kernel regression, 2024", make_tnp_kr_fast},
    {"eqtnp", "Efficient-queries transformer neural process",
     "Feng et al., Efficient queries transformer neural processes, NeurIPS workshop 2022", make_eqtnp},
    {"lbanp", "Latent bottlenecked attentive neural process",
     "Feng et al., Latent bottlenecked attentive neural processes, ICLR 2023", make_lbanp},
    {"cmanp", "Constant memory attentive neural process",
     "Feng et al., Memory efficient neural processes via constant memory attention block, ICML 2024", make_cmanp},
};

}  // namespace

std::span<const ModelInfo> models() { return kModels; }

const ModelInfo& model_info(const std::string& name) {
  const auto found = std::ranges::find(kModels, name, [](const ModelInfo& m) { return std::string(m.name); });
  if (found != std::end(kModels)) return *found;
  std::string names;
  for (const ModelInfo& m : kModels) names += (names.empty() ? "" : ", ") + std::string(m.name);
  fail("[models] there is no model '{}'; expected one of {}", name, names);
}

std::int64_t targets_at_a_time(Density density, std::int64_t wanted) {
  return density == Density::joint ? std::numeric_limits<std::int64_t>::max() : wanted;
}

ModelSpec model_spec(const Protocol& protocol, const std::string& model) {
  ModelSpec spec{model_info(model).name, model_config(protocol, model)};
  spec.config["dim_x"] = protocol.data->dim_x();
  spec.config["dim_y"] = protocol.data->dim_y();
  return spec;
}

std::unique_ptr<Model> make_model(const ModelSpec& spec, const InitialWeights& weights) {
  return model_info(spec.name).make(spec.config, weights);
}

}  // namespace npzoo
