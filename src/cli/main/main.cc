// The opscope program.
#include "cli/main/command.h"

int main(int argc, char** argv) { return opscope::run(argc, argv); }
