#include "tools/program.h"

int main(int argc, char** argv) { return npzoo::run_npzoo(argc, argv); }
