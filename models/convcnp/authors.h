#pragma once

#include <span>

#include "npzoo/models/parity/authors.h"

namespace npzoo {

/// The three codes that runs of ConvCNPs have been recorded from.
std::span<const AuthorsCode> convcnp_authors();

}  // namespace npzoo
