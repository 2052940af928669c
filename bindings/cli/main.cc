// The command line: exit code 0 only on success, one clear line on stderr otherwise.
#include <cstdio>
#include <string>

#include "commands.h"

namespace {

bool IsCommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("tuneonce: tunes GPU kernels once and launches them for ever");
  app.require_subcommand(1);
  tuneonce::cli::Command command;
  tuneonce::cli::AddDoctor(app, &command);
  tuneonce::cli::AddTune(app, &command);
  tuneonce::cli::AddCompile(app, &command);
  tuneonce::cli::AddHints(app, &command);
  tuneonce::cli::AddRecords(app, &command);
  if (argc > 1 && argv[1][0] != '-' && !IsCommand(app, argv[1])) {
    std::fprintf(
        stderr, "tuneonce: unknown command '%s': choose doctor, tune, compile, hints or records; see tuneonce --help\n",
        argv[1]);
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help
    std::fprintf(stderr, "tuneonce: %s; see tuneonce --help\n", e.what());
    return 2;
  }
  tuneonce::Status status = command();
  if (!status.ok()) {
    std::string line = status.ToString();
    for (char& c : line) {
      if (c == '\n') c = ' ';  // A compiler's message has many lines; an error here has one.
    }
    std::fprintf(stderr, "tuneonce: %s\n", line.c_str());
    return 1;
  }
  return 0;
}
