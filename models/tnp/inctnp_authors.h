#pragma once

#include <string>

#include "npzoo/models/parity/authors.h"

namespace npzoo {

/// Place of a parameter of incTNP in the code of its authors.
AuthorsPlace authors_inctnp(const std::string& name);

/// What recordings of incTNP and incTNP-Seq hold besides predictions and losses: predictions in training, of the
/// context in reverse order, and one target after the other; keys and values of the context; and predictions of a
/// context that grows.
NamedTensors recorded_inctnp(const Model& model, const Task& task, const Prediction& prediction,
                             const RecordedTensors& recorded);

}  // namespace npzoo
