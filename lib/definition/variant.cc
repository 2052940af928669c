// Setters of Variant, and variants of C++ sources. Those of Tile IR files are in tile_ir/tile_ir_files.cc.
#include <algorithm>
#include <optional>

#include "base/file.h"
#include "definition/compiler_option.h"
#include "definition/source_identity.h"
#include "definition/variant_files.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/kernel_definition.h"

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

Variant OfCpp(const char* name, Condition targets, KernelSource source,
              std::optional<std::vector<std::string>> axes) {
  Fingerprinter identity;
  identity.Add(source.Fingerprint()).Add(std::uint64_t{axes ? 1u : 0u});
  for (const std::string& axis : axes.value_or(std::vector<std::string>())) identity.Add(axis);
  Variant variant;
  variant.source =
      IdentifiedSource{[source = std::move(source), axes = std::move(axes)](const Config& config, const Problem&) {
                         return WithMacros(source, config, axes);
                       },
                       [fingerprint = identity.Finish()] { return fingerprint; }};
  return variant.Named(name).ForTarget(std::move(targets));
}

Variant OfTileCpp(KernelSource source, std::optional<std::vector<std::string>> axes) {
  // Hints of the text that no axis names stay.
  return OfCpp("tile_cpp", OnGpu(), std::move(source), std::move(axes)).HintsBy(HintsOfAxes{true});
}

}  // namespace

bool Variant::IsBackendOf(const Config& config) const {
  const AxisValue* value = config.Find(kBackendAxis);
  const std::string* named = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return named == nullptr || *named == BackendName();
}

Variant& Variant::Named(std::string new_name) {
  name = std::move(new_name);
  return *this;
}

Variant& Variant::Backend(std::string backend_name) {
  backend = std::move(backend_name);
  return *this;
}
Variant& Variant::ForTarget(Condition targets) {
  runs_on = std::move(targets);
  return *this;
}

Variant& Variant::Grid(GeometryFn launch_geometry) {
  launch_geometry.Default(geometry);  // Keeps a Block that was set before.
  geometry = std::move(launch_geometry);
  return *this;
}

Variant& Variant::Block(Term x, Term y, Term z) {
  geometry.Block(std::move(x), std::move(y), std::move(z));
  return *this;
}

Variant& Variant::Assuming(std::vector<Assumption> assumed) {
  assumptions = std::move(assumed);
  return *this;
}

Variant& Variant::KernelArgs(std::vector<std::string> names) {
  parameters = std::move(names);
  return *this;
}

Variant& Variant::HintsBy(HintsFn function) {
  hints = std::move(function);
  return *this;
}

Variant& Variant::Convention(CallingConvention new_convention) {
  convention = new_convention;
  return *this;
}

Variant& Variant::Include(const std::string& folder) {
  source = [inner = std::move(source), folder = AbsolutePath(folder)](const Config& config, const Problem& problem) {
    return inner(config, problem).Include(folder);
  };
  return *this;
}

Variant& Variant::Header(std::string header_name, std::string text) {
  source = [inner = std::move(source), header_name = std::move(header_name), text = std::move(text)](
               const Config& config, const Problem& problem) {
    return inner(config, problem).Header(header_name, text);
  };
  return *this;
}

Variant& Variant::DefineType(std::string macro, KeyPart of) {
  types.push_back(TypeMacro{std::move(macro), std::move(of), std::nullopt});
  return *this;
}

Variant& Variant::DefineType(std::string macro, const Axis<std::string>& of) {
  types.push_back(TypeMacro{std::move(macro), KeyPart(), of});
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
  if (identified != nullptr && has_hints_of_config) return fingerprinter.Finish();
  for (const Config& config : configs) {
    if (!variant.IsBackendOf(config)) continue;
    if (identified == nullptr) fingerprinter.Add(variant.MakeSource(config, problem).Fingerprint());
    if (!has_hints_of_config) fingerprinter.Add(variant.hints(config).Fingerprint());
  }
  return fingerprinter.Finish();
}

Variant CudaCpp(std::string content, std::string symbol) {
  return OfCpp("cuda", OnGpu(), KernelSource::CudaCpp(std::move(content), std::move(symbol)), std::nullopt);
}

Variant CudaCpp(std::string content, std::string symbol, std::vector<std::string> axes) {
  return OfCpp("cuda", OnGpu(), KernelSource::CudaCpp(std::move(content), std::move(symbol)), std::move(axes));
}

Variant CudaCppFile(const std::string& path, std::string symbol) {
  return OfCpp("cuda", OnGpu(), KernelSource::FromFile(SourceKind::kCudaCpp, path, std::move(symbol)), std::nullopt);
}

Variant TileCpp(std::string content, std::string symbol) {
  return OfTileCpp(KernelSource::TileCpp(std::move(content), std::move(symbol)), std::nullopt);
}

Variant TileCpp(std::string content, std::string symbol, std::vector<std::string> axes) {
  return OfTileCpp(KernelSource::TileCpp(std::move(content), std::move(symbol)), std::move(axes));
}

Variant TileCppFile(const std::string& path, std::string symbol) {
  return OfTileCpp(KernelSource::FromFile(SourceKind::kTileCpp, path, std::move(symbol)), std::nullopt);
}

Variant CpuCpp(std::string content, std::string symbol) {
  return OfCpp("cpu", OnCpuDevice(), KernelSource::CpuCpp(std::move(content), std::move(symbol)), std::nullopt);
}

Variant CpuCpp(std::string content, std::string symbol, std::vector<std::string> axes) {
  return OfCpp("cpu", OnCpuDevice(), KernelSource::CpuCpp(std::move(content), std::move(symbol)), std::move(axes));
}

}  // namespace v0
}  // namespace tuneonce
