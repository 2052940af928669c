#include "search/proposed_configs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// |log2(a / b)|; 0 where one of them is nothing to compare.
double Apart(std::int64_t a, std::int64_t b) {
  if (a <= 0 || b <= 0) return 0;
  return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

std::int64_t ValueOf(const Config& config, const std::string& axis) {
  const AxisValue* value = config.Find(axis);
  const std::int64_t* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return number == nullptr ? 0 : *number;
}

double Distance(const Config& config, const MatmulParts& parts, const MatmulProposal& proposal) {
  constexpr double kWeightOfSchedule = 0.125;
  auto apart = [&](const std::string& axis, std::int64_t proposed) { return Apart(ValueOf(config, axis), proposed); };
  return apart(parts.tile_m, proposal.tile_m) + apart(parts.tile_n, proposal.tile_n) +
         apart(parts.tile_k, proposal.tile_k) +
         kWeightOfSchedule *
             (apart(parts.num_stages, proposal.num_stages) + apart(parts.num_warps, proposal.num_warps) +
              apart(parts.split_k, proposal.split_k) + apart(parts.num_ctas, proposal.num_ctas));
}

MatmulProblem MatmulOf(const KernelDefinition& definition, const MatmulParts& parts, const Problem& problem) {
  MatmulProblem matmul;
  matmul.m = problem[definition.DimOf(parts.m)];
  matmul.n = problem[definition.DimOf(parts.n)];
  matmul.k = problem[definition.DimOf(parts.k)];
  if (!parts.batch.empty()) matmul.batch = problem[definition.DimOf(parts.batch)];
  matmul.a_is_transposed = parts.a_is_transposed;
  matmul.b_is_transposed = parts.b_is_transposed;
  auto dtype = [&](const std::string& tensor) { return problem.dtypes[*definition.FindParameter(tensor)]; };
  matmul.a = dtype(parts.a);
  matmul.b = dtype(parts.b);
  matmul.c = dtype(parts.c);
  return matmul;
}

Result<std::vector<MatmulProposal>> Ask(const Environment& environment, const MatmulProblem& problem,
                                        const DeviceIdentity& device, int most, std::string* version) {
  TUNEONCE_ASSIGN_OR_RETURN(MatmulHeuristics model, MatmulHeuristics::Load(environment));
  *version = model.version();
  return model.Propose(problem, device, most);
}

}  // namespace

std::vector<Config> NearestTo(const std::vector<MatmulProposal>& proposals, const MatmulParts& parts,
                              const std::vector<Config>& configs, std::size_t most) {
  std::vector<std::tuple<double, std::size_t, std::size_t>> ranked;  // Distance, proposal, place in `configs`.
  for (std::size_t i = 0; i < configs.size(); ++i) {
    std::pair<double, std::size_t> nearest(HUGE_VAL, 0);
    for (std::size_t p = 0; p < proposals.size(); ++p) {
      nearest = std::min(nearest, {Distance(configs[i], parts, proposals[p]), p});
    }
    ranked.emplace_back(nearest.first, nearest.second, i);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(std::min(most, ranked.size()));
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return std::get<2>(a) < std::get<2>(b); });
  std::vector<Config> nearest;
  for (const auto& each : ranked) nearest.push_back(configs[std::get<2>(each)]);
  return nearest;
}

ProposedConfigs ProposeConfigs(const KernelDefinition& definition, const Problem& problem, const DeviceIdentity& device,
                               std::vector<Config> configs, const std::optional<Config>& baseline, int max_proposed,
                               const Environment& environment) {
  const std::optional<MatmulParts>& parts = definition.matmul();
  const bool is_asked = parts && max_proposed > 0 && configs.size() > static_cast<std::size_t>(max_proposed);
  if (!is_asked || device.is_cpu_device) return ProposedConfigs{std::move(configs), ""};
  std::string version;
  Result<std::vector<MatmulProposal>> proposals =
      Ask(environment, MatmulOf(definition, *parts, problem), device, max_proposed, &version);
  if (!proposals.ok()) {
    return ProposedConfigs{std::move(configs), absl::StrCat("all configs are tried: ", proposals.status().message())};
  }
  std::vector<Config> tried = NearestTo(*proposals, *parts, configs, static_cast<std::size_t>(max_proposed));
  if (baseline && std::find(tried.begin(), tried.end(), *baseline) == tried.end()) tried.push_back(*baseline);
  std::string note = absl::StrCat("only ", tried.size(), " of ", configs.size(),
                                  " configs are tried: those nearest to the proposals of nvMatmulHeuristics ", version,
                                  ", and the baseline (SearchOptions::max_proposed)");
  return ProposedConfigs{std::move(tried), std::move(note)};
}

}  // namespace v0
}  // namespace tuneonce
