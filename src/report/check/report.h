// Whether models keep their budgets, for people, for programs and for CI: `opscope check`.
#pragma once

#include <span>
#include <string>

#include "analyse/check/budget.h"
#include "report/core/document.h"

namespace opscope {

std::string to_format(std::span<const CheckReport> reports, Format format, const TextOptions& options = {});

// Lines that GitHub shows beside a pull request: an error for each limit that is not kept.
std::string check_annotations(std::span<const CheckReport> reports);

// The present figures as a budget that they just keep; `flags` are those of the capture.
std::string budget_toml(const std::string& spec,
                        const std::vector<std::pair<std::string, std::string>>& flags,
                        const Figures& figures);

}  // namespace opscope
