#ifndef TUNEONCE_LIB_SEARCH_PORTFOLIO_H_
#define TUNEONCE_LIB_SEARCH_PORTFOLIO_H_

#include <cstddef>
#include <vector>

#include "tuneonce/config.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// The most configs that a portfolio has.
inline constexpr std::size_t kMostPortfolio = 8;

/// Returns up to `most` configs that cover what won elsewhere, the most valuable first (SearchHistory::portfolio).
///
/// `relative_speed[e][c]`: the best time of elsewhere `e` (another shape, device or driver) divided by the time of
/// config `c` there: 1 for the winner, 0 for a config that failed there or is not known. Each step adds the config that
/// raises the mean over elsewheres of the best relative speed so far the most, so that an elsewhere which differs from
/// all others gets a config of its own. When nothing raises it any more, covering begins anew with the other configs.
/// REQUIRES: the rows have equal lengths.
std::vector<std::size_t> CoverElsewheres(const std::vector<std::vector<double>>& relative_speed,
                                         std::size_t most = kMostPortfolio);

/// Returns up to `most` configs that cover what won for other keys of a kernel, by the configs that the records of
/// these keys measured. Records without measurements are passed over, and of many records the newest ones count.
std::vector<Config> PortfolioOf(std::vector<TuningRecord> records, std::size_t most = kMostPortfolio);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_PORTFOLIO_H_
