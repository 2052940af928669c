#include "authoring/bundle_check.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "authoring/bundle_folder.h"
#include "base/elf_image.h"
#include "compile/cubin.h"
#include "compile/precompiled.h"
#include "inspect/classified_bundle.h"
#include "launch/parameter_block.h"
#include "launch/source_parameters.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/runtime.h"
#include "tuning/tune_job.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// The architectures that are checked by default.
constexpr const char* kKnownTargets[] = {"sm_75",  "sm_80",  "sm_86",  "sm_89",  "sm_90", "sm_100",
                                         "sm_103", "sm_110", "sm_120", "sm_121", "cpu"};

/// True if CUDA Tile C++ is compiled for the target, and its warnings are all given there.
bool RunsTileCpp(const Target& target) { return !target.is_cpu_device && target.capability() >= 90; }

/// Collects what is found, each text once.
class BundleChecker {
 public:
  BundleChecker(const BundleFolder& folder, const BundleCheckOptions& options) : folder_(folder), options_(options) {}

  Result<std::vector<BundleFinding>> Run();

 private:
  void Find(bool is_error, std::string text) {
    if (said_.insert(text).second) findings_.push_back(BundleFinding{is_error, std::move(text)});
  }
  Result<std::vector<Target>> Targets();
  Status CheckTarget(const Target& target);
  /// Symbol, parameters and architecture of machine code.
  void CheckImage(const BundleWay& way, const std::string& image, const std::string& symbol, const Target& target);
  /// Returns the fingerprint of the code of a way on a target, or nothing if a compiler is needed or fails.
  std::optional<Fingerprint> CheckCode(const BundleWay& way, const Target& target, bool* has_code);
  /// Finds a source that was put into a bundle compiled without sources, and is not the one that was compiled.
  void CheckRestoredSource(const BundleWay& way);
  /// What the code of the variants on a target is warned of; nothing where it cannot be read, which is found elsewhere.
  /// `runtime`: ClassifiedBundle::Options::runtime.
  void WarnOfCode(const Target& target, std::shared_ptr<const Runtime> runtime);
  Status RunOnDevice();

  const BundleFolder& folder_;
  const BundleCheckOptions& options_;
  std::vector<Problem> problems_;
  std::vector<BundleFinding> findings_;
  std::set<std::string> said_;
  std::set<std::string> seen_variants_;
  std::set<std::pair<std::string, std::string>> changed_sources_;  // Variant and file.
};

Result<std::vector<BundleFinding>> BundleChecker::Run() {
  TUNEONCE_ASSIGN_OR_RETURN(problems_, ProblemsOf(folder_.definition, folder_.bundle.example(), options_.dtypes));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Target> targets, Targets());
  for (const Target& target : targets) TUNEONCE_RETURN_IF_ERROR(CheckTarget(target));
  std::vector<std::string> warnings;
  if (Status sources = folder_.bundle.CheckSources(&warnings); !sources.ok()) Find(true, sources.message());
  for (std::string& warning : warnings) Find(false, std::move(warning));
  // The Tile IR of CUDA Tile C++ is the same for all GPUs, and takes time: it is read for one, which has TMA if any
  // has.
  auto lowered = std::max_element(targets.begin(), targets.end(),
                                  [](const Target& a, const Target& b) { return !RunsTileCpp(a) && RunsTileCpp(b); });
  for (const Target& target : targets) WarnOfCode(target, &target == &*lowered ? Runtime::Default() : nullptr);
  for (const std::string& file : UnreadFiles(folder_)) Find(false, "no variant uses the file '" + file + "'");
  if (!options_.device.empty()) TUNEONCE_RETURN_IF_ERROR(RunOnDevice());
  return std::move(findings_);
}

Result<std::vector<Target>> BundleChecker::Targets() {
  std::vector<std::string> names = options_.targets;
  if (names.empty() && folder_.precompiled != nullptr) {
    for (const auto& target : folder_.precompiled->targets()) names.push_back(target.name);
  }
  std::vector<Target> targets;
  for (const std::string& name : names) {
    TUNEONCE_ASSIGN_OR_RETURN(Target target, Target::Named(name));
    targets.push_back(target);
  }
  if (!targets.empty()) return targets;
  std::string without;
  for (const char* name : kKnownTargets) {
    TUNEONCE_ASSIGN_OR_RETURN(Target target, Target::Named(name));
    if (folder_.definition.VariantsFor(target).ok()) {
      targets.push_back(target);
    } else {
      without += (without.empty() ? "" : ", ") + target.name();
    }
  }
  if (!without.empty()) Find(false, "no variant runs on " + without);
  return targets;
}

Status BundleChecker::CheckTarget(const Target& target) {
  Result<BundleWays> ways = WaysOn(folder_.definition, target, problems_);
  if (!ways.ok()) {
    Find(true, target.name() + ": " + ways.status().message());
    return Status();
  }
  const bool is_compiled = folder_.precompiled != nullptr;
  std::map<std::string, bool> has_code;  // By config.
  std::vector<std::optional<Fingerprint>> codes;
  for (const BundleWay& way : ways->ways) {
    bool has = false;
    codes.push_back(CheckCode(way, target, &has));
    has_code[way.config.ToString()] |= has;
  }
  std::size_t num_without = 0;
  std::string first;
  for (const auto& [config, has] : has_code) {
    if (has) continue;
    ++num_without;
    if (first.empty()) first = config;
  }
  if (is_compiled && num_without == has_code.size()) {
    Find(true, "the bundle has no code for " + target.name());
  } else if (is_compiled && num_without > 0) {
    Find(false, std::to_string(num_without) + " of " + std::to_string(has_code.size()) + " configs have no code for " +
                    target.name() + ": {" + first + "}");
  }
  GridChecks checks(folder_.definition, folder_.bundle.example(), target, problems_.front());
  for (std::string& text : checks.GridsThatLeaveElements(&seen_variants_)) Find(false, std::move(text));
  for (std::string& text : checks.AxesWithoutEffect(*ways, codes)) Find(false, std::move(text));
  return Status();
}

std::optional<Fingerprint> BundleChecker::CheckCode(const BundleWay& way, const Target& target, bool* has_code) {
  const std::string what = "variant '" + way.variant->name + "' {" + way.config.ToString() + "} on " + target.name();
  if (way.source.kind() == SourceKind::kCubin) {
    *has_code = true;
    CheckImage(way, way.source.content(), way.source.symbol(), target);
    return std::nullopt;
  }
  if (folder_.precompiled == nullptr) return std::nullopt;
  auto listed = folder_.precompiled->code().find(way.key);
  if (listed == folder_.precompiled->code().end()) {
    CheckRestoredSource(way);
    return std::nullopt;
  }
  PrecompiledLookup lookup = FindPrecompiled(way.source.Whole(), way.hints, target);
  if (!lookup.found) {
    Find(true, what + ": " + lookup.why_not);
  } else if (!lookup.found->ok()) {
    Find(false, what + ": " + lookup.found->status().message());
  } else {
    *has_code = true;
    CheckImage(way, (*lookup.found)->image, (*lookup.found)->symbol, target);
    return (*lookup.found)->code_fingerprint;
  }
  return std::nullopt;
}

void BundleChecker::CheckRestoredSource(const BundleWay& way) {
  auto compiled = folder_.precompiled->withheld().find({way.variant->name, way.source.file()});
  if (compiled == folder_.precompiled->withheld().end()) return;
  if (way.source.Whole().TextFingerprint() == *compiled->second || !changed_sources_.insert(compiled->first).second) {
    return;
  }
  Find(true,
       "variant '" + way.variant->name + "': '" + way.source.file() +
           "' or a header of it differs from the source that was compiled, so that the compiled code is not used: "
           "compile the original bundle again, or remove the file");
}

void BundleChecker::CheckImage(const BundleWay& way, const std::string& image, const std::string& symbol,
                               const Target& target) {
  const std::string what = "variant '" + way.variant->name + "'";
  if (target.is_cpu_device || IsFatBinary(image)) return;  // They have no tables of parameters.
  Result<CubinKernel> kernel = ReadCubinKernel(image, symbol);
  if (!kernel.ok()) return Find(true, what + " {" + way.config.ToString() + "}: " + kernel.status().message());
  if (kernel->capability != 0 && !RunsOn(kernel->capability, target.capability())) {
    Find(true, what + ": its code is for sm_" + std::to_string(kernel->capability) + ", which does not run on " +
                   target.name());
  }
  Result<ParameterLayout> layout =
      ParameterLayout::Create(folder_.definition, way.variant->convention, way.variant->parameters);
  if (!layout.ok()) return Find(true, what + ": " + layout.status().message());
  Status fits =
      layout->CheckAgainst(kernel->parameter_sizes, MayHideParameters(way.source.kind(), way.variant->convention));
  if (!fits.ok()) Find(true, what + ", kernel '" + kernel->symbol + "': " + fits.message());
}

void BundleChecker::WarnOfCode(const Target& target, std::shared_ptr<const Runtime> runtime) {
  ClassifiedBundle::Options options;
  options.runtime = std::move(runtime);
  options.target = target;
  Result<ClassifiedBundle> classified = ClassifiedBundle::Of(folder_.bundle, options);
  if (!classified.ok()) return;
  for (std::string& warning : classified->warnings) Find(false, std::move(warning));
}

Status BundleChecker::RunOnDevice() {
  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice(options_.device));
  AutotunePolicy policy;
  TUNEONCE_ASSIGN_OR_RETURN(policy.search.runtime, Runtime::Create());
  policy.search.quiet = true;
  policy.search.max_rounds = 1;
  policy.store = MakeMemoryStore();
  Result<BundleReport> report = TuneBundle(folder_.bundle, device, options_.shape, options_.scalars, policy);
  if (!report.ok()) {
    Find(true, "on " + options_.device + ": " + report.status().message());
    return Status();
  }
  for (const CandidateOutcome& failure : report->run.record.failures()) {
    Find(true, "on " + options_.device + " at " + report->shape + ", {" + failure.config.ToString() +
                   "}: " + failure.message);
  }
  return Status();
}

}  // namespace

Result<std::vector<BundleFinding>> CheckBundle(const BundleFolder& folder, const BundleCheckOptions& options) {
  return BundleChecker(folder, options).Run();
}

}  // namespace v0
}  // namespace tuneonce
