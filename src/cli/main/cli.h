// The command line as one call: the only writer of stdout and stderr, the only maker of exit codes.
#pragma once

namespace opscope {

// 0: done. 1: the answer is no. 2: an error. 130: interrupted.
inline constexpr int kExitDone = 0;
inline constexpr int kExitNo = 1;
inline constexpr int kExitFailed = 2;

int run(int argc, char** argv);

}  // namespace opscope
