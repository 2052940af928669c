// tuneonce compile
#include <memory>
#include <optional>

#include "authoring/compiler_options.h"
#include "commands.h"
#include "console/numbers.h"
#include "console/output.h"
#include "records/output_check.h"
#include "source_arguments.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"

namespace tuneonce::cli {
namespace {

struct CompileArguments {
  SourceArguments source;
  std::string target;
  std::vector<std::string> hints;
  std::vector<std::string> options;
  std::string output;
  std::string timeout_ms;
  bool json = false;
};

void Print(const CompileArguments& arguments, const Artifact& artifact) {
  if (arguments.json) {
    nlohmann::ordered_json json = {{"file", arguments.source.file()},
                                   {"target", arguments.target},
                                   {"kernel", artifact.symbol},
                                   {"kernels", artifact.kernels},
                                   {"image_bytes", artifact.image.size()},
                                   {"registers", artifact.resources.registers},
                                   {"shared_bytes", artifact.resources.shared_bytes},
                                   {"local_bytes", artifact.resources.local_bytes},
                                   {"code_fingerprint", artifact.code_fingerprint.ToString()},
                                   {"compile_s", artifact.seconds},
                                   {"log", artifact.log},
                                   {"remarks", artifact.remarks}};
    json["output"] =
        arguments.output.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(arguments.output);
    return PrintJson(json);
  }
  PrintLine("%s for %s: %zu bytes in %.2f s; %d registers, %lld bytes shared, %lld bytes local",
            artifact.symbol.c_str(), arguments.target.c_str(), artifact.image.size(), artifact.seconds,
            artifact.resources.registers, static_cast<long long>(artifact.resources.shared_bytes),
            static_cast<long long>(artifact.resources.local_bytes));
  if (!artifact.log.empty()) PrintText(artifact.log + "\n");
  for (const std::string& remark : artifact.remarks) PrintLine("%s", remark.c_str());
}

/// Returns a compile's error. That a file without --symbol has several kernels is stated with the option's name.
Status WithSymbolNamed(const Status& error, const std::string& file) {
  const std::string unnamed = "no kernel '' in the image; its kernels are: ";
  const std::size_t at = error.message().find(unnamed);
  if (at == std::string::npos) return error;
  const std::string kernels = error.message().substr(at + unnamed.size());
  if (kernels.empty()) return InvalidArgumentError("'" + file + "' has no kernel");
  return InvalidArgumentError("'" + file + "' has several kernels, " + kernels + ": name one with --symbol");
}

Status Run(const CompileArguments& arguments) {
  if (!arguments.output.empty()) TUNEONCE_RETURN_IF_ERROR(CheckOutput(arguments.output, {arguments.source.file()}));
  TUNEONCE_ASSIGN_OR_RETURN(Target target, ParseGpuTarget(arguments.target));
  WaitLimits limits;
  if (!arguments.timeout_ms.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(const int timeout_ms, ParseCount("--timeout-ms", arguments.timeout_ms));
    limits.timeout = std::chrono::milliseconds(timeout_ms);
  }
  TUNEONCE_ASSIGN_OR_RETURN(KernelSource source, arguments.source.Read());
  TUNEONCE_RETURN_IF_ERROR(AddCompilerOptions(arguments.options, &source));
  TUNEONCE_ASSIGN_OR_RETURN(HintValues values, ParseHints(arguments.hints));
  if (!values.empty() && !IsTile(source.kind)) {
    return InvalidArgumentError("--hint applies to .tileir files, and to .cu files with --tile");
  }
  Hints hints = values.empty() ? Hints() : Hints(std::move(values));
  if (source.kind == SourceKind::kTileCpp) hints.Set(Hints::Update::kMerge);  // The text's own are defaults.
  TUNEONCE_ASSIGN_OR_RETURN(const Toolchain* toolchain, Runtime::Default()->toolchains().For(source.kind));
  Result<Artifact> artifact = toolchain->Compile(source, hints, target, limits);
  TUNEONCE_RETURN_IF_ERROR(WithSymbolNamed(artifact.status(), arguments.source.file()));
  if (!arguments.output.empty()) TUNEONCE_RETURN_IF_ERROR(WriteOutput(arguments.output, artifact->image));
  Print(arguments, *artifact);
  return Status();
}

}  // namespace

void AddCompile(CLI::App& app, Command* command) {
  CLI::App* compile = app.add_subcommand("compile", "Compile a .tileir, .ptx or .cu file to a cubin");
  auto arguments = std::make_shared<CompileArguments>();
  arguments->source.AddTo(compile);
  compile->add_option("--target", arguments->target, "GPU architecture, like sm_90")->required();
  compile->add_option("--hint", arguments->hints,
                      "a compiler hint, like occupancy=4 (.tileir, and .cu with --tile); may be repeated");
  compile->add_option("--option", arguments->options,
                      "a compiler option that can be an axis, like ftz=true or maxrregcount=64; may be repeated");
  compile->add_option("-o,--output", arguments->output, "the file for the cubin; default: only the report is printed");
  compile->add_option("--timeout-ms", arguments->timeout_ms, "kill the compiler after this time");
  compile->add_flag("--json", arguments->json, "Print JSON instead of text");
  compile->callback([=] { *command = [=] { return Run(*arguments); }; });
}

}  // namespace tuneonce::cli
