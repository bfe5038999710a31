// CLI11's names for headers. The library itself is one large header, and only files that define flags need
// it.
#pragma once

namespace CLI {
class App;
class Option;
}  // namespace CLI
