#pragma once

#include <span>

#include "npzoo/models/parity/authors.h"

namespace npzoo {

class Thp;

/// Returns the loss of the code of Zuo et al., summed over a batch: minus the logarithm of the observed mark's
/// intensity at each event, from the history that has the event in it; the integral of that mark's intensity from the
/// event before on, from the same history, by 100 random points; the cross entropy of forecast marks; a hundredth of
/// the squared errors of forecast gaps. For the gap behind a shorter sequence the target is minus the time of its last
/// event. Draws (B, N − 1, 100) for N events, context and targets together. Throws Error for a context of several
/// sizes.
Tensor hawkes_authors_loss(const Thp& model, const Task& task, Draws& draws);

std::span<const AuthorsCode> thp_authors();

}  // namespace npzoo
