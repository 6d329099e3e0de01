#pragma once

// Include this before headers of Boost.Math, so that it computes with double in all files and on all machines.
// Otherwise it takes long double, which has 80 bits on x86-64, 128 bits in software on Arm and in WebAssembly, and 64
// elsewhere.
#if defined(BOOST_MATH_TOOLS_CONFIG_HPP)
#error "include npzoo/datasets/boost_math.h before the headers of Boost.Math"
#endif
#define BOOST_MATH_PROMOTE_DOUBLE_POLICY false
