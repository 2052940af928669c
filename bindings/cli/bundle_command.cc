// tuneonce bundle check|classify|compile|show
#include <memory>
#include <string>
#include <vector>

#include "authoring/bundle_actions.h"
#include "commands.h"
#include "console/numbers.h"

namespace tuneonce::cli {
namespace {

struct BundleArguments {
  std::string bundle;
  BundleCheckOptions check;
  BundleClassifyOptions classify;
  BundleCompileOptions compile;
  std::string timeout_ms;
  bool json = false;
};

Status Compile(BundleArguments arguments) {
  if (!arguments.timeout_ms.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(const int timeout_ms, ParseCount("--timeout-ms", arguments.timeout_ms));
    arguments.compile.timeout = std::chrono::milliseconds(timeout_ms);
  }
  return CompileAndPrint(arguments.bundle, arguments.compile, arguments.json);
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

void AddBundle(CLI::App& app, Command* command) {
  CLI::App* bundle =
      app.add_subcommand("bundle", "Inspect bundles, and compile them ahead for machines without compilers");
  bundle->require_subcommand(1);
  auto arguments = std::make_shared<BundleArguments>();
  constexpr const char* kDType = "NAME=DTYPE for a tensor whose dtype the bundle leaves open; may be repeated";

  CLI::App* show =
      Add(bundle, "show", "Show a bundle's variants, its code for targets, and its selected configs", arguments);
  show->callback([=] { *command = [=] { return ShowAndPrint(arguments->bundle, arguments->json); }; });

  CLI::App* check = Add(bundle, "check", "Check a bundle for mistakes; needs no GPU", arguments);
  AddRepeated(check, "--target", &arguments->check.targets,
              "a target that the bundle must run on, like sm_90; may be repeated");
  AddRepeated(check, "--dtype", &arguments->check.dtypes, kDType);
  CLI::Option* device =
      check->add_option("--device", arguments->check.device, "also run every config on this device: cpu, cuda, cuda:N");
  AddRepeated(check, "--shape", &arguments->check.shape, "with --device: NAME=EXTENT, else the bundle's example");
  AddRepeated(check, "--scalar", &arguments->check.scalars, "with --device: NAME=VALUE of a scalar");
  for (const char* name : {"--shape", "--scalar"}) check->get_option(name)->needs(device);
  check->callback(
      [=] { *command = [=] { return CheckAndPrint(arguments->bundle, arguments->check, arguments->json); }; });

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
