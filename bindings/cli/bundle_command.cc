// tuneonce bundle check|classify|compile|show
#include <map>
#include <memory>
#include <set>

#include "bundle_check.h"
#include "bundle_compile.h"
#include "bundle_folder.h"
#include "commands.h"
#include "inspect/classified_bundle.h"
#include "launch/code_assumptions.h"
#include "launch/parameter_block.h"
#include "numbers.h"
#include "output.h"
#include "report/config_json.h"
#include "store/shipped_selections.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::cli {
namespace {

using Json = nlohmann::ordered_json;

struct BundleArguments {
  std::string bundle;
  BundleCheckOptions check;
  BundleClassifyOptions classify;
  BundleCompileOptions compile;
  std::string timeout_ms;
  bool json = false;
};

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "; ") + word;
  return text;
}

Status Check(const BundleArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(BundleFolder folder, OpenBundleFolder(arguments.bundle));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<BundleFinding> findings, CheckBundle(folder, arguments.check));
  std::size_t num_errors = 0;
  for (const BundleFinding& finding : findings) num_errors += finding.is_error ? 1 : 0;
  if (arguments.json) {
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

Status Compile(BundleArguments arguments) {
  if (!arguments.timeout_ms.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(arguments.compile.timeout_ms, ParseCount("--timeout-ms", arguments.timeout_ms));
  }
  TUNEONCE_ASSIGN_OR_RETURN(BundleFolder folder, OpenBundleFolder(arguments.bundle));
  return CompileAndPrint(folder, arguments.compile, arguments.json);
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

Status Show(const BundleArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(BundleFolder folder, OpenBundleFolder(arguments.bundle));
  TUNEONCE_ASSIGN_OR_RETURN(Json json, Shown(folder));
  if (arguments.json) {
    PrintJson(json);
    return Status();
  }
  PrintLine("%s, version %s, in %s", folder.definition.name().c_str(), folder.definition.version().c_str(),
            folder.path.c_str());
  PrintLine("  space: %s", folder.definition.space().ToString().c_str());
  for (const Json& variant : json["variants"]) {
    const auto name = variant.get<std::string>();
    PrintLine("  variant %s", name.c_str());
    std::string assumed;
    for (const Json& each : json["assumptions"].value(name, Json::array())) {
      assumed += (assumed.empty() ? "" : ", ") + each.get<std::string>();
    }
    if (!assumed.empty()) PrintLine("    its code assumes that %s", assumed.c_str());
  }
  if (folder.precompiled == nullptr) {
    PrintLine("  not compiled ahead: this bundle needs its compilers at run time (see tuneonce bundle compile)");
    return Status();
  }
  for (const Json& target : json["targets"]) {
    PrintLine("  compiled for %s: %d images in %d files, %d refused%s%s", target["name"].get<std::string>().c_str(),
              target["images"].get<int>(), target["files"].get<int>(), target["refused"].get<int>(),
              target["toolchains"].empty() ? "" : ", by ",
              Joined(target["toolchains"].get<std::vector<std::string>>()).c_str());
  }
  if (!json["has_sources"].get<bool>()) PrintLine("  compiled without its sources (--no-sources)");
  for (const Json& selection : json["selections"]) {
    PrintLine("  selected on %s: %s -> {%s}", selection["device"].get<std::string>().c_str(),
              selection["key"].get<std::string>().c_str(), SettingsText(selection["config"]).c_str());
  }
  return Status();
}

CLI::App* Add(CLI::App* bundle, const char* name, const char* what, const std::shared_ptr<BundleArguments>& arguments) {
  CLI::App* command = bundle->add_subcommand(name, what);
  command->add_option("bundle", arguments->bundle, "Folder or name of a bundle")->required();
  command->add_flag("--json", arguments->json, "Print JSON instead of text");
  return command;
}

/// An option that may be repeated, with one value each time.
void AddRepeated(CLI::App* command, const char* name, std::vector<std::string>* values, const char* what) {
  command->add_option(name, *values, what)->allow_extra_args(false);
}

}  // namespace

Status CompileAndPrint(const BundleFolder& folder, const BundleCompileOptions& options, bool json) {
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

void AddBundle(CLI::App& app, Command* command) {
  CLI::App* bundle =
      app.add_subcommand("bundle", "Inspect bundles, and compile them ahead for machines without compilers");
  bundle->require_subcommand(1);
  auto arguments = std::make_shared<BundleArguments>();
  constexpr const char* kDType = "NAME=DTYPE for a tensor whose dtype the bundle leaves open; may be repeated";

  CLI::App* show =
      Add(bundle, "show", "Show a bundle's variants, its code for targets, and its selected configs", arguments);
  show->callback([=] { *command = [=] { return Show(*arguments); }; });

  CLI::App* check = Add(bundle, "check", "Check a bundle for mistakes; needs no GPU", arguments);
  AddRepeated(check, "--target", &arguments->check.targets,
              "a target that the bundle must run on, like sm_90; may be repeated");
  AddRepeated(check, "--dtype", &arguments->check.dtypes, kDType);
  check->add_option("--device", arguments->check.device, "also run every config on this device: cpu, cuda, cuda:N");
  AddRepeated(check, "--shape", &arguments->check.shape, "with --device: NAME=EXTENT, else the bundle's example");
  AddRepeated(check, "--scalar", &arguments->check.scalars, "with --device: NAME=VALUE of a scalar");
  check->callback([=] { *command = [=] { return Check(*arguments); }; });

  CLI::App* classify =
      Add(bundle, "classify", "Show which family a kernel belongs to, why, and how its space differs", arguments);
  classify->add_option(
      "--target", arguments->classify.target,
      "the GPU whose configs are read, like sm_100; default: sm_90, or the first that the bundle runs on");
  AddRepeated(classify, "--shape", &arguments->classify.shape,
              "NAME=EXTENT for the operations per byte (default: the bundle's example); may be repeated");
  classify->callback(
      [=] { *command = [=] { return ClassifyAndPrint(arguments->bundle, arguments->classify, arguments->json); }; });

  CLI::App* compile = Add(bundle, "compile", "Compile every config into a bundle that needs no compiler", arguments);
  AddRepeated(compile, "--target", &arguments->compile.targets, "sm_90, or cpu for this machine's; may be repeated");
  compile->get_option("--target")->required();
  CLI::Option* output = compile->add_option("-o,--output", arguments->compile.output, "the folder to create");
  compile->add_flag("--dry-run", arguments->compile.is_dry_run,
                    "show what would be compiled, and which conditions exclude points; compile and write nothing");
  compile->add_option("--selections", arguments->compile.selections,
                      "a store whose selections are added to the bundle");
  compile->add_flag("--only-decided", arguments->compile.only_decided,
                    "compile only these selections and the baselines");
  compile->add_flag("--no-sources", arguments->compile.no_sources, "do not add the sources");
  AddRepeated(compile, "--dtype", &arguments->compile.dtypes, kDType);
  AddRepeated(compile, "--variant", &arguments->compile.variants,
              "compile this variant, or those whose names begin with it and '_'; may be repeated; default: all");
  compile->add_option("--timeout-ms", arguments->timeout_ms, "kill a compiler after this time");
  compile->callback([=] {
    if (!arguments->compile.is_dry_run && output->empty()) throw CLI::RequiredError("--output (or --dry-run)");
    *command = [=] { return Compile(*arguments); };
  });
}

}  // namespace tuneonce::cli
