// A report's text line by line, for tests of what each may hold.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace opscope::test {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace opscope::test
