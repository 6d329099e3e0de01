// Precompiled for tests. Each file includes what it uses all the same.

#include <doctest/doctest.h>

#include "../../engine/pch/host.h"
