#pragma once

#include <string>

#include "npzoo/models/parity/authors.h"

namespace npzoo {

/// Place of a parameter of TE-TNP in the code of its authors.
AuthorsPlace authors_tetnp(const std::string& name);

/// What recordings of TE-TNP hold besides predictions and losses: predictions in training, of the context in reverse
/// order and of shifted inputs, and what leaves each layer.
NamedTensors recorded_tetnp(const Model& model, const Task& task, const Prediction& prediction,
                            const RecordedTensors& recorded);

}  // namespace npzoo
