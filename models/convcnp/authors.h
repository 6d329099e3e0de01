#pragma once

#include <span>

#include "npzoo/models/parity/authors.h"

namespace npzoo {

/// The three codes that runs of ConvCNPs have been recorded from.
std::span<const AuthorsCode> convcnp_authors();

/// The code that runs of SConvCNP have been recorded from: github.com/peiman-m/SpecConvCNP @04db558.
std::span<const AuthorsCode> sconvcnp_authors();

}  // namespace npzoo
