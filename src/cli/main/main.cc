// The opscope program.
#include "cli/cli.h"

int main(int argc, char** argv) { return opscope::run(argc, argv); }
