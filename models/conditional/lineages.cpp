#include "npzoo/models/conditional/lineages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace npzoo {

namespace {

/// Linear layers of a network whose depth, in tnp, counts a self-attention as two.
std::int64_t linear_layers(Lineage lineage, std::int64_t depth, const char* key, const char* model) {
  if (lineage != Lineage::tnp) return depth;
  check(depth >= 4, "[{}] {} is {}, expected 4 or more: two stand for the self-attention", model, key, depth);
  return depth - 2;
}

PointAttention attention(Lineage lineage, std::int64_t width, std::int64_t heads, Initializer& init) {
  if (lineage == Lineage::tnp) return PointAttention(NormalisedAttention(width, init));
  return PointAttention(MultiheadAttention(width, heads, init));
}

}  // namespace

Lineage read_lineage(ConfigReader& reader, bool has_anp) {
  std::vector<std::string_view> names{"tnp", "dl4bi"};
  if (has_anp) names.push_back("anp");
  const std::string name = reader.choice("architecture", "authors' code that the architecture follows", names);
  return static_cast<Lineage>(std::ranges::find(names, name) - names.begin());
}

Framework framework_of(Lineage lineage) {
  switch (lineage) {
    case Lineage::tnp: return Framework::torch;
    case Lineage::dl4bi: return Framework::flax;
    case Lineage::anp: return Framework::tensorflow;
  }
  fail("[np] unknown lineage");
}

AttendingEncoder attending_encoder(Lineage lineage, const AttendingConfig& c, const char* model, Initializer& init) {
  const std::int64_t depth = linear_layers(lineage, c.value_depth, "enc_v_depth", model);
  Mlp values = Mlp::of_depth(c.dim_x + c.dim_y, c.hidden, c.hidden, depth, init);
  Mlp inputs = Mlp::of_depth(c.dim_x, c.hidden, c.hidden, c.input_depth, init);
  std::vector<PointAttention> among;
  among.push_back(attention(lineage, c.hidden, c.heads, init));
  return {std::move(inputs), std::move(values), std::move(among), attention(lineage, c.hidden, c.heads, init)};
}

PoolingEncoder attending_pool(Lineage lineage, const AttendingPoolConfig& c, const char* model, Initializer& init) {
  const std::int64_t depth = linear_layers(lineage, c.pre_depth, "enc_pre_depth", model);
  Mlp pre = Mlp::of_depth(c.in, c.hidden, c.hidden, depth, init);
  std::vector<PointAttention> among;
  among.push_back(attention(lineage, c.hidden, c.heads, init));
  PoolingEncoder encoder(std::move(pre), std::move(among),
                         Mlp::of_depth(c.hidden, c.hidden, c.out, c.post_depth, init));
  encoder.relu_between = lineage == Lineage::tnp;
  return encoder;
}

}  // namespace npzoo
