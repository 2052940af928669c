#include "authoring/bundle_actions.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "authoring/bundle_check.h"
#include "authoring/bundle_compile.h"
#include "authoring/bundle_folder.h"
#include "console/numbers.h"
#include "console/output.h"
#include "inspect/classified_bundle.h"
#include "launch/code_assumptions.h"
#include "launch/parameter_block.h"
#include "report/config_json.h"
#include "store/shipped_selections.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Json = nlohmann::ordered_json;

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "; ") + word;
  return text;
}

Json JsonOf(const CompiledTarget& target) {
  return {{"target", target.name},
          {"configs", target.num_configs},
          {"compiled", target.num_compiled},
          {"refused", target.num_refused},
          {"machine_code_already", target.num_as_they_are},
          {"bytes", target.bytes},
          {"toolchains", target.toolchains},
          {"selections", target.num_selections},
          {"selections_of_other_sources", target.num_other_selections}};
}

Json JsonOfDryRun(const CompiledTarget& target) {
  Json variants = Json::array();
  for (const CompiledTarget::OfVariant& each : target.variants) {
    variants.push_back({{"variant", each.name}, {"to_compile", each.configs.size()}, {"configs", each.configs}});
  }
  return {{"target", target.name},
          {"points", target.num_points},
          {"configs", target.num_configs},
          {"excluded", target.excluded},
          {"machine_code_already", target.num_as_they_are},
          {"variants", std::move(variants)}};
}

void PrintDryRun(const CompiledTarget& target) {
  PrintLine("%s: %d configs of %lld points", target.name.c_str(), target.num_configs,
            static_cast<long long>(target.num_points));
  for (const auto& [condition, count] : target.excluded) {
    PrintLine("  %lld points are excluded by %s", static_cast<long long>(count), condition.c_str());
  }
  for (const CompiledTarget::OfVariant& each : target.variants) {
    PrintLine("  variant '%s': %zu to compile", each.name.c_str(), each.configs.size());
  }
  if (target.num_as_they_are > 0) PrintLine("  %d are machine code already", target.num_as_they_are);
}

void PrintCompiled(const CompiledTarget& target) {
  std::string line = target.name + ": " + std::to_string(target.num_configs) + " configs, " +
                     std::to_string(target.num_compiled) + " ways to build them compiled, " +
                     std::to_string((target.bytes + 1023) / 1024) + " KiB";
  if (target.num_as_they_are > 0) line += ", " + std::to_string(target.num_as_they_are) + " were machine code already";
  if (target.num_refused > 0) line += ", " + std::to_string(target.num_refused) + " did not compile";
  if (target.num_selections > 0) line += ", " + std::to_string(target.num_selections) + " selections";
  if (target.num_other_selections > 0) {
    line += ", " + std::to_string(target.num_other_selections) + " selections for other sources not added";
  }
  if (!target.toolchains.empty()) line += " (" + Joined(target.toolchains) + ")";
  PrintLine("%s", line.c_str());
}

/// What the precompiled bundle contains for one target.
struct ShownTarget {
  int num_images = 0;
  int num_refused = 0;
  std::set<std::string> files;
  std::set<std::string> toolchains;
};

/// What the code of the bundle's variants assumes of its parameters, by variant: as their sources state it, where they
/// can be read, and as precompiled code does.
std::map<std::string, std::set<std::string>> AssumptionsOfCode(const BundleFolder& folder) {
  std::map<std::string, std::set<std::string>> found;
  ClassifiedBundle::Options options;
  options.runtime = Runtime::Default();
  if (Result<ClassifiedBundle> classified = ClassifiedBundle::Of(folder.bundle, options); classified.ok()) {
    for (const ClassifiedBundle::OfVariant& each : classified->variants) {
      found[each.name].insert(each.assumptions.begin(), each.assumptions.end());
    }
  }
  if (folder.precompiled == nullptr) return found;
  for (const Variant& variant : folder.definition.variants()) {
    Result<ParameterLayout> layout = ParameterLayout::Create(folder.definition, variant.convention, variant.parameters);
    for (const auto& [key, code] : folder.precompiled->code()) {
      if (!layout.ok() || code.variant != variant.name) continue;
      for (std::string& words : AssumptionTexts(folder.definition, *layout, code.assumptions)) {
        found[variant.name].insert(std::move(words));
      }
    }
  }
  return found;
}

Result<Json> Shown(const BundleFolder& folder) {
  const KernelDefinition& definition = folder.definition;
  Json json = {{"bundle", folder.path},
               {"kernel", definition.name()},
               {"version", definition.version()},
               {"dims", definition.dims()},
               {"points", definition.space().NumPoints()}};
  for (const Variant& variant : definition.variants()) json["variants"].push_back(variant.name);
  json["assumptions"] = Json::object();
  for (const auto& [variant, assumed] : AssumptionsOfCode(folder)) {
    if (!assumed.empty()) json["assumptions"][variant] = assumed;
  }
  if (folder.precompiled == nullptr) return json;
  json["has_sources"] = folder.precompiled->withheld().empty();
  std::map<std::string, ShownTarget> targets;
  for (const auto& [key, code] : folder.precompiled->code()) {
    ShownTarget& target = targets[code.target];
    if (code.file.empty()) {
      ++target.num_refused;
      continue;
    }
    ++target.num_images;
    target.files.insert(code.file);
    target.toolchains.insert(code.toolchain);
  }
  for (const auto& target : folder.precompiled->targets()) {
    const ShownTarget& shown = targets[target.name];
    Json each = {{"name", target.name},
                 {"images", shown.num_images},
                 {"files", shown.files.size()},
                 {"refused", shown.num_refused},
                 {"toolchains", shown.toolchains}};
    if (!target.cpu.empty()) each["cpu"] = target.cpu;
    json["targets"].push_back(std::move(each));
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::string bytes, folder.precompiled->ReadSelections());
  json["selections"] = Json::array();
  if (bytes.empty()) return json;
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, DecodeRecords(bytes));
  for (const TuningRecord& record : records) {
    json["selections"].push_back({{"device", record.key.device_name},
                                  {"key", record.key.key_text},
                                  {"config", ConfigJson(record.best.config)},
                                  {"variant", record.best.variant}});
  }
  return json;
}

/// The bundle with the code and the selections of the devices that the store has records of.
Status PackIntoBundle(const RecordsArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(BundleFolder folder, OpenBundleFolder(arguments.bundle));
  TUNEONCE_ASSIGN_OR_RETURN(WholeStore store, ReadWhole(arguments.store));
  if (const std::vector<std::string> problems = RecordProblems(store); !problems.empty()) {
    return FailedPreconditionError(absl::StrCat(
        problems.size(), " rows cannot be read, the first: ", problems.front(),
        ": pack the readable rows first (records pack --skip-damaged), and pack the result into the bundle"));
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, Records(*store.store, folder.definition.name()));
  std::set<std::string> targets;
  for (const TuningRecord& record : records) {
    targets.insert(record.key.capability == 0 ? "cpu" : absl::StrCat("sm_", record.key.capability));
  }
  BundleCompileOptions options;
  options.targets.assign(targets.begin(), targets.end());
  options.selections = store.store->path();
  options.only_decided = true;
  options.output = arguments.output;
  return CompileAndPrint(arguments.bundle, options, arguments.json);
}

}  // namespace

Status CheckAndPrint(const std::string& folder_or_name, const BundleCheckOptions& options, bool json) {
  TUNEONCE_ASSIGN_OR_RETURN(BundleFolder folder, OpenBundleFolder(folder_or_name));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<BundleFinding> findings, CheckBundle(folder, options));
  std::size_t num_errors = 0;
  for (const BundleFinding& finding : findings) num_errors += finding.is_error ? 1 : 0;
  if (json) {
    Json list = Json::array();
    for (const BundleFinding& finding : findings) {
      list.push_back({{"is_error", finding.is_error}, {"text", finding.text}});
    }
    PrintJson({{"bundle", folder.path}, {"findings", list}});
  } else {
    for (const BundleFinding& finding : findings) {
      PrintLine("%s %s", finding.is_error ? "[wrong]" : "[look] ", finding.text.c_str());
    }
    if (num_errors == 0) {
      PrintLine("%s: no errors were found%s", folder.definition.name().c_str(),
                findings.empty() ? "" : "; the remarks above may be intended");
    }
  }
  if (num_errors == 0) return Status();
  return InvalidArgumentError(folder.path + ": " + std::to_string(num_errors) +
                              (num_errors == 1 ? " error was found" : " errors were found"));
}

Status ClassifyAndPrint(const std::string& folder_or_name, const BundleClassifyOptions& options, bool json) {
  ClassifiedBundle::Options asked;
  if (!options.target.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(asked.target, ParseGpuTarget(options.target));
  }
  asked.runtime = Runtime::Default();
  TUNEONCE_ASSIGN_OR_RETURN(asked.dims, ParseIntegers(options.shape, "extent"));
  TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(folder_or_name));
  TUNEONCE_ASSIGN_OR_RETURN(ClassifiedBundle classified, ClassifiedBundle::Of(bundle, asked));
  if (json) {
    PrintJson(nlohmann::ordered_json::parse(classified.Json()));
  } else {
    PrintText(classified.ToString());
  }
  return Status();
}

Status CompileAndPrint(const std::string& folder_or_name, const BundleCompileOptions& options, bool json) {
  TUNEONCE_ASSIGN_OR_RETURN(BundleFolder folder, OpenBundleFolder(folder_or_name));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<CompiledTarget> targets, CompileBundle(folder, options));
  if (json) {
    Json list = Json::array();
    for (const CompiledTarget& target : targets) {
      list.push_back(options.is_dry_run ? JsonOfDryRun(target) : JsonOf(target));
    }
    PrintJson({{"bundle", folder.definition.name()}, {"output", options.output}, {"targets", list}});
    return Status();
  }
  for (const CompiledTarget& target : targets) options.is_dry_run ? PrintDryRun(target) : PrintCompiled(target);
  if (options.is_dry_run) return Status();
  PrintLine("%s: compiled into %s", folder.definition.name().c_str(), options.output.c_str());
  return Status();
}

Result<std::vector<std::string>> FilesOfBundle(const std::string& folder_or_name) {
  TUNEONCE_ASSIGN_OR_RETURN(const BundleFolder folder, OpenBundleFolder(folder_or_name));
  std::vector<std::string> paths;
  for (const std::string& file : FilesOf(folder)) paths.push_back(folder.path + "/" + file);
  return paths;
}

Status ShowAndPrint(const std::string& folder_or_name, bool json) {
  TUNEONCE_ASSIGN_OR_RETURN(BundleFolder folder, OpenBundleFolder(folder_or_name));
  TUNEONCE_ASSIGN_OR_RETURN(Json shown, Shown(folder));
  if (json) {
    PrintJson(shown);
    return Status();
  }
  PrintLine("%s, version %s, in %s", folder.definition.name().c_str(), folder.definition.version().c_str(),
            folder.path.c_str());
  PrintLine("  space: %s", folder.definition.space().ToString().c_str());
  for (const Json& variant : shown["variants"]) {
    const auto name = variant.get<std::string>();
    PrintLine("  variant %s", name.c_str());
    std::string assumed;
    for (const Json& each : shown["assumptions"].value(name, Json::array())) {
      assumed += (assumed.empty() ? "" : ", ") + each.get<std::string>();
    }
    if (!assumed.empty()) PrintLine("    its code assumes that %s", assumed.c_str());
  }
  if (folder.precompiled == nullptr) {
    PrintLine("  not compiled ahead: this bundle needs its compilers at run time (see tuneonce bundle compile)");
    return Status();
  }
  for (const Json& target : shown["targets"]) {
    PrintLine("  compiled for %s: %d images in %d files, %d refused%s%s", target["name"].get<std::string>().c_str(),
              target["images"].get<int>(), target["files"].get<int>(), target["refused"].get<int>(),
              target["toolchains"].empty() ? "" : ", by ",
              Joined(target["toolchains"].get<std::vector<std::string>>()).c_str());
  }
  if (!shown["has_sources"].get<bool>()) PrintLine("  compiled without its sources (--no-sources)");
  for (const Json& selection : shown["selections"]) {
    PrintLine("  selected on %s: %s -> {%s}", selection["device"].get<std::string>().c_str(),
              selection["key"].get<std::string>().c_str(), SettingsText(selection["config"]).c_str());
  }
  return Status();
}

Status PackRecords(const RecordsArguments& arguments) {
  if (arguments.bundle.empty()) return PackStore(arguments);
  if (arguments.kernel.empty() && arguments.device.empty() && !arguments.skip_damaged) return PackIntoBundle(arguments);
  return InvalidArgumentError(
      "--bundle cannot be used with --kernel, --device or --skip-damaged: the bundle determines the kernel");
}

}  // namespace v0
}  // namespace tuneonce
