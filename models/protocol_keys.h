#pragma once

#include <string>
#include <vector>

#include "npzoo/datasets/described_keys.h"

namespace npzoo {

/// Keys of one table of a protocol. Their names are relative to it.
struct KeyGroup {
  std::string table;  // "[training]"
  std::vector<DescribedKey> keys;
};

/// Returns the keys that every protocol has, table by table.
std::vector<KeyGroup> protocol_keys();

/// Returns the keys that belong to this kind of tasks, trial or model. Throws Error listing the names if there is none.
std::vector<KeyGroup> protocol_keys(const std::string& name);

/// Names of the kinds of tasks, the trials with rules, and the models.
std::vector<std::string> kinds_with_keys();
std::vector<std::string> trials_with_keys();
std::vector<std::string> models_with_keys();

}  // namespace npzoo
