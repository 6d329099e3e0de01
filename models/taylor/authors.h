#pragma once

#include <span>

#include "npzoo/models/parity/authors.h"

namespace npzoo {

/// github.com/oremnirv/Taylorformer @dfd0e1d, with Keras' Adam. Both record predictions of targets that are all given
/// those before.
std::span<const AuthorsCode> taylorformer_authors();
std::span<const AuthorsCode> taylorformer_tnp_authors();

}  // namespace npzoo
