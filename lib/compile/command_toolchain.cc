#include "compile/command_toolchain.h"

#include <chrono>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "compile/cubin.h"
#include "compile/dependency_file.h"
#include "compile/nvrtc_source.h"
#include "compile/tile_cpp_toolchain.h"
#include "compile/toolbox.h"
#include "tuneonce/plugin/toolchain.h"

namespace tuneonce {
inline namespace v0 {

namespace {

/// The error of a compiler, and what it had remarked by then, which may be the cause.
Status WithRemarks(const Status& failed, const std::vector<std::string>& remarks) {
  if (remarks.empty()) return failed;
  return Status(failed.code(),
                absl::StrCat(failed.message(), "\nremarks of the compiler:\n", absl::StrJoin(remarks, "\n")));
}

}  // namespace

Result<std::string> CommandToolchain::Version() const {
  TUNEONCE_ASSIGN_OR_RETURN(CompilerCommand command, row_.find(*tools_));
  return std::move(command.version);
}

std::string CommandToolchain::Description() const {
  Result<CompilerCommand> command = row_.find(*tools_);
  return command.ok() ? command->description : command.status().message();
}

Result<Artifact> CommandToolchain::DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                                             const WaitLimits& limits) const {
  if (target.is_cpu_device != (row_.kind == SourceKind::kCpuCpp)) {
    return InvalidArgumentError(
        absl::StrCat("a ", std::string(SourceKindName(row_.kind)), " source ",
                     target.is_cpu_device ? "cannot run on the CPU device" : "runs on the CPU device only"));
  }
  const Result<CompilerCommand> found = row_.find(*tools_);
  const CompilerCommand command = found.ok() ? *found : CompilerCommand();
  TUNEONCE_ASSIGN_OR_RETURN(const TemporaryFolder folder, tools_->MakeFolder());
  CommandRun run{source, hints, target, limits, *tools_, folder, command};
  TUNEONCE_RETURN_IF_ERROR(row_.prepare(&run));  // An error of the source comes before that of a missing compiler.
  TUNEONCE_RETURN_IF_ERROR(found.status());
  TUNEONCE_ASSIGN_OR_RETURN(std::string input, folder.WriteFile(row_.input, run.text));
  const std::string output = absl::StrCat(folder.path(), "/", row_.output);
  std::vector<std::string> arguments = command.words;
  arguments.insert(arguments.end(), run.arguments.begin(), run.arguments.end());
  arguments.insert(arguments.end(), {input, "-o", output});
  run.started = FileClock();
  const auto start = std::chrono::steady_clock::now();
  Result<std::string> log = RunCompiler(arguments, folder, limits, run.environment);
  if (row_.remarks != nullptr) run.artifact.remarks = row_.remarks(run);
  if (!log.ok()) return WithRemarks(log.status(), run.artifact.remarks);
  run.artifact.log = *std::move(log);
  run.artifact.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Result<std::string> image = ReadFile(output);
  if (!image.ok() || image->empty()) {
    return InternalError(absl::StrCat(arguments[0], " exited with code 0, but its output file is missing or empty"));
  }
  run.artifact.image = *std::move(image);
  TUNEONCE_RETURN_IF_ERROR(row_.finish(&run));
  if (!run.note.empty()) absl::StrAppend(&run.artifact.log, run.artifact.log.empty() ? "" : "\n", run.note);
  return std::move(run.artifact);
}

ToolchainSet BuiltInToolchains(const Environment& environment) {
  auto tools = std::make_shared<const Toolbox>(environment);
  auto command = [&](const CompilerRow& row) { return std::make_shared<CommandToolchain>(row, tools); };
  return ToolchainSet({command(kTileiras), command(kPtxas), std::make_shared<NvrtcToolchain>(tools),
                       std::make_shared<TileCppToolchain>(tools), command(kHostCompiler),
                       std::make_shared<CubinToolchain>()});
}

}  // namespace v0
}  // namespace tuneonce
