#pragma once

#include <string>

namespace npzoo {

/// The TOML text of a protocol of the program or of a user's file, by name or path, complete by itself. Where it says
/// `extends = "name-or-path"`, that protocol comes first, and what the extending file says goes on top: `[tables]` are
/// joined key by key; all else, arrays and tables in braces too, takes the place of what was there. Paths are relative
/// to the file that holds them. Throws Error where a protocol is not there, where protocols extend each other in a
/// circle, and where more than eight do in a row. A text that extends nothing is as it was written.
std::string protocol_text(const std::string& name_or_path);

}  // namespace npzoo
