// `opscope explore --interactive`: the browser of report/browser/browser.h in a terminal.
#pragma once

#include "analyse/profile/profile.h"

namespace opscope {

// Throws Error where there is no terminal to browse in, before anything runs.
void check_interactive();

// Until the user has seen enough; the terminal is as it was after it, whatever happens. Returns the exit
// code.
int browse(const Profile& profile);

}  // namespace opscope
