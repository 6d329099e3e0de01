#pragma once

#include "npzoo/datasets/model_config.h"
#include "npzoo/models/conditional/encoders.h"

// Common code of the models that follow one code base.

namespace npzoo {

/// The code base that a model follows.
enum class Lineage : std::uint8_t {
  tnp,    // TNP-pytorch (Nguyen and Grover 2022) and BNP, from which it is
  dl4bi,  // TNP-KR (Jenson et al. 2024)
  anp     // DeepMind's code of the attentive neural process (Kim et al. 2019)
};

/// Reads `architecture`. Only models with `has_anp` know the lineage anp.
Lineage read_lineage(ConfigReader& reader, bool has_anp = false);

/// Returns the framework whose default weights a model has.
Framework framework_of(Lineage lineage);

/// A path from context to targets with attention; depths count layers.
struct AttendingConfig {
  std::int64_t dim_x = 1, dim_y = 1;
  std::int64_t hidden = 128;
  std::int64_t value_depth = 4;  // of tnp: two more than the linear layers, for its self-attention
  std::int64_t input_depth = 2;  // of the network of queries and keys
  std::int64_t heads = 8;
};

/// One layer of self-attention, then cross-attention; of tnp and dl4bi. Throws Error, opened by `model`, for a depth
/// that is too small.
AttendingEncoder attending_encoder(Lineage lineage, const AttendingConfig& config, const char* model,
                                   Initializer& init);

/// One layer of self-attention before the mean.
struct AttendingPoolConfig {
  std::int64_t in = 2, hidden = 128, out = 128;
  std::int64_t pre_depth = 4;  // of tnp: two more than the linear layers
  std::int64_t post_depth = 2;
  std::int64_t heads = 8;
};
PoolingEncoder attending_pool(Lineage lineage, const AttendingPoolConfig& config, const char* model, Initializer& init);

}  // namespace npzoo
