#ifndef TUNEONCE_BINDINGS_CLI_COMMAND_TREE_H_
#define TUNEONCE_BINDINGS_CLI_COMMAND_TREE_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tuneonce::cli {

/// An option, a flag or a positional of a command, as the parser has it. A value.
struct CommandOption {
  std::vector<std::string> names;  ///< "-o", "--output"; of a positional none.
  std::string positional;          ///< The name of a positional. Empty for an option, which has `names`.
  std::string description;
  bool takes_value = false;
  bool is_repeated = false;
  bool is_required = false;
  bool is_inherited = false;         ///< The option is that of a parent command, which accepts it here too.
  std::string type;                  ///< "TEXT", "DEVICE": what the value is called.
  std::vector<std::string> choices;  ///< All values that it takes, or that are likely; empty for a file or any text.
};

/// A command with its sub-commands: what completions and manual pages are made of.
struct CommandTree {
  std::string name;  ///< "records"
  std::string path;  ///< "tuneonce records"
  std::string description;
  std::vector<CommandOption> options;
  std::vector<CommandTree> children;
};

/// The parser's commands, as they are now.
CommandTree TreeOf(const CLI::App& app);
/// The root of the parser that `command` belongs to.
const CLI::App& RootOf(const CLI::App& command);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_COMMAND_TREE_H_
