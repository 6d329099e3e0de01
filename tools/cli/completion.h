#pragma once

#include <string>

namespace CLI {
class App;
}

namespace npzoo {

/// Script that makes bash, zsh or fish complete the commands of `app`, their flags, and the names of models and
/// protocols.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace npzoo
