#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>

#include "npzoo/engine/ranks/mpi.h"
#include "npzoo/engine/ranks/ranks.h"

namespace npzoo::python {

/// A communicator of mpi4py: the value of its handle and its bytes. None: this process works alone.
using Communicator = std::optional<std::tuple<std::uintptr_t, std::size_t>>;

/// Collective, as `join_mpi`; without the interpreter's lock.
inline std::unique_ptr<Ranks> ranks_of(const Communicator& communicator) {
  if (!communicator) return std::make_unique<OneRank>();
  return join_mpi({.handle = std::get<0>(*communicator), .bytes = std::get<1>(*communicator)});
}

}  // namespace npzoo::python
