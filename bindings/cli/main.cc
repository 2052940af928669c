// The command line: exit code 0 only on success, one clear line on stderr otherwise.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "commands.h"
#include "output.h"

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

bool IsCommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) return true;
  }
  return false;
}

/// The exit code.
int Report(const Status& status) {
  if (status.ok()) return 0;
  PrintError(status.ToString());
  return 1;
}

int Run(int argc, char** argv) {
  CLI::App app("tuneonce: tunes GPU kernels once and launches them for ever");
  app.require_subcommand(1);
  Command command;
  AddDoctor(app, &command);
  AddTune(app, &command);
  AddCompile(app, &command);
  AddHints(app, &command);
  AddRecords(app, &command);
  AddBundle(app, &command);
  if (argc > 1 && argv[1][0] != '-' && !IsCommand(app, argv[1])) {
    PrintError("unknown command '" + std::string(argv[1]) +
               "': choose doctor, tune, compile, hints, records or bundle; see tuneonce --help");
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {  // --help
      app.exit(e);
      return Report(CloseOutput());
    }
    PrintError(std::string(e.what()) + "; see tuneonce --help");
    return 2;
  }
  Status status = command();
  return Report(status.ok() ? CloseOutput() : status);
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
    tuneonce::cli::PrintError(std::string("Internal: ") + e.what());
  } catch (...) {
    tuneonce::cli::PrintError("Internal: an exception of an unknown type");
  }
  return 1;
}
