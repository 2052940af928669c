// The command line. The exit code is 0 only on success. Otherwise stderr has one line with the error and one with what
// to do. (A verdict of `compare` has an exit code of its own.)
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "commands.h"
#include "console/output.h"
#include "interrupts.h"

namespace tuneonce::cli {
namespace {

/// Takes descriptors 0 to 2 where the caller has closed them, since a store that got one of them would be printed into.
/// Each is open the wrong way round, so that using it is an error.
void ReserveStandardDescriptors() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest that is free, which is this one: those below are taken.
    if (open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

/// Returns the command that was given last: "records" in `tuneonce records foo`.
const CLI::App& LastCommand(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

/// Returns the word in the place of a command, if there is one.
std::string UnknownCommand(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(/*recurse=*/true);
  const bool needs_command = LastCommand(app).get_require_subcommand_min() > 0;
  return needs_command && !words.empty() && words.front().rfind('-', 0) != 0 ? words.front() : "";
}

/// Returns what is wrong where a command is missing: the word in its place, and the commands that there are. Empty
/// where none is missing.
std::string WhyNoCommand(const CLI::App& app) {
  const CLI::App& last = LastCommand(app);
  std::string names;
  for (const CLI::App* each : last.get_subcommands([](const CLI::App*) { return true; })) {
    if (!each->get_name().empty()) names += (names.empty() ? "" : ", ") + each->get_name();
  }
  if (last.get_require_subcommand_min() == 0 || names.empty()) return "";
  const std::string above = &last == &app ? "" : last.get_name() + " ";
  const std::string word = UnknownCommand(app);
  if (!word.empty()) return "unknown command '" + above + word + "': choose one of " + names;
  return "A subcommand is required: choose one of " + names;
}

/// The exit code.
int Report(const Status& status, bool verbose) {
  if (status.ok()) return 0;
  PrintError(status.ToString(), verbose);
  return 1;
}

/// Prints a usage error and where to find help: that of the named command, if it exists.
int ReportMistake(const CLI::App& app, const std::string& what) {
  std::string command = LastCommand(app).get_name();
  for (const CLI::App* at = LastCommand(app).get_parent(); at != nullptr; at = at->get_parent()) {
    command = at->get_name() + " " + command;
  }
  PrintError(Remedied(InvalidArgumentError(OneLine(what)), command + " --help").message(), /*verbose=*/false);
  return 2;
}

int Run(int argc, char** argv) {
  CLI::App app("Tunes GPU kernels once and launches them forever", "tuneonce");
  app.require_subcommand(1);
  app.fallthrough();  // --verbose behind a sub-command, too.
  bool verbose = false;
  app.add_flag("--verbose", verbose,
               "Print the full error instead of its first line; for tune also warnings about the code");
  app.set_version_flag("--version", "tuneonce " TUNEONCE_VERSION);
  Command command;
  AddDoctor(app, &command);
  AddTune(app, &command);
  int success = 0;
  AddCompare(app, &command, &success);
  AddCompile(app, &command);
  AddHints(app, &command);
  AddRecords(app, &command);
  AddReport(app, &command);
  AddBundle(app, &command);
  AddSpace(app, &command);
  AddCompletion(app, &command);
  AddMan(app, &command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0 && UnknownCommand(app).empty()) {  // --help, --version
      app.exit(e);
      return Report(CloseOutput(), verbose);
    }
    const std::string why = WhyNoCommand(app);
    return ReportMistake(app, why.empty() ? e.what() : why);
  }
  Status status = command();
  int code = Report(status.ok() ? CloseOutput() : status, verbose);
  if (code == 0) code = success;
  std::fflush(stdout);
  DieOfInterrupt();
  return code;
}

}  // namespace
}  // namespace tuneonce::cli

int main(int argc, char** argv) {
  tuneonce::cli::ReserveStandardDescriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // A file that may not grow is then an error of the write, which names the file.
  try {
    return tuneonce::cli::Run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("tuneonce: out of memory\n", stderr);  // Without a string, which could throw again.
  } catch (const std::exception& e) {
    tuneonce::PrintError(std::string("Internal: ") + e.what(), /*verbose=*/true);
  } catch (...) {
    tuneonce::PrintError("Internal: an exception of an unknown type", /*verbose=*/true);
  }
  return 1;
}
