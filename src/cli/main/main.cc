// The opscope program.
#include "cli/main/cli.h"

int main(int argc, char** argv) { return opscope::run(argc, argv); }
