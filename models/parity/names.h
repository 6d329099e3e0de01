#pragma once

#include <cstdint>
#include <string>

namespace npzoo {

/// Where a model's authors keep a parameter of ours: one of `parts` equal blocks of rows of their tensor.
struct AuthorsPlace {
  std::string name;
  std::int64_t part = 0, parts = 1;
};

/// The place of a parameter by our name for it.
using AuthorsNames = AuthorsPlace (*)(const std::string& ours);

/// Null for a model that no run of its authors' code has been recorded of.
AuthorsNames authors_names(const std::string& model);

}  // namespace npzoo
