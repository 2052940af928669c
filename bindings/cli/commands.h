#ifndef TUNEONCE_BINDINGS_CLI_COMMANDS_H_
#define TUNEONCE_BINDINGS_CLI_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "tuneonce/result.h"

namespace tuneonce::cli {

/// A command to run once the command line was understood. Prints its own output; its error is printed by main.
using Command = std::function<Status()>;

/// The exit code of a verdict that is neither a success nor a failure of the command. 1 is a failure, 2 a usage error.
inline constexpr int kRevertExitCode = 3;

/// Each adds one sub-command to `app`, and sets `*command` when the user chose it.
void AddDoctor(CLI::App& app, Command* command);
void AddTune(CLI::App& app, Command* command);
/// `*exit_code`: what the process ends with if the command succeeds; kRevertExitCode where B should not take A's place.
void AddCompare(CLI::App& app, Command* command, int* exit_code);
void AddCompile(CLI::App& app, Command* command);
void AddHints(CLI::App& app, Command* command);
void AddRecords(CLI::App& app, Command* command);
void AddReport(CLI::App& app, Command* command);
void AddBundle(CLI::App& app, Command* command);
void AddSpace(CLI::App& app, Command* command);
/// Adds completion for the commands that were added before. It reads the whole tree when it runs.
void AddCompletion(CLI::App& app, Command* command);
void AddMan(CLI::App& app, Command* command);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_COMMANDS_H_
