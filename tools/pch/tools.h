// Precompiled for programs. Each file includes what it uses all the same.

#include "../../engine/pch/host.h"
