#pragma once

#include <span>

#include "npzoo/models/parity/authors.h"

namespace npzoo {

// github.com/thuml/Autoformer @51c7d41.

std::span<const AuthorsCode> autoformer_authors();
std::span<const AuthorsCode> informer_authors();

}  // namespace npzoo
