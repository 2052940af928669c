// Variants of C++ sources and of files, and what the sources depend on. Variants of Tile IR files
// are in tile_ir/tile_ir_files.cc.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/file.h"
#include "definition/compiler_option.h"
#include "definition/source_identity.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// The axis that names a variant (Variant's comment): no part of its code.
constexpr char kBackendAxis[] = "backend";

/// The source with the config's structural axes as macros: all, or those in `axes`. In its symbol an axis in braces
/// becomes its value.
KernelSource WithMacros(KernelSource source, const Config& config,
                        const std::optional<std::vector<std::string>>& axes) {
  for (std::size_t i = 0; i < config.values().size(); ++i) {
    const std::string& name = config.AxisName(i);
    bool is_macro = axes ? std::find(axes->begin(), axes->end(), name) != axes->end()
                         : config.Kind(i) == AxisKind::kStructural && name != kBackendAxis;
    if (is_macro) source.Define(name, config.values()[i]);
  }
  if (source.symbol.find('{') != std::string::npos) {
    Result<std::string> symbol = ExpandAxes(source.symbol, config);
    if (!symbol.ok()) source.NoteMistake(symbol.status().message());
    if (symbol.ok()) source.symbol = *std::move(symbol);
  }
  return source;
}

/// `inner` with a change of each source, whose fingerprint is `change`. The result is identified if `inner` is.
template <typename Change>
Variant::SourceFn Changed(Variant::SourceFn inner, const Fingerprint& change, Change apply) {
  const auto* identified = inner.target<IdentifiedSource>();
  std::function<Fingerprint()> identity;
  if (identified != nullptr) {
    identity = [of_inner = identified->identity, change] {
      return Fingerprinter().Add(of_inner()).Add(change).Finish();
    };
  }
  auto whole = [inner = std::move(inner), apply = std::move(apply)](const Config& config, const Problem& problem) {
    KernelSource made = inner(config, problem);
    apply(&made);
    return made;
  };
  if (!identity) return whole;
  return IdentifiedSource{std::move(whole), std::move(identity)};
}

bool IsFor(const Precompiled& kernel, const Config& config) {
  return std::all_of(kernel.config.begin(), kernel.config.end(), [&](const AxisAssignment& given) {
    auto index = static_cast<std::size_t>(given.index);
    return given.space_id == config.space_id() && index < config.values().size() &&
           IsSameValue(given.value, config.values()[index]);
  });
}

/// Extents with which a source is made again: the least one, an odd one, a multiple of no power of two that is large, a
/// power of two, and one above most thresholds. A function whose result is the same for all of them and differs for
/// another one is not noticed.
constexpr std::array<std::int64_t, 5> kOtherExtents = {1, 97, 1000, 4096, 1 << 20};

/// Returns the fingerprint of the source with this extent of `dim`, or of all dims that the key does not decide if
/// `dim` is null. An exception counts as a result of its own.
std::optional<Fingerprint> SourceWith(const Variant& variant, const Config& config, Problem problem,
                                      const std::vector<Dim>& dims, std::int64_t extent) {
  for (Dim dim : dims) problem.dims[dim] = extent;
  Result<KernelSource> made = CallUser("a source function", [&] { return variant.MakeSource(config, problem); });
  if (!made.ok()) return std::nullopt;
  return made->Fingerprint();
}

bool Depends(const Variant& variant, const Config& config, const Problem& problem, const std::vector<Dim>& dims,
             const Fingerprint& made) {
  for (std::int64_t extent : kOtherExtents) {
    const std::optional<Fingerprint> other = SourceWith(variant, config, problem, dims, extent);
    if (!other || !(*other == made)) return true;
  }
  return false;
}

}  // namespace

bool Variant::IsBackendOf(const Config& config) const {
  const AxisValue* value = config.Find(kBackendAxis);
  const std::string* named = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return named == nullptr || *named == BackendName();
}

Variant& Variant::Requires(Condition condition) {
  for (Condition& part : condition.Conjuncts()) {
    if (std::optional<Assumption> assumption = part.AsAssumption()) {
      assumptions.push_back(*std::move(assumption));
    } else {
      requirement = requirement.IsAlways() ? std::move(part) : std::move(requirement) && std::move(part);
    }
  }
  return *this;
}

Variant& Variant::Include(const std::string& folder) {
  const std::string path = AbsolutePath(folder);
  const Fingerprint change = Fingerprinter().Add("folder").Add(path).Finish();
  source = Changed(std::move(source), change, [path](KernelSource* made) { made->Include(path); });
  return *this;
}

Variant& Variant::Header(std::string header_name, std::string text) {
  const Fingerprint change = Fingerprinter().Add("header").Add(header_name).AddInLanes(text).Finish();
  source = Changed(
      std::move(source), change,
      [name = std::move(header_name), text = std::move(text)](KernelSource* made) { made->Header(name, text); });
  return *this;
}

KernelSource Variant::MakeSource(const Config& config, const Problem& problem) const {
  KernelSource made = source(config, problem);
  for (const TypeMacro& type : types) {
    if (!type.axis) {
      made.DefineType(type.macro, problem.dtype(type.parameter));
      continue;
    }
    std::string value = config[*type.axis];
    std::optional<DType> dtype = DTypeNamed(value);
    dtype ? made.DefineType(type.macro, *dtype) : made.Define(type.macro, value);
  }
  AddAxisOptions(config, &made);
  return made;
}

bool IsIdentified(const Variant& variant) {
  const bool has_hints_of_config = variant.hints.target<HintsOfAxes>() != nullptr || !variant.hints;
  return variant.source.target<IdentifiedSource>() != nullptr && has_hints_of_config;
}

Fingerprint VariantFingerprint(const Variant& variant, const std::vector<Config>& configs, const Problem& problem) {
  const auto* identified = variant.source.target<IdentifiedSource>();
  const auto* of_axes = variant.hints.target<HintsOfAxes>();
  Fingerprinter fingerprinter;
  fingerprinter.Add(variant.BackendName());
  if (identified != nullptr) {
    fingerprinter.Add(identified->identity()).Add(variant.types.size());
    for (const Variant::TypeMacro& type : variant.types) {
      fingerprinter.Add(type.macro);
      type.axis ? fingerprinter.Add(std::uint64_t{1}).Add(static_cast<std::uint64_t>(type.axis->index()))
                : fingerprinter.Add(std::uint64_t{0}).Add(DTypeName(problem.dtype(type.parameter)));
    }
  }
  if (of_axes != nullptr) fingerprinter.Add(std::uint64_t{of_axes->are_taken ? 1u : 0u});
  const bool has_hints_of_config = of_axes != nullptr || !variant.hints;  // The config decides them.
  if (IsIdentified(variant)) return fingerprinter.Finish();
  for (const Config& config : configs) {
    if (!variant.IsBackendOf(config)) continue;
    if (identified == nullptr) fingerprinter.Add(variant.MakeSource(config, problem).Fingerprint());
    if (!has_hints_of_config) fingerprinter.Add(variant.hints(config).Fingerprint());
  }
  return fingerprinter.Finish();
}

Variant CppVariant(KernelSource source, std::optional<std::vector<std::string>> axes) {
  const SourceKind kind = source.kind;
  Fingerprinter identity;
  identity.Add(source.Fingerprint()).Add(std::uint64_t{axes ? 1u : 0u});
  for (const std::string& axis : axes.value_or(std::vector<std::string>())) identity.Add(axis);
  Variant variant;
  variant.source =
      IdentifiedSource{[source = std::move(source), axes = std::move(axes)](const Config& config, const Problem&) {
                         return WithMacros(source, config, axes);
                       },
                       [fingerprint = identity.Finish()] { return fingerprint; }};
  if (kind == SourceKind::kCpuCpp) return variant.Named("cpu").ForTarget(OnCpuDevice());
  if (kind == SourceKind::kCudaCpp) return variant.Named("cuda").ForTarget(OnGpu());
  // Hints of the text that no axis names stay.
  return variant.Named("tile_cpp").ForTarget(OnGpu()).HintsBy(HintsOfAxes{true});
}

Result<std::string> ExpandAxes(const std::string& pattern, const Config& config) {
  std::string text;
  std::size_t at = 0;
  for (;;) {
    std::size_t open = pattern.find('{', at);
    text.append(pattern, at, open - at);
    if (open == std::string::npos) return text;
    std::size_t close = pattern.find('}', open);
    if (close == std::string::npos)
      return InvalidArgumentError("'" + pattern + "' has an opening brace without a closing one");
    std::string axis = pattern.substr(open + 1, close - open - 1);
    const AxisValue* value = config.Find(axis);
    if (value == nullptr) {
      return InvalidArgumentError(absl::StrCat("'", pattern, "' names the axis '", axis, "', but the config {",
                                               config.ToString(), "} has no such axis"));
    }
    text += AxisValueString(*value);
    at = close + 1;
  }
}

KernelSource SourceInFile(SourceKind kind, const std::string& file_pattern, const std::string& symbol_pattern,
                          const Config& config) {
  Result<std::string> path = ExpandAxes(file_pattern, config);
  Result<std::string> symbol = ExpandAxes(symbol_pattern, config);
  if (!path.ok()) return KernelSource::None(kind, path.status());
  if (!symbol.ok()) return KernelSource::None(kind, symbol.status());
  return KernelSource::FromFile(kind, *path, *std::move(symbol));
}

Variant Cubins(std::vector<Precompiled> kernels) {
  auto find = [kernels = std::move(kernels)](const Config& config) {
    auto found =
        std::find_if(kernels.begin(), kernels.end(), [&](const Precompiled& kernel) { return IsFor(kernel, config); });
    if (found != kernels.end()) return found->source;
    return KernelSource::None(
        SourceKind::kCubin, NotFoundError("no precompiled code was given for the config {" + config.ToString() + "}"));
  };
  return Variant(std::move(find)).Named("cubin");
}

Variant Cubins(std::string file_pattern, std::string symbol) {
  auto read = [file = AbsolutePath(file_pattern), symbol = std::move(symbol)](const Config& config) {
    return SourceInFile(SourceKind::kCubin, file, symbol, config);
  };
  return Variant(std::move(read)).Named("cubin");
}

Result<KernelSource> MakeDecidedSource(const KernelDefinition& definition, const Variant& variant, const Config& config,
                                       const Problem& problem) {
  const std::string what =
      "the source function of kernel '" + definition.name() + "' at config {" + config.ToString() + "}";
  const Problem decided = definition.DecidedByKey(problem);
  TUNEONCE_ASSIGN_OR_RETURN(KernelSource made, CallUser(what, [&] { return variant.MakeSource(config, decided); }));
  const std::vector<Dim> undecided = definition.DimsUndecidedByKey();
  const bool is_of_config = variant.source.target<IdentifiedSource>() != nullptr;
  if (undecided.empty() || is_of_config || !made.Check().ok()) return made;
  const Fingerprint fingerprint = made.Fingerprint();
  if (!Depends(variant, config, decided, undecided, fingerprint)) return made;
  std::string name = definition.dims()[static_cast<std::size_t>(undecided.front().index)];
  for (Dim dim : undecided) {
    if (!Depends(variant, config, decided, {dim}, fingerprint)) continue;
    name = definition.dims()[static_cast<std::size_t>(dim.index)];
    break;
  }
  return InvalidArgumentError(absl::StrCat(
      what, " reads the dim '", name,
      "', which the key rounds or omits, so that launches with another extent would run the same code: add KeyOf(\"",
      name, "\") without a bucket to the key, or pass the dim to the kernel"));
}

}  // namespace v0
}  // namespace tuneonce
