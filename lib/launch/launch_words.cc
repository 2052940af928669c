#include "launch/launch_words.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "base/callback.h"
#include "definition/scalar_value.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Stands for a value that could not be computed.
constexpr std::uint64_t kNoValue = 0x6e6f2076616c7565;  // "no value"

/// The values that dims and scalars have in one probe: `first` + `step` * i for the i-th of them.
struct Probe {
  std::int64_t first;
  std::int64_t step;
};
/// Each dim and scalar has a value of its own, and those of one probe descend, so that terms that read different ones
/// differ. The values are odd: no multiples of a usual tile, so that rounding up and rounding down differ. Large tiles
/// differ at the large ones, and persistent grids, which the device limits, at the small ones.
constexpr std::array<Probe, 3> kProbes = {{{100003, 10002}, {3001, -20}, {97, 2}}};

/// Returns a positive value that fits the dtype of a scalar: `value`, or its low bits. A boolean differs between
/// probes.
std::int64_t FittingScalar(DType dtype, std::int64_t value) {
  if (dtype == DType::kBool) return (value >> 1) & 1;
  return value & (std::numeric_limits<std::int64_t>::max() >> (64 - 8 * DTypeBytes(dtype)));
}

using Words = std::vector<std::uint64_t>;

bool Takes(const Variant& variant, const std::string& name) {
  const std::vector<std::string>& taken = variant.parameters;
  return taken.empty() || std::find(taken.begin(), taken.end(), name) != taken.end();
}

void AddGeometry(const Geometry& geometry, Words* words) {
  for (const Dim3& extents : {geometry.grid, geometry.block, geometry.cluster}) {
    for (std::int64_t extent : {extents.x, extents.y, extents.z}) words->push_back(static_cast<std::uint64_t>(extent));
  }
  words->push_back(static_cast<std::uint64_t>(geometry.shared_memory_bytes));
  words->push_back(geometry.programmatic_launch ? 1 : 0);
}

void AddTerms(const std::vector<Term>& terms, const Config& config, Words* words) {
  for (const Term& term : terms) words->push_back(static_cast<std::uint64_t>(term.Value(config, Problem())));
}

}  // namespace

std::vector<std::uint64_t> LaunchWords(const KernelDefinition& definition, const Variant& variant,
                                       const ParameterLayout& layout, const Config& config, const Problem& problem) {
  Words words;
  Result<Geometry> geometry = CallUser("the geometry function", [&] { return variant.geometry(config, problem); });
  geometry.ok() ? AddGeometry(*geometry, &words) : words.push_back(kNoValue);
  for (const Parameter& parameter : definition.parameters()) {
    if (!Takes(variant, parameter.name)) continue;
    if (parameter.kind == ParameterKind::kDerived) {
      Result<std::uint64_t> word =
          CallUser("a derived parameter's function", [&] { return layout.DerivedWord(parameter, config, problem); });
      words.push_back(word.ok() ? *word : kNoValue);
    } else if (parameter.kind == ParameterKind::kDescriptor && parameter.tensor_map) {
      AddTerms(parameter.tensor_map->box, config, &words);
      AddTerms(parameter.tensor_map->element_strides, config, &words);
    }
  }
  Result<std::vector<std::size_t>> workspaces =
      CallUser("a workspace function", [&] { return layout.WorkspaceBytes(config, problem); });
  if (workspaces.ok()) {
    words.insert(words.end(), workspaces->begin(), workspaces->end());
  } else {
    words.push_back(kNoValue);
  }
  return words;
}

void AddProbedWords(const KernelDefinition& definition, const Variant& variant, const ParameterLayout& layout,
                    const Config& config, Problem problem, Fingerprinter* fingerprinter) {
  const std::vector<Parameter>& parameters = definition.parameters();
  std::vector<std::size_t> open;  // The whole scalars that have no value.
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool is_whole = parameters[i].kind == ParameterKind::kScalar && IsWhole(parameters[i].dtype);
    if (is_whole && problem.values[i] == nullptr) open.push_back(i);
  }
  std::array<std::int64_t, kMaxParameters> scalars;
  for (const Probe& probe : kProbes) {
    std::int64_t value = probe.first;
    for (int i = 0; i < problem.dims.count(); ++i, value += probe.step) problem.dims[Dim{i}] = value;
    for (std::size_t i : open) {
      scalars[i] = FittingScalar(parameters[i].dtype, value);
      problem.values[i] = &scalars[i];  // The low bytes come first on all hosts that the library supports.
      value += probe.step;
    }
    for (std::uint64_t word : LaunchWords(definition, variant, layout, config, problem)) fingerprinter->Add(word);
  }
}

bool HasFilledDescriptor(const KernelDefinition& definition, const Variant& variant) {
  return std::any_of(definition.parameters().begin(), definition.parameters().end(), [&](const Parameter& parameter) {
    return parameter.kind == ParameterKind::kDescriptor && !parameter.tensor_map && Takes(variant, parameter.name);
  });
}

}  // namespace v0
}  // namespace tuneonce
