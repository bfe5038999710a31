// Times are whole numbers inside, picoseconds of ops and nanoseconds of clocks, and seconds where people read
// them.
#pragma once

namespace opscope {

constexpr double kPicosecond = 1e-12, kNanosecond = 1e-9;

}  // namespace opscope
