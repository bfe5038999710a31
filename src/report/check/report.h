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

// "within budget: all of 3 limits", "over budget: 1 of 3 limits"
std::string check_summary(const CheckReport& report);
// "flops is 3.64G, over 3.00G by 636M (21.2%)"
std::string limit_sentence(const LimitResult& result);
// "layer4 1.24G (34.1%)"; of an increase, how much it is of it.
std::string contributor_text(const LimitResult& result, const Contributor& one);
// "layer1 flops", "conv2d ops", "flops"
std::string limit_name(const BudgetLimit& limit);

// The present figures as a budget that they just keep; `flags` are those of the capture.
std::string budget_toml(const std::string& spec,
                        const std::vector<std::pair<std::string, std::string>>& flags,
                        const Figures& figures);

}  // namespace opscope
