#ifndef TUNEONCE_BINDINGS_CLI_COMMANDS_H_
#define TUNEONCE_BINDINGS_CLI_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "tuneonce/status.h"

namespace tuneonce::cli {

/// A command to run once the command line was understood. Prints its own output; its error is printed by main.
using Command = std::function<Status()>;

/// Each adds one sub-command to `app`, and sets `*command` when the user chose it.
void AddDoctor(CLI::App& app, Command* command);
void AddTune(CLI::App& app, Command* command);
void AddCompile(CLI::App& app, Command* command);
void AddHints(CLI::App& app, Command* command);
void AddRecords(CLI::App& app, Command* command);
void AddBundle(CLI::App& app, Command* command);
void AddSpace(CLI::App& app, Command* command);
/// Of the commands that were added before; they read the whole tree when they run.
void AddCompletion(CLI::App& app, Command* command);
void AddMan(CLI::App& app, Command* command);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_COMMANDS_H_
