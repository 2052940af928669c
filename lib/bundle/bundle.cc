#include "tuneonce/bundle.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/environment.h"
#include "base/file.h"
#include "bundle/bundle_artifacts.h"
#include "bundle/bundle_files.h"
#include "bundle/manifest_readers.h"
#include "bundle/precompiled_bundle.h"
#include "definition/compiler_option.h"
#include "launch/assumption.h"
#include "launch/parameter_block.h"
#include "launch/source_parameters.h"

namespace tuneonce {
inline namespace v0 {
namespace {

// Beyond what a kernel has: a part is at most each dim, dtype and value.
constexpr std::size_t kMostKeyParts = kMaxDims + kMaxParameters;

/// [1, 2, 4]
Result<std::vector<std::int64_t>> ReadValues(const ManifestNode& node) {
  return ReadList(node, KeyPart::kMostValues, [](const ManifestNode& each) { return each.Int(); });
}

/// {"dim": "M"}, {"dim": "M", "bucket": "next_pow2"}, {"dim": "M", "buckets": [1, 2, 4]} or "nearest" with a list.
Result<KeyPart> ReadKeyOfDim(const BundleSpace& space, const ManifestNode& node, const ManifestNode& dim) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"dim", "bucket", "buckets", "nearest"}));
  TUNEONCE_RETURN_IF_ERROR(space.FindDim(dim).status());
  TUNEONCE_ASSIGN_OR_RETURN(std::string name, dim.String());
  KeyPart part = KeyOf(std::move(name));
  if (const ManifestNode* bucket = node.Find("bucket")) {
    TUNEONCE_ASSIGN_OR_RETURN(std::string text, bucket->String());
    if (text != "next_pow2") return bucket->Error("expected next_pow2, got '" + text + "'");
    part = std::move(part).NextPow2();
  }
  if (const ManifestNode* buckets = node.Find("buckets")) {
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::int64_t> values, ReadValues(*buckets));
    part = std::move(part).Buckets(std::move(values));
  }
  if (const ManifestNode* nearest = node.Find("nearest")) {
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::int64_t> values, ReadValues(*nearest));
    part = std::move(part).Nearest(std::move(values));
  }
  if (Status sound = part.Check(); !sound.ok()) return node.Error(sound.message());
  return part;
}

Result<KeyPart> ReadKeyPart(const BundleSpace& space, const ManifestNode& node) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"dim", "bucket", "buckets", "nearest", "dtype_of", "value_of"}));
  if (const ManifestNode* dim = node.Find("dim")) return ReadKeyOfDim(space, node, *dim);
  if (const ManifestNode* dtype_of = node.Find("dtype_of")) {
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"dtype_of"}));
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, dtype_of->String());
    return DTypeOf(std::move(name));
  }
  if (const ManifestNode* value_of = node.Find("value_of")) {
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"value_of"}));
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, value_of->String());
    return ValueOf(std::move(name));
  }
  return node.Error("expected one of the fields dim, dtype_of and value_of");
}

/// Reads the manifest's "key", if it has one: a list of {"dim"}, with "bucket", "buckets" or "nearest", {"dtype_of"}
/// and {"value_of"}.
Status ReadKey(const BundleSpace& space, const ManifestNode& root, KernelDefinition* definition) {
  const ManifestNode* node = root.Find("key");
  if (node == nullptr) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<KeyPart> parts, ReadList(*node, kMostKeyParts, [&](const ManifestNode& each) {
                              return ReadKeyPart(space, each);
                            }));
  definition->Key(std::move(parts));
  return Status();
}

}  // namespace

/// Reads one manifest. A class only because the parts share the definition that grows, and the way to the files.
class BundleReader {
 public:
  BundleReader(BundleFiles files, std::shared_ptr<const PrecompiledBundle> precompiled)
      : files_(std::move(files)), precompiled_(std::move(precompiled)) {
    if (precompiled_ != nullptr) files_.SetWithheld(precompiled_->withheld());
  }

  Result<Bundle> Read(const ManifestNode& root) {
    TUNEONCE_RETURN_IF_ERROR(root.CheckFields({"tuneonce_bundle", "name", "version", "dims", "key", "parameters",
                                               "space", "axes", "configs", "max_configs", "baseline", "fallback",
                                               "where", "variants", "tolerance", "unordered", "work", "example"}));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* format, root.Get("tuneonce_bundle"));
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t version, format->Int());
    if (version != kFormat) {
      return format->Error(absl::StrCat("this is format ", version, "; this tuneonce reads format ", kFormat,
                                        version > kFormat ? ": update tuneonce" : ": export the bundle again"));
    }
    TUNEONCE_ASSIGN_OR_RETURN(std::string kernel, root.GetString("name"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string version_text, root.GetString("version"));
    KernelDefinition definition = KernelDefinition(kernel).Version(version_text);
    TUNEONCE_ASSIGN_OR_RETURN(space_, BundleSpace::Read(root));
    SearchSpace unfiltered = space_.space();
    TUNEONCE_RETURN_IF_ERROR(space_.AddConditions(/*of_target=*/false, &unfiltered));
    definition.DimsInOrder(space_.dims()).Space(std::move(unfiltered));
    TUNEONCE_RETURN_IF_ERROR(ReadParameters(space_, root, &definition));
    TUNEONCE_RETURN_IF_ERROR(ReadKey(space_, root, &definition));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* variants, root.Get("variants"));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, variants->Array(KernelDefinition::kMaxVariants));
    if (list.empty()) return variants->Error("expected at least one variant");
    for (const ManifestNode& each : list) {
      TUNEONCE_ASSIGN_OR_RETURN(BundleVariant variant, ReadVariant(space_, each, &files_));
      variant.artifacts->precompiled = precompiled_;
      definition.AddVariant(std::move(variant.variant));
      variants_.push_back(std::move(variant));
    }
    TUNEONCE_RETURN_IF_ERROR(ReadVerification(root, &definition));
    TUNEONCE_RETURN_IF_ERROR(ReadWork(root, &definition));
    if (Status valid = ValidateForLaunch(definition); !valid.ok()) return root.Error(valid.message());
    TUNEONCE_RETURN_IF_ERROR(CheckArtifacts(root, definition));
    SearchSpace space = definition.space();  // What Validate resolved in it stays.
    TUNEONCE_RETURN_IF_ERROR(space_.AddConditions(/*of_target=*/true, &space));
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
    std::set<std::pair<std::string_view, AxisValue>> defined;  // The macros that were checked.
    std::set<const Config*> checked;  // Those of `everywhere` whose hints some variant's check accepted.
    auto configs_where = [&](const Condition& runs_on) -> Result<std::vector<Config>> {
      Result<std::vector<Config>> configs = space_.ConfigsWhere(runs_on, definition.space());
      const ManifestNode* where = root.Find("where");
      if (!configs.ok()) return (where != nullptr ? *where : root).Error(configs.status().message());
      return configs;
    };
    // Without the conditions that read the target: every config that there is anywhere.
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> everywhere, configs_where(Condition()));
    TUNEONCE_RETURN_IF_ERROR(CheckOptionAxes(root, everywhere.front()));
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      const BundleVariant& read = variants_[i];
      const Variant& variant = definition.variants()[i];
      std::vector<Config> its;
      if (space_.is_named()) {
        TUNEONCE_ASSIGN_OR_RETURN(its, configs_where(variant.runs_on));
      }
      for (const Config& config : space_.is_named() ? its : everywhere) {
        const AxisValue* backend = config.Find("backend");
        const std::string* named = backend == nullptr ? nullptr : std::get_if<std::string>(backend);
        if (named != nullptr && *named != variant.BackendName()) continue;
        if (IsTile(read.artifacts->kind) && (space_.is_named() || checked.insert(&config).second)) {
          Status hints = Hints::OfConfig(config).Check();
          if (!hints.ok()) {
            return read.node->Error(absl::StrCat("the config {", config.ToString(), "}: ", hints.message()));
          }
        }
        for (const auto& [name, axis] : read.artifacts->defines) {
          if (!defined.emplace(name, config.values()[axis]).second) continue;
          Status macro = KernelSource().Define(name, config.values()[axis]).Check();
          if (!macro.ok()) return read.node->Error(macro.message());
        }
        std::size_t matching = read.artifacts->Count(config);
        if (matching != 1) {
          return read.node->Error(
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

  static Status ReadVerification(const ManifestNode& root, KernelDefinition* definition) {
    if (const ManifestNode* node = root.Find("tolerance")) {
      TUNEONCE_ASSIGN_OR_RETURN(Tolerance tolerance, ReadTolerance(*node));
      definition->VerifyWithin(tolerance);
    }
    bool is_unordered = false;
    TUNEONCE_RETURN_IF_ERROR(root.ReadOptional("unordered", &is_unordered));
    if (is_unordered) definition->Unordered();
    return Status();
  }

  Result<KernelDefinition::WorkFn> ReadWorkField(const ManifestNode& work, std::string_view field) const {
    const ManifestNode* node = work.Find(field);
    if (node == nullptr) return KernelDefinition::WorkFn();
    TUNEONCE_ASSIGN_OR_RETURN(Term term, ReadTerm(space_, *node));
    if (!term.IsOfArguments()) return node->Error("the work of a run may depend on dims and scalars, but not on axes");
    return KernelDefinition::WorkFn([term](const Problem& problem) {
      const std::int64_t value = term.Value(Config(), problem);
      return value == Term::kNoValue ? std::nan("") : static_cast<double>(value);  // Only the roofline is missing then.
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
    auto check_parameter = [&](const ManifestNode& value) -> Status {
      const std::string name(value.name());
      return definition.FindParameter(name) ? Status() : value.Error("the bundle has no parameter '" + name + "'");
    };
    const ManifestNode* node = root.Find("example");
    if (node == nullptr) return Status();
    TUNEONCE_RETURN_IF_ERROR(node->CheckFields({"dims", "cpu_dims", "dtypes", "scalars"}));
    for (auto [field, values] : {std::pair("dims", &example->dims), std::pair("cpu_dims", &example->cpu_dims)}) {
      const ManifestNode* dims = node->Find(field);
      if (dims == nullptr) continue;
      TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, dims->Object());
      for (const ManifestNode& value : members) {
        TUNEONCE_RETURN_IF_ERROR(space_.FindDim(value, value.name()).status());
        TUNEONCE_ASSIGN_OR_RETURN((*values)[std::string(value.name())], value.Int());
      }
    }
    if (const ManifestNode* dtypes = node->Find("dtypes")) {
      TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, dtypes->Object());
      for (const ManifestNode& value : members) {
        TUNEONCE_RETURN_IF_ERROR(check_parameter(value));
        TUNEONCE_ASSIGN_OR_RETURN(example->dtypes[std::string(value.name())], ReadDType(value));
      }
    }
    if (const ManifestNode* scalars = node->Find("scalars")) {
      TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, scalars->Object());
      for (const ManifestNode& value : members) {
        TUNEONCE_RETURN_IF_ERROR(check_parameter(value));
        TUNEONCE_ASSIGN_OR_RETURN(example->scalars[std::string(value.name())], value.Number());
      }
    }
    return Status();
  }

  BundleFiles files_;
  std::shared_ptr<const PrecompiledBundle> precompiled_;
  BundleSpace space_;
  std::vector<BundleVariant> variants_;
};

std::vector<std::string> BundleNames(const Environment& environment) { return BundleFolders::Of(environment).Names(); }

Result<Bundle> LoadBundle(const Environment& environment, const std::string& folder_or_name) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string folder, BundleFolders::Of(environment).Find(folder_or_name));
  std::string manifest = folder + "/manifest.json";
  TUNEONCE_ASSIGN_OR_RETURN(BundleFiles files, BundleFiles::Open(folder));
  Result<std::string> text = ReadFile(manifest, ManifestDocument::kMostBytes);
  if (text.status().code() == StatusCode::kNotFound) {
    return NotFoundError("'" + folder + "' is not a bundle: it has no manifest.json");
  }
  TUNEONCE_RETURN_IF_ERROR(text.status());
  TUNEONCE_ASSIGN_OR_RETURN(auto document, ManifestDocument::Parse(*text, manifest));
  TUNEONCE_ASSIGN_OR_RETURN(auto precompiled, PrecompiledBundle::Read(files));
  return BundleReader(std::move(files), std::move(precompiled)).Read(document->root());
}

Result<Bundle> LoadBundle(const EmbeddedBundle& embedded) {
  BundleFiles files(embedded);
  std::string where = std::string("(embedded ") + embedded.name + ")/manifest.json";
  Result<std::string> text = files.ReadNow("manifest.json", ManifestDocument::kMostBytes);
  if (text.status().code() == StatusCode::kNotFound)
    return NotFoundError(where + ": the manifest was not embedded into this program");
  TUNEONCE_RETURN_IF_ERROR(text.status().WithPrefix(where));
  TUNEONCE_ASSIGN_OR_RETURN(auto document, ManifestDocument::Parse(*text, where));
  TUNEONCE_ASSIGN_OR_RETURN(auto precompiled, PrecompiledBundle::Read(files));
  return BundleReader(std::move(files), std::move(precompiled)).Read(document->root());
}

}  // namespace v0
}  // namespace tuneonce
