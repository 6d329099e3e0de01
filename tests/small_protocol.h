#pragma once

#include <string>

namespace npzoo::testing {

/// A protocol `name` of a few updates of a small CNP, with one test of that name: `data` stands in the table [data],
/// `test` in that of the test.
inline std::string small_protocol(const std::string& name, const std::string& data, const std::string& test = "") {
  return "name = \"" + name + R"("
description = "for tests"
source = "npzoo"

[data]
)" + data +
         R"(
[training]
steps = 8
batch_size = 4
clip_norm = 1.0
keep = "best"
optimiser = { name = "adam", lr = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.0 }
schedule = { name = "constant" }

[validation]
every = 4
batches = 2
seed = 0

[evaluation]
batches = 100
batch_size = 4
seed = 0
metric = "log-likelihood"

[models.cnp]
architecture = "tnp"
dim_hid = 8
enc_pre_depth = 2
enc_post_depth = 2
dec_depth = 2

[[evaluation.tests]]
name = ")" +
         name + "\"\n" + test;
}

}  // namespace npzoo::testing
