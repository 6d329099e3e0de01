#pragma once

#include <filesystem>

#include "npzoo/datasets/kinds/images/image_set.h"

namespace npzoo {

/// Images of 32 x 32 pixels with labels 0 to 9, of one file of CIFAR-10: of the "binary version", records of a label
/// and the three colours after each other, or of the "Python version", a pickle, recognised by its first byte. Of
/// pickles this reads those that have exactly the steps of the published ones and no others: nothing is executed.
/// Throws Error for anything else.
ImageSet read_cifar(const std::filesystem::path& path);

}  // namespace npzoo
