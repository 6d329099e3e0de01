#pragma once

#include <optional>
#include <string>
#include <vector>

#include "npzoo/models/applications/optimise/acquisition.h"
#include "npzoo/models/applications/optimise/search_space.h"
#include "npzoo/models/applications/optimise/surrogate.h"

namespace npzoo {

/// A surrogate's beliefs about the objective at some points, in the objective's units, and the acquisition there.
struct BeliefValues {
  std::vector<double> mean, std, acquisition;
};

/// Beliefs along one axis; the other axes have the values of the best observation.
struct BeliefLine {
  std::size_t axis;        // of the space
  std::vector<double> at;  // (201), from bound to bound; of a logarithmic axis in equal steps of the logarithm; choices
  BeliefValues values;
};

/// Beliefs over two axes; the other axes have their fixed values. Cell (row, column) is at row · columns + column.
struct BeliefMap {
  std::size_t across, up;       // axes of the space
  std::vector<double> columns;  // coordinates of the middles of cells, spaced as of a line
  std::vector<double> rows;
  BeliefValues values;  // (rows, columns)
};

struct Beliefs {
  std::string surrogate;
  std::string note{};  // as that of Proposals
  AcquisitionKind acquisition;
  std::optional<BeliefMap> map{};   // if exactly two axes are free, and no axis has choices
  std::vector<BeliefLine> lines{};  // else one for each axis that varies
  /// Evaluations as the surrogate sees them, points (n, axes): values far from the others are drawn in, and a failure
  /// has the worst value.
  std::vector<double> points, values;
};

/// Returns the beliefs of a surrogate of one task, which has observed `seen`, one or more values, without
/// `Beliefs::values`. Values of `seen` have the opposite sign with `maximise`.
Beliefs describe_beliefs(const SearchSpace& space, const Observations& seen, const Surrogate& surrogate,
                         const Acquisition& acquisition, bool maximise);

}  // namespace npzoo
