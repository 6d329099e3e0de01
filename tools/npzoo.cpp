#include "tools/program.h"

int main(int argc, char** argv) { return npzoo::tools::run_npzoo(argc, argv); }
