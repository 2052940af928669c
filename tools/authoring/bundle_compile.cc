#include "authoring/bundle_compile.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "authoring/bundle_folder.h"
#include "authoring/bundle_writer.h"
#include "base/file.h"
#include "compare/back_end.h"
#include "compile/command_toolchain.h"
#include "compile/header_search.h"
#include "records/records_store.h"
#include "shared/compile_pool.h"
#include "store/shipped_selections.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// `path` as messages show it.
std::string NameIn(const std::string& folder, const std::string& path) {
  const std::string full = AbsolutePath(path);
  return full.rfind(folder + "/", 0) == 0 ? full.substr(folder.size() + 1) : path;
}

/// Whether a text of the source has these words.
bool Mentions(const KernelSource& source, const std::string& words) {
  auto has = [&](const std::string& text) { return text.find(words) != std::string::npos; };
  return has(source.content) || std::any_of(source.headers.begin(), source.headers.end(),
                                            [&](const auto& header) { return has(header.second); });
}

/// Returns the first "name" that the source includes, that is not one of its `headers`, and that `fits` accepts.
template <typename Fits>
std::optional<std::string> FindUnnamed(const KernelSource& source, const Fits& fits) {
  for (const HeaderRequest& request : FindHeaderRequests(source.content, {}).requests) {
    if (request.kind != HeaderRequest::Kind::kInclude || !request.is_quoted) continue;
    const bool is_named = std::any_of(source.headers.begin(), source.headers.end(),
                                      [&](const auto& header) { return header.first == request.name; });
    if (!is_named && fits(request.name)) return request.name;
  }
  return std::nullopt;
}

/// Compiles one bundle for targets, one after the other.
class BundleCompiler {
 public:
  BundleCompiler(const BundleFolder& folder, const BundleCompileOptions& options)
      : folder_(folder), options_(options), writer_(folder) {}

  Result<std::vector<CompiledTarget>> Run();

 private:
  Status ReadSelections();
  Result<CompiledTarget> CompileFor(const Target& target);
  /// Removes the ways of variants that --variant does not name.
  Status KeepNamedVariants(const Target& target, BundleWays* all) const;
  /// The ways that are asked for, each code once; those that are machine code already are counted.
  std::vector<BundleWay> WaysToCompile(BundleWays all, CompiledTarget* report);
  /// Adds to the report what a dry run states of the ways to compile, and of the configs that have none.
  Status Describe(const std::vector<BundleWay>& ways, const Target& target, CompiledTarget* report) const;
  /// The records of the kernel on the target.
  std::vector<TuningRecord> SelectionsOf(const BundleWays& ways, const Target& target, CompiledTarget* report) const;
  /// Whether the config is a selection's, the baseline that one was compared with, or may stand in.
  bool IsDecided(const Config& config, const std::vector<TuningRecord>& selections, const Target& target) const;
  Status Compile(const std::vector<BundleWay>& ways, const Target& target, CompiledTarget* report);
  Status Take(const BundleWay& way, CompiledJob compiled, const Target& target, CompiledTarget* report);

  const BundleFolder& folder_;
  const BundleCompileOptions& options_;
  BundleWriter writer_;
  std::vector<Problem> problems_;
  std::vector<TuningRecord> records_;  // The records of the store.
  std::vector<TuningRecord> shipped_;  // That come along.
};

Result<std::vector<CompiledTarget>> BundleCompiler::Run() {
  std::vector<Target> targets;
  for (const std::string& name : options_.targets) {
    TUNEONCE_ASSIGN_OR_RETURN(Target target, Target::Named(name));
    bool is_twice = std::any_of(targets.begin(), targets.end(), [&](const Target& t) { return t.name() == name; });
    if (is_twice) return InvalidArgumentError("--target " + name + " is given twice");
    targets.push_back(target);
  }
  if (options_.only_decided && options_.selections.empty()) {
    return InvalidArgumentError("--only-decided needs --selections STORE");
  }
  if (!options_.is_dry_run) TUNEONCE_RETURN_IF_ERROR(writer_.Check(options_.output));
  TUNEONCE_RETURN_IF_ERROR(ReadSelections());
  TUNEONCE_ASSIGN_OR_RETURN(problems_, ProblemsOf(folder_.definition, folder_.bundle.example(), options_.dtypes));
  std::vector<CompiledTarget> reports;
  for (const Target& target : targets) {
    TUNEONCE_ASSIGN_OR_RETURN(CompiledTarget report, CompileFor(target));
    reports.push_back(std::move(report));
  }
  if (options_.is_dry_run) return reports;
  if (!shipped_.empty()) writer_.AddSelections(EncodeRecords(shipped_));
  TUNEONCE_RETURN_IF_ERROR(writer_.AddBundlesFiles(!options_.no_sources));
  TUNEONCE_RETURN_IF_ERROR(writer_.Write(options_.output));
  return reports;
}

Status BundleCompiler::ReadSelections() {
  if (options_.selections.empty()) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<AnyStore> store, OpenStore(options_.selections, /*for_reading=*/true));
  TUNEONCE_ASSIGN_OR_RETURN(records_, store->List());
  return Status();
}

Result<CompiledTarget> BundleCompiler::CompileFor(const Target& target) {
  CompiledTarget report;
  report.name = target.name();
  TUNEONCE_ASSIGN_OR_RETURN(BundleWays all, WaysOn(folder_.definition, target, problems_));
  report.num_configs = static_cast<int>(all.configs.size());
  report.num_points = folder_.definition.space().NumPoints();
  TUNEONCE_RETURN_IF_ERROR(KeepNamedVariants(target, &all));
  std::vector<TuningRecord> selections = SelectionsOf(all, target, &report);
  report.num_selections = static_cast<int>(selections.size());
  if (options_.only_decided && selections.empty()) {
    return InvalidArgumentError("--only-decided: " + options_.selections +
                                " has no selection for the current sources of '" + folder_.definition.name() + "' on " +
                                target.name() + ": tune it first");
  }
  if (options_.only_decided) {
    auto is_undecided = [&](const BundleWay& way) { return !IsDecided(way.config, selections, target); };
    all.ways.erase(std::remove_if(all.ways.begin(), all.ways.end(), is_undecided), all.ways.end());
  }
  shipped_.insert(shipped_.end(), selections.begin(), selections.end());
  std::vector<BundleWay> ways = WaysToCompile(std::move(all), &report);
  if (options_.is_dry_run) {
    TUNEONCE_RETURN_IF_ERROR(Describe(ways, target, &report));
    return report;
  }
  writer_.AddTarget(target.name(), target.is_cpu_device ? HostCpuModel() : "");
  TUNEONCE_RETURN_IF_ERROR(Compile(ways, target, &report));
  report.bytes = writer_.BytesOf(target.name());
  report.toolchains = writer_.ToolchainsOf(target.name());
  if (report.num_compiled + report.num_as_they_are == 0) {
    return InvalidArgumentError("no config of '" + folder_.definition.name() + "' compiles for " + target.name() +
                                ": " + writer_.FirstRefusal(target.name()));
  }
  return report;
}

Status BundleCompiler::KeepNamedVariants(const Target& target, BundleWays* all) const {
  if (options_.variants.empty()) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<const Variant*> here, folder_.definition.VariantsFor(target));
  std::set<const Variant*> kept;
  for (const std::string& name : options_.variants) {
    const std::vector<const Variant*> named = VariantsNamed(name, here);
    if (named.empty()) {
      return NotFoundError("--variant " + name + ": '" + folder_.definition.name() + "' has no such variant for " +
                           target.name() + "; tuneonce bundle show lists its variants");
    }
    kept.insert(named.begin(), named.end());
  }
  auto is_other = [&](const BundleWay& way) { return kept.count(way.variant) == 0; };
  all->ways.erase(std::remove_if(all->ways.begin(), all->ways.end(), is_other), all->ways.end());
  return Status();
}

std::vector<BundleWay> BundleCompiler::WaysToCompile(BundleWays all, CompiledTarget* report) {
  std::vector<BundleWay> ways;
  std::set<Fingerprint> keys;
  for (BundleWay& way : all.ways) {
    if (way.source.kind() == SourceKind::kCubin) {
      ++report->num_as_they_are;
    } else if (keys.insert(way.key).second) {
      ways.push_back(std::move(way));
    }
  }
  return ways;
}

Status BundleCompiler::Describe(const std::vector<BundleWay>& ways, const Target& target,
                                CompiledTarget* report) const {
  TUNEONCE_RETURN_IF_ERROR(folder_.definition.space().Configs(target, nullptr, &report->excluded).status());
  for (const BundleWay& way : ways) {  // By variant, but for each combination of dtypes.
    auto is_same = [&](const CompiledTarget::OfVariant& each) { return each.name == way.variant->name; };
    auto known = std::find_if(report->variants.begin(), report->variants.end(), is_same);
    if (known == report->variants.end()) {
      known = report->variants.insert(known, CompiledTarget::OfVariant{way.variant->name, {}});
    }
    known->configs.push_back(way.config.ToString());
  }
  return Status();
}

std::vector<TuningRecord> BundleCompiler::SelectionsOf(const BundleWays& ways, const Target& target,
                                                       CompiledTarget* report) const {
  std::vector<TuningRecord> selections;
  for (const TuningRecord& record : records_) {
    const TuningKey& key = record.key;
    if (key.kernel != folder_.definition.name() || key.capability != target.capability()) continue;
    bool is_of_it = std::find(ways.kernels.begin(), ways.kernels.end(), key.kernel_fingerprint) != ways.kernels.end();
    if (is_of_it) {
      selections.push_back(record);
    } else {
      ++report->num_other_selections;
    }
  }
  return selections;
}

bool BundleCompiler::IsDecided(const Config& config, const std::vector<TuningRecord>& selections,
                               const Target& target) const {
  const SearchSpace& space = folder_.definition.space();
  if (space.fallback() && space.fallback()->IsSame(config)) return true;
  // Which baseline counts depends on guards, and so on the shape: all of them may.
  for (const Config& baseline : space.BaselinesOn(target)) {
    if (baseline.IsSame(config)) return true;
  }
  return std::any_of(selections.begin(), selections.end(), [&](const TuningRecord& record) {
    bool is_row = std::any_of(record.rows.begin(), record.rows.end(),
                              [&](const ImportedRow& row) { return row.config.IsSame(config); });
    return is_row || record.best.config.IsSame(config) || (record.baseline && record.baseline->config.IsSame(config));
  });
}

Status BundleCompiler::Compile(const std::vector<BundleWay>& ways, const Target& target, CompiledTarget* report) {
  std::vector<CompileJob> jobs;
  for (const BundleWay& way : ways) {
    CompileJob job;
    job.alternatives.push_back(CompileJob::Alternative{way.source, way.hints});
    jobs.push_back(std::move(job));
  }
  const Runtime& runtime = *Runtime::Default();
  CompileOptions compile;
  compile.cache = runtime.memory_store();
  if (options_.timeout.count() > 0) compile.timeout = options_.timeout;
  CompilePool pool(runtime.compile_slots(), runtime.toolchains(), target, std::move(jobs), compile);
  // In the order of the ways, so that the output does not depend on how long compilers took.
  std::map<std::size_t, CompiledJob> done;
  while (std::optional<CompiledJob> compiled = pool.Next()) done.emplace(compiled->job, *std::move(compiled));
  for (auto& [index, compiled] : done) {
    TUNEONCE_RETURN_IF_ERROR(Take(ways[index], std::move(compiled), target, report));
  }
  return Status();
}

Status BundleCompiler::Take(const BundleWay& way, CompiledJob compiled, const Target& target, CompiledTarget* report) {
  const KernelSource source = way.source.Whole();
  if (std::optional<std::string> loose = FindLooseHeader(folder_.path, source, compiled.artifact)) {
    return FailedPreconditionError("variant '" + way.variant->name + "' for " + target.name() + ": " + source.file +
                                   " includes '" + *loose + "', which the manifest does not name; " +
                                   (IsForNvrtc(source.kind) ? "name it in `headers`, or " : "") +
                                   "put it into the source");
  }
  if (compiled.artifact.ok()) {
    ++report->num_compiled;
    writer_.AddImage(way, target.name(), *compiled.artifact);
    return Status();
  }
  const Status& failed = compiled.artifact.status();
  // An error of the compiler about the source is the same on every machine. Any other error is this machine's.
  if (failed.code() != StatusCode::kInvalidArgument) {
    return failed.WithPrefix("variant '" + way.variant->name + "' for " + target.name());
  }
  ++report->num_refused;
  writer_.AddRefusal(way, target.name(), failed.message());
  return Status();
}

}  // namespace

std::optional<std::string> FindLooseHeader(const std::string& folder, const KernelSource& source,
                                           const Result<Artifact>& compiled) {
  if (!IsCpp(source.kind)) return std::nullopt;
  const std::filesystem::path here = std::filesystem::path(source.file).parent_path();
  auto beside = [&](const std::string& name) { return (here / name).lexically_normal().string(); };
  if (!compiled.ok()) {
    auto is_missing = [&](const std::string& name) {
      return compiled.status().message().find(name) != std::string::npos && IsRegularFile(folder + "/" + beside(name));
    };
    const std::optional<std::string> missing = FindUnnamed(source, is_missing);
    return missing ? std::optional<std::string>(beside(*missing)) : std::nullopt;
  }
  for (const Dependency& read : compiled->dependencies) {
    const bool is_relative = read.path.rfind('/', 0) != 0;  // NVRTC looks in the working directory.
    if (is_relative || read.path.rfind(folder + "/", 0) == 0 || Mentions(source, read.path)) {
      return NameIn(folder, read.path);
    }
  }
  if (compiled->cacheable || !compiled->dependencies.empty()) return std::nullopt;
  const std::optional<std::string> read =
      FindUnnamed(source, [&](const std::string& name) { return IsRegularFile(beside(name)); });
  return read ? std::optional<std::string>(NameIn(folder, beside(*read))) : std::nullopt;
}

Result<std::vector<CompiledTarget>> CompileBundle(const BundleFolder& folder, const BundleCompileOptions& options) {
  return BundleCompiler(folder, options).Run();
}

}  // namespace v0
}  // namespace tuneonce
