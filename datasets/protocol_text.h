#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/datasets/described_keys.h"

namespace npzoo {

/// The TOML text of a protocol of the program or of a user's file, by name or path, complete by itself. Where it says
/// `extends = "name-or-path"`, that protocol comes first, and what the extending file says goes on top: `[tables]` are
/// joined key by key, or left out by `false` in their place; all else, arrays and tables in braces too, takes the place
/// of what was there. Paths are relative to the file that holds them. Published rows and oracle values of tests that
/// the file does not restate are left out if it changes data or evaluation; if it changes training, published rows are.
/// `presets = "tnp-d"`, or a list of such names, puts tables `[models.…]` that protocols share between the extended
/// protocol and the file: each is the name of one of the program's presets, or the path of a file.
/// Throws Error if a protocol or a preset is not there, where a preset holds more than [models], where protocols
/// extend each other in a circle, and where more than eight do in a row. A text that extends nothing is as it was
/// written, with its presets, unless it changes them.
std::string protocol_text(const std::string& name_or_path);

/// Returns the keys that only files have: `extends` and `presets`.
std::vector<DescribedKey> described_file_keys();

/// A complete text with changes on top, each a line of TOML, "data.points = 100", as if a protocol extended it by them;
/// a later change of one key replaces an earlier one. The name of the text then lists the changes, as the flags that
/// change it: `tnp/gp-rbf --set data.points=100`. What was published is left out, and so are the oracle values, unless
/// training, validation and models alone are changed. Throws Error for a change that is no such line.
std::string changed_text(std::string_view text, std::span<const std::string> changes);

}  // namespace npzoo
