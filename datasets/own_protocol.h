#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/datasets/own_data.h"
#include "npzoo/datasets/protocol.h"

namespace npzoo {

/// The protocol of a training on a user's own data.
struct OwnProtocol {
  Protocol protocol;
  std::vector<std::string> skipped{};  // messages, one for each file of the data that was left out
};

/// The protocol that says how models are trained on such data: "own/table", "own/forecast", "own/events",
/// "own/images" or "own/images-grey".
std::string own_recipe(const OwnData& own);

/// True for the name of such a protocol: it has no tasks before a user's data are filled in.
bool is_own_recipe(std::string_view protocol);

/// Fills the user's data into the recipe for it. The name of the file or folder becomes the name of the protocol. A
/// `base`, name or path of another protocol, replaces presets, training and validation of the recipe, and the batches
/// of its evaluation unless the recipe has a trial of its own. `changes` come last, as in with_changes.
/// Throws Error for data that cannot be read or do not suffice.
OwnProtocol own_protocol(const OwnData& own, const std::string& base = "", std::span<const std::string> changes = {});

}  // namespace npzoo
