#include "tuneonce/bundle.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/environment.h"
#include "base/file.h"
#include "bundle/bundle_artifacts.h"
#include "bundle/bundle_descriptor.h"
#include "bundle/bundle_files.h"
#include "bundle/bundle_fill.h"
#include "bundle/bundle_folders.h"
#include "bundle/bundle_key.h"
#include "bundle/bundle_matmul.h"
#include "bundle/bundle_space.h"
#include "bundle/bundle_term.h"
#include "bundle/bundle_variant.h"
#include "bundle/manifest.h"
#include "bundle/precompiled_bundle.h"
#include "definition/compiler_option.h"
#include "definition/fill_bytes.h"
#include "launch/assumption.h"
#include "launch/parameter_block.h"
#include "launch/source_parameters.h"

namespace tuneonce {
inline namespace v0 {

/// Reads one manifest. A class only because the parts share the definition that grows, and the way to the files.
class BundleReader {
 public:
  BundleReader(BundleFiles files, std::shared_ptr<const PrecompiledBundle> precompiled)
      : files_(std::move(files)), precompiled_(std::move(precompiled)) {
    if (precompiled_ != nullptr) files_.SetWithheld(precompiled_->withheld());
  }

  Result<Bundle> Read(const ManifestNode& root) {
    TUNEONCE_RETURN_IF_ERROR(
        root.CheckFields({"tuneonce_bundle", "name",      "version",        "dims",    "key",
                          "parameters",      "space",     "axes",           "configs", "max_configs",
                          "baseline",        "fallback",  "target_filters", "guards",  "variants",
                          "tolerance",       "unordered", "work",           "matmul",  "example"}));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* format, root.Get("tuneonce_bundle"));
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t version, format->Int());
    if (version != kFormat) {
      return format->Error(absl::StrCat("this is format ", version, "; this tuneonce reads format ", kFormat,
                                        version > kFormat ? ": update tuneonce" : ": export the bundle again"));
    }
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* name, root.Get("name"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string kernel, name->String());
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* kernel_version, root.Get("version"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string version_text, kernel_version->String());
    KernelDefinition definition = KernelDefinition(kernel).Version(version_text);
    TUNEONCE_ASSIGN_OR_RETURN(space_, BundleSpace::Read(root));
    SearchSpace unfiltered = space_.space();
    TUNEONCE_RETURN_IF_ERROR(ReadGuards(space_, root, &unfiltered));
    definition.DimsInOrder(space_.dims()).Space(std::move(unfiltered));
    TUNEONCE_RETURN_IF_ERROR(ReadParameters(root, &definition));
    TUNEONCE_RETURN_IF_ERROR(ReadKey(space_, root, &definition));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* variants, root.Get("variants"));
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, variants->Array(kMostVariants));
    for (const ManifestNode& each : *list) {
      TUNEONCE_ASSIGN_OR_RETURN(BundleVariant variant, ReadVariant(space_, each, &files_));
      variant.artifacts->precompiled = precompiled_;
      definition.AddVariant(variant.variant);
      variants_.push_back(std::move(variant));
    }
    TUNEONCE_RETURN_IF_ERROR(ReadVerification(root, &definition));
    TUNEONCE_RETURN_IF_ERROR(ReadWork(root, &definition));
    if (const ManifestNode* matmul = root.Find("matmul")) {
      TUNEONCE_ASSIGN_OR_RETURN(MatmulParts parts, ReadMatmul(*matmul));
      definition.Matmul(std::move(parts));
    }
    if (Status valid = ValidateForLaunch(definition); !valid.ok()) return root.Error(valid.message());
    TUNEONCE_RETURN_IF_ERROR(CheckArtifacts(root, definition));
    SearchSpace space = definition.space();  // What Validate resolved in it stays.
    TUNEONCE_RETURN_IF_ERROR(space_.ReadTargetFilters(root, &space));
    TUNEONCE_RETURN_IF_ERROR(
        space_.CheckCount(root, space, [&](const Target& target) { return definition.VariantsFor(target).ok(); }));
    definition.Space(std::move(space));  // Only now: the artifacts of all targets were looked for.
    if (precompiled_ != nullptr) {
      TUNEONCE_ASSIGN_OR_RETURN(std::string selections, precompiled_->ReadSelections());
      definition.ShippedSelections(std::move(selections));
    }
    Bundle bundle(std::move(definition));
    bundle.check_sources_ = SourcesCheck();
    TUNEONCE_RETURN_IF_ERROR(ReadExample(root, *bundle.definition_, &bundle.example_));
    return bundle;
  }

 private:
  static constexpr std::int64_t kFormat = 1;
  // Beyond what a kernel has.
  static constexpr std::size_t kMostVariants = 32;

  static Result<DType> ReadDType(const ManifestNode& node) {
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, node.String());
    std::optional<DType> dtype = DTypeNamed(name);
    if (!dtype) return node.Error("unknown dtype '" + name + "'; use float16, bfloat16, int32, ...");
    return *dtype;
  }

  // --- parameters and key

  Status ReadParameters(const ManifestNode& root, KernelDefinition* definition) {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* node, root.Get("parameters"));
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, node->Array(kMaxParameters));
    std::vector<Parameter> parameters;
    for (const ManifestNode& each : *list) {
      TUNEONCE_ASSIGN_OR_RETURN(Parameter parameter, ReadParameter(each));
      parameters.push_back(std::move(parameter));
    }
    definition->Parameters(std::move(parameters));
    return Status();
  }

  static Status RefuseOutputFields(const ManifestNode& node) {
    for (const char* field : {"may_be_partial", "tolerance"}) {
      if (const ManifestNode* given = node.Find(field)) {
        return given->Error(std::string(field) + " is only for outputs, which are tensors with access out or inout");
      }
    }
    return Status();
  }

  Result<Parameter> ReadParameter(const ManifestNode& node) const {
    TUNEONCE_ASSIGN_OR_RETURN(Parameter parameter, ReadParameterItself(node));
    if (parameter.kind == ParameterKind::kTensor) TUNEONCE_RETURN_IF_ERROR(ReadPointers(node, &parameter));
    const ManifestNode* warmup = node.Find("warmup");
    if (warmup == nullptr) return parameter;
    TUNEONCE_ASSIGN_OR_RETURN(parameter.warmup, ReadWarmupFill(space_, *warmup));
    if (Status fits = CheckWarmupFill(parameter, space_.dims()); !fits.ok()) return warmup->Error(fits.message());
    return parameter;
  }

  Result<Parameter> ReadParameterItself(const ManifestNode& node) const {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* kind_node, node.Get("kind"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string kind, kind_node->String());
    DType dtype = DType::kAny;
    if (const ManifestNode* dtype_node = node.Find("dtype")) {
      TUNEONCE_ASSIGN_OR_RETURN(dtype, ReadDType(*dtype_node));
    }
    if (kind == "tensor") return ReadTensor(node, dtype);
    TUNEONCE_RETURN_IF_ERROR(RefuseOutputFields(node));
    if (kind == "dim") {
      TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"kind", "dim", "dtype"}));
      TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* dim_node, node.Get("dim"));
      TUNEONCE_ASSIGN_OR_RETURN(Dim dim, space_.FindDim(*dim_node));
      return DimValue(space_.dims()[static_cast<std::size_t>(dim.index)], dtype == DType::kAny ? DType::kInt32 : dtype);
    }
    if (kind == "stride") return ReadStride(node, dtype == DType::kAny ? DType::kInt32 : dtype);
    if (kind == "derived") return ReadDerived(node, dtype == DType::kAny ? DType::kInt32 : dtype);
    if (kind == "workspace") return ReadWorkspace(node, dtype);
    if (kind == "descriptor") return ReadDescriptor(space_, node);
    if (kind != "scalar") {
      return kind_node->Error("expected tensor, scalar, dim, stride, derived, workspace or descriptor, got '" + kind +
                              "'");
    }
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "kind", "dtype", "warmup"}));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* name_node, node.Get("name"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, name_node->String());
    if (dtype == DType::kAny) return node.Error("a scalar needs a dtype");
    return Scalar(name, dtype);
  }

  /// "by_pointers": true, "varying": ["M"].
  static Status ReadPointers(const ManifestNode& node, Parameter* tensor) {
    const ManifestNode *by_pointers = node.Find("by_pointers"), *varying = node.Find("varying");
    if (by_pointers != nullptr) {
      TUNEONCE_ASSIGN_OR_RETURN(tensor->by_pointers, by_pointers->Bool());
    }
    if (varying == nullptr) return Status();
    if (!tensor->by_pointers) return varying->Error("\"varying\" is only for tensors with \"by_pointers\"");
    TUNEONCE_ASSIGN_OR_RETURN(tensor->varying, varying->Strings(kMaxRank));
    return Status();
  }

  /// ["N", 4]: a dim's name or a constant for each dimension.
  Result<std::vector<std::string>> ReadShape(const ManifestNode& node) const {
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, node.Array(kMaxRank));
    if (list->empty()) return node.Error("a tensor needs at least one dim");
    std::vector<std::string> shape;
    for (const ManifestNode& each : *list) {
      if (each.kind() == ManifestNode::Kind::kInt) {
        TUNEONCE_ASSIGN_OR_RETURN(std::int64_t constant, each.Int());
        if (constant < 1) return each.Error("a constant extent must be a whole number of at least 1");
        shape.push_back(DeclaredExtent(constant).text);
        continue;
      }
      TUNEONCE_ASSIGN_OR_RETURN(std::string dim, each.String());
      TUNEONCE_RETURN_IF_ERROR(space_.FindDim(node, dim).status());
      shape.push_back(std::move(dim));
    }
    return shape;
  }

  Result<Parameter> ReadTensor(const ManifestNode& node, DType dtype) const {
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "kind", "access", "dtype", "same_dtype_as", "dims",
                                               "by_pointers", "varying", "may_be_partial", "tolerance", "warmup"}));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* name_node, node.Get("name"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, name_node->String());
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* dims_node, node.Get("dims"));
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::string> dims, ReadShape(*dims_node));
    DeclaredDType declared = dtype;
    if (const ManifestNode* same = node.Find("same_dtype_as")) {
      if (dtype != DType::kAny) return same->Error("a tensor takes \"dtype\" or \"same_dtype_as\", but not both");
      TUNEONCE_ASSIGN_OR_RETURN(std::string other, same->String());
      declared = SameDTypeAs(other);
    }
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* access_node, node.Get("access"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string access, access_node->String());
    if (access == "in") {
      TUNEONCE_RETURN_IF_ERROR(RefuseOutputFields(node));
      return In(name, declared, dims);
    }
    if (access != "out" && access != "inout") {
      return access_node->Error("expected in, out or inout, got '" + access + "'");
    }
    Parameter output = access == "out" ? Out(name, declared, dims) : InOut(name, declared, dims);
    if (const ManifestNode* partial = node.Find("may_be_partial")) {
      TUNEONCE_ASSIGN_OR_RETURN(output.may_be_partial, partial->Bool());
    }
    if (const ManifestNode* tolerance = node.Find("tolerance")) {
      TUNEONCE_ASSIGN_OR_RETURN(output.tolerance, ReadTolerance(*tolerance));
    }
    return output;
  }

  /// {"kind": "stride", "tensor": "x", "dimension": 0}, and perhaps a name and a dtype.
  static Result<Parameter> ReadStride(const ManifestNode& node, DType dtype) {
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "kind", "tensor", "dimension", "dtype"}));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* tensor_node, node.Get("tensor"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string tensor, tensor_node->String());
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* dimension_node, node.Get("dimension"));
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t dimension, dimension_node->Int());
    if (dimension < 0 || dimension >= kMaxRank)
      return dimension_node->Error(absl::StrCat("dimension ", dimension, " is not within 0 to ", kMaxRank - 1));
    Parameter parameter = StrideValue(std::move(tensor), static_cast<int>(dimension), dtype);
    if (const ManifestNode* name = node.Find("name")) {
      TUNEONCE_ASSIGN_OR_RETURN(parameter.name, name->String());
    }
    return parameter;
  }

  static Result<std::string> ReadName(const ManifestNode& node) {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* name, node.Get("name"));
    return name->String();
  }

  /// {"name": "num_tiles", "kind": "derived", "value": TERM}, and perhaps a dtype.
  Result<Parameter> ReadDerived(const ManifestNode& node, DType dtype) const {
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "kind", "dtype", "value"}));
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, ReadName(node));
    TUNEONCE_ASSIGN_OR_RETURN(Term value, ReadTermField(space_, node, "value"));
    return Derived(std::move(name), std::move(value), dtype);
  }

  /// {"name": "scratch", "kind": "workspace", "bytes": TERM}, or a dtype and "elements".
  Result<Parameter> ReadWorkspace(const ManifestNode& node, DType dtype) const {
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "kind", "bytes", "dtype", "elements"}));
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, ReadName(node));
    if (node.Find("bytes") != nullptr) {
      TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "kind", "bytes"}));
      TUNEONCE_ASSIGN_OR_RETURN(Term bytes, ReadTermField(space_, node, "bytes"));
      return Workspace(std::move(name), std::move(bytes));
    }
    TUNEONCE_ASSIGN_OR_RETURN(Term elements, ReadTermField(space_, node, "elements"));
    if (dtype == DType::kAny)
      return node.Error("a workspace with \"elements\" needs a \"dtype\", or its size as \"bytes\"");
    return Workspace(std::move(name), Term(static_cast<std::int64_t>(DTypeBytes(dtype))) * std::move(elements));
  }

  /// Each option axis means something to some variant's compiler: else it only multiplies the configs.
  Status CheckOptionAxes(const ManifestNode& root, const Config& config) const {
    for (std::size_t i = 0; i < config.values().size(); ++i) {
      if (config.Kind(i) != AxisKind::kOption) continue;
      TUNEONCE_ASSIGN_OR_RETURN(const CompilerOption* option, FindCompilerOption(config.AxisName(i)));
      bool is_taken = std::any_of(variants_.begin(), variants_.end(), [&](const BundleVariant& variant) {
        return TakesOption(variant.artifacts->kind, *option);
      });
      if (is_taken) continue;
      return root.Find("axes")->Error("no variant's compiler takes the option '" + config.AxisName(i) + "'");
    }
    return Status();
  }

  /// Each config has hints that some target takes, and exactly one artifact in each variant that may build it.
  Status CheckArtifacts(const ManifestNode& root, const KernelDefinition& definition) {
    // Without target filters and guards of one device: every config that there is anywhere.
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> everywhere, space_.ConfigsWhere(TargetFilter(), definition.space()));
    TUNEONCE_RETURN_IF_ERROR(CheckOptionAxes(root, everywhere.front()));
    for (const BundleVariant& variant : variants_) {
      std::vector<Config> its;
      if (space_.is_named()) {
        TUNEONCE_ASSIGN_OR_RETURN(its, space_.ConfigsWhere(variant.variant.runs_on, definition.space()));
      }
      for (const Config& config : space_.is_named() ? its : everywhere) {
        const AxisValue* backend = config.Find("backend");
        const std::string* named = backend == nullptr ? nullptr : std::get_if<std::string>(backend);
        if (named != nullptr && *named != variant.variant.BackendName()) continue;
        if (IsTile(variant.artifacts->kind)) {
          Status hints = Hints::OfConfig(config).Check();
          if (!hints.ok()) {
            return variant.node->Error(absl::StrCat("the config {", config.ToString(), "}: ", hints.message()));
          }
        }
        KernelSource macros = variant.artifacts->WithDefines(KernelSource(), config);
        if (!macros.Check().ok()) return variant.node->Error(macros.Check().message());
        std::size_t matching = variant.artifacts->Count(config);
        if (matching != 1) {
          return variant.node->Error(
              absl::StrCat("the config {", config.ToString(), "} has ", matching, " artifacts; it needs exactly one"));
        }
      }
    }
    return Status();
  }

  /// Bundle::CheckSources.
  std::function<Status(const KernelDefinition&, std::vector<std::string>*)> SourcesCheck() const {
    std::vector<std::shared_ptr<const BundleArtifacts>> all;
    for (const BundleVariant& variant : variants_) all.push_back(variant.artifacts);
    return [all](const KernelDefinition& definition, std::vector<std::string>* warnings) -> Status {
      for (std::size_t i = 0; i < all.size(); ++i) {
        const Variant& variant = definition.variants()[i];
        TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout,
                                  ParameterLayout::Create(definition, variant.convention, variant.parameters));
        for (const BundleArtifact& artifact : all[i]->list()) {
          const std::string where = "variant '" + variant.name + "'";
          const KernelSource source = all[i]->SourceOf(artifact);
          TUNEONCE_RETURN_IF_ERROR(CheckSource(layout, source).WithPrefix(where));
          if (warnings == nullptr || source.withheld != nullptr) continue;
          if (!MentionsKernel(source)) {
            warnings->push_back(absl::StrCat(where, ": ", source.file, ": its text does not mention the kernel '",
                                             source.symbol,
                                             "'; unless a macro or an included file defines it, it does "
                                             "not compile"));
          }
          if (Status names = CompareNamesInCpp(layout, source); !names.ok()) {
            warnings->push_back(absl::StrCat(where, ": ", names.message()));
          }
        }
      }
      return Status();
    };
  }

  // --- verification, work, example

  static Result<Tolerance> ReadTolerance(const ManifestNode& node) {
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"absolute", "relative", "ulps"}));
    Tolerance tolerance;
    for (auto [field, value] : {std::pair("absolute", &tolerance.absolute), std::pair("relative", &tolerance.relative),
                                std::pair("ulps", &tolerance.ulps)}) {
      const ManifestNode* given = node.Find(field);
      if (given == nullptr) continue;
      TUNEONCE_ASSIGN_OR_RETURN(*value, given->Number());
      if (!(*value >= 0)) return given->Error("a tolerance must not be negative");
    }
    return tolerance;
  }

  static Status ReadVerification(const ManifestNode& root, KernelDefinition* definition) {
    if (const ManifestNode* node = root.Find("tolerance")) {
      TUNEONCE_ASSIGN_OR_RETURN(Tolerance tolerance, ReadTolerance(*node));
      definition->VerifyWithin(tolerance);
    }
    if (const ManifestNode* node = root.Find("unordered")) {
      TUNEONCE_ASSIGN_OR_RETURN(bool unordered, node->Bool());
      if (unordered) definition->Unordered();
    }
    return Status();
  }

  Result<KernelDefinition::WorkFn> ReadWorkField(const ManifestNode& work, std::string_view field) const {
    const ManifestNode* node = work.Find(field);
    if (node == nullptr) return KernelDefinition::WorkFn();
    TUNEONCE_ASSIGN_OR_RETURN(Term term, ReadTerm(space_, *node));
    if (!term.IsOfArguments()) return node->Error("the work of a run may depend on dims and scalars, but not on axes");
    return KernelDefinition::WorkFn([term](const Problem& problem) {
      Result<std::int64_t> value = term.Evaluate(Config(), problem);
      if (!value.ok()) throw StatusException{value.status()};
      return static_cast<double>(*value);
    });
  }
  Status ReadWork(const ManifestNode& root, KernelDefinition* definition) const {
    const ManifestNode* node = root.Find("work");
    if (node == nullptr) return Status();
    TUNEONCE_RETURN_IF_ERROR(node->CheckFields({"bytes", "operations"}));
    TUNEONCE_ASSIGN_OR_RETURN(KernelDefinition::WorkFn bytes, ReadWorkField(*node, "bytes"));
    TUNEONCE_ASSIGN_OR_RETURN(KernelDefinition::WorkFn operations, ReadWorkField(*node, "operations"));
    definition->Work(std::move(bytes), std::move(operations));
    return Status();
  }

  Status ReadExample(const ManifestNode& root, const KernelDefinition& definition, Bundle::Example* example) const {
    auto check_parameter = [&](const ManifestNode& value, const std::string& name) -> Status {
      return definition.FindParameter(name) ? Status() : value.Error("the bundle has no parameter '" + name + "'");
    };
    const ManifestNode* node = root.Find("example");
    if (node == nullptr) return Status();
    TUNEONCE_RETURN_IF_ERROR(node->CheckFields({"dims", "cpu_dims", "dtypes", "scalars"}));
    for (auto [field, values] : {std::pair("dims", &example->dims), std::pair("cpu_dims", &example->cpu_dims)}) {
      const ManifestNode* dims = node->Find(field);
      if (dims == nullptr) continue;
      TUNEONCE_ASSIGN_OR_RETURN(auto members, dims->Object());
      for (const auto& [name, value] : *members) {
        TUNEONCE_RETURN_IF_ERROR(space_.FindDim(value, name).status());
        TUNEONCE_ASSIGN_OR_RETURN((*values)[name], value.Int());
      }
    }
    if (const ManifestNode* dtypes = node->Find("dtypes")) {
      TUNEONCE_ASSIGN_OR_RETURN(auto members, dtypes->Object());
      for (const auto& [name, value] : *members) {
        TUNEONCE_RETURN_IF_ERROR(check_parameter(value, name));
        TUNEONCE_ASSIGN_OR_RETURN(example->dtypes[name], ReadDType(value));
      }
    }
    if (const ManifestNode* scalars = node->Find("scalars")) {
      TUNEONCE_ASSIGN_OR_RETURN(auto members, scalars->Object());
      for (const auto& [name, value] : *members) {
        TUNEONCE_RETURN_IF_ERROR(check_parameter(value, name));
        TUNEONCE_ASSIGN_OR_RETURN(example->scalars[name], value.Number());
      }
    }
    return Status();
  }

  BundleFiles files_;
  std::shared_ptr<const PrecompiledBundle> precompiled_;
  BundleSpace space_;
  std::vector<BundleVariant> variants_;
};

std::vector<std::string> Bundle::NamesIn(const Environment& environment) {
  return BundleFolders::Of(environment).Names();
}

Result<Bundle> Bundle::LoadIn(const Environment& environment, const std::string& folder_or_name) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string folder, BundleFolders::Of(environment).Find(folder_or_name));
  std::string manifest = folder + "/manifest.json";
  TUNEONCE_ASSIGN_OR_RETURN(BundleFiles files, BundleFiles::Open(folder));
  Result<std::string> text = ReadFile(manifest, ManifestNode::kMostBytes);
  if (text.status().code() == StatusCode::kNotFound) {
    return NotFoundError("'" + folder + "' is not a bundle: it has no manifest.json");
  }
  TUNEONCE_RETURN_IF_ERROR(text.status());
  TUNEONCE_ASSIGN_OR_RETURN(auto node, ManifestNode::Parse(*text, manifest));
  TUNEONCE_ASSIGN_OR_RETURN(auto precompiled, PrecompiledBundle::Read(files));
  return BundleReader(std::move(files), std::move(precompiled)).Read(*node);
}

Result<Bundle> Bundle::Load(const EmbeddedBundle& embedded) {
  BundleFiles files(embedded);
  std::string where = std::string("(embedded ") + embedded.name + ")/manifest.json";
  auto text = files.Read("manifest.json", ManifestNode::kMostBytes);
  if (text.status().code() == StatusCode::kNotFound)
    return NotFoundError(where + ": the manifest was not embedded into this program");
  TUNEONCE_RETURN_IF_ERROR(text.status().WithPrefix(where));
  TUNEONCE_ASSIGN_OR_RETURN(auto node, ManifestNode::Parse(**text, where));
  TUNEONCE_ASSIGN_OR_RETURN(auto precompiled, PrecompiledBundle::Read(files));
  return BundleReader(std::move(files), std::move(precompiled)).Read(*node);
}

}  // namespace v0
}  // namespace tuneonce
