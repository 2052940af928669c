#include "search/strategy_run.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "base/callback.h"
#include "search/exhaustive_strategy.h"
#include "search/guided_strategy.h"
#include "search/random_strategy.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Returns the value as a number. Strings are numbered by their order, which means nothing.
double NumberOf(const AxisValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  return 0;
}

/// Returns the distinct values of one axis in ascending order.
std::vector<AxisValue> ValuesOf(const std::vector<Config>& configs, std::size_t axis) {
  std::set<AxisValue, AxisValueOrder> values;
  const AxisValue* last = nullptr;  // Most neighbours in a large space differ on one axis.
  for (const Config& config : configs) {
    const AxisValue& value = config.values()[axis];
    if (last == nullptr || !IsSameValue(value, *last)) values.insert(value);
    last = &value;
  }
  return {values.begin(), values.end()};
}

bool IsExhaustive(std::size_t num_configs, Strategy strategy, std::size_t max_configs) {
  if (strategy == Strategy::kExhaustive) return true;
  return strategy == Strategy::kAutomatic && num_configs <= max_configs;
}

}  // namespace

StrategySpace StrategySpaceOf(const std::vector<Config>& configs) {
  StrategySpace space;
  const std::size_t num_axes = configs.empty() ? 0 : configs.front().values().size();
  constexpr std::size_t kMostValues = std::numeric_limits<std::uint16_t>::max();
  space.indices.resize(configs.size() * num_axes);
  for (std::size_t a = 0; a < num_axes; ++a) {
    const std::vector<AxisValue> values = ValuesOf(configs, a);
    // Neighbouring values share an index if an axis has more of them than there are indices.
    const std::size_t values_per_index = values.size() / (kMostValues + 1) + 1;
    StrategyAxis axis;
    const bool is_text = std::holds_alternative<std::string>(values.front());
    axis.kind = is_text ? StrategyAxis::Kind::kCategorical : StrategyAxis::Kind::kOrdinal;
    for (std::size_t i = 0; i < values.size(); i += values_per_index) {
      axis.values.push_back(is_text ? static_cast<double>(i) : NumberOf(values[i]));
    }
    auto place = static_cast<std::ptrdiff_t>(values.size()) - 1;
    for (std::size_t config = 0; config < configs.size(); ++config) {
      const AxisValue& value = configs[config].values()[a];
      const bool is_last = config > 0 && IsSameValue(value, configs[config - 1].values()[a]);
      if (!is_last) place = std::lower_bound(values.begin(), values.end(), value, AxisValueOrder()) - values.begin();
      space.indices[config * num_axes + a] =
          static_cast<std::uint16_t>(static_cast<std::size_t>(place) / values_per_index);
    }
    space.axes.push_back(std::move(axis));
  }
  return space;
}

StrategyRun::StrategyRun(const std::vector<Config>& configs, std::optional<std::size_t> baseline,
                         const SearchOptions& options, std::size_t max_configs, std::vector<StrategyTrial> known)
    : num_configs_(configs.size()),
      is_exhaustive_(configs.empty() || configs.front().values().empty() ||
                     IsExhaustive(configs.size() - known.size(), options.strategy, max_configs)),
      may_be_cut_short_(options.budgets.wall.count() > 0 || options.budgets.trials > 0) {
  history_.trials = std::move(known);
  history_.baseline = baseline;
  history_.batch_size = 0;  // Nothing was proposed.
  history_.seed = options.seed;
  if (!is_exhaustive_ && options.make_strategy) {
    strategy_ = Naming("SearchOptions::make_strategy", [&] { return options.make_strategy(StrategySpaceOf(configs)); });
  }
  if (strategy_ != nullptr) return;
  if (is_exhaustive_ && !may_be_cut_short_) {
    strategy_ = std::make_unique<ExhaustiveStrategy>(configs.size());
  } else if (is_exhaustive_ || options.strategy == Strategy::kRandom) {
    // What a budget lets an exhaustive search measure is a fair sample.
    strategy_ = std::make_unique<RandomStrategy>(configs.size());
  } else {
    strategy_ = std::make_unique<GuidedStrategy>(StrategySpaceOf(configs));
  }
}

std::vector<std::size_t> StrategyRun::NextPart(std::size_t batch_size) {
  const std::size_t most =
      may_be_cut_short_ ? std::min(kMostInPart, batch_size) : std::max<std::size_t>(1, num_configs_);
  // With the same history, a larger proposal begins with the smaller one.
  if (num_returned_ == order_.size() && order_.size() == history_.batch_size) {
    history_.batch_size = std::max(most, 4 * order_.size());
    order_ = strategy_->Propose(history_).configs;
  }
  const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(num_returned_);
  const std::size_t num_in_part = std::min(order_.size() - num_returned_, most);
  num_returned_ += num_in_part;
  return {begin, begin + static_cast<std::ptrdiff_t>(num_in_part)};
}

std::vector<std::size_t> StrategyRun::Next(std::size_t batch_size) {
  if (is_exhaustive_) return NextPart(batch_size);
  history_.batch_size = batch_size;
  Proposal proposal = Naming("the search strategy", [&] { return strategy_->Propose(history_); });
  expected_gain_ = proposal.expected_gain;
  if (proposal.should_stop()) return {};
  // Only a host's strategy proposes what cannot be tried.
  std::set<std::size_t> taken;
  for (const StrategyTrial& trial : history_.trials) taken.insert(trial.config);
  std::vector<std::size_t> batch;
  for (std::size_t config : proposal.configs) {
    if (config < num_configs_ && taken.insert(config).second) {
      batch.push_back(config);
    } else {
      ++num_refused_;
    }
  }
  batch.resize(std::min(batch.size(), batch_size));
  return batch;
}

}  // namespace v0
}  // namespace tuneonce
