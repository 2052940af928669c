#include "command_tree.h"

#include "absl/strings/str_split.h"
#include "tuneonce/bundle.h"

namespace tuneonce::cli {
namespace {

/// Likely values, by what the parser calls the value.
std::vector<std::string> Suggestions(const std::string& type) {
  if (type == "DEVICE") return {"auto", "cpu", "cuda"};
  if (type == "BUNDLE") return Bundle::Names();
  return {};
}

/// Reads the type and the choices from a text such as "TEXT:{cupti,events}".
void ReadType(const std::string& text, CommandOption* option) {
  const std::size_t brace = text.find(":{");
  option->type = text.substr(0, brace);
  if (brace == std::string::npos || text.back() != '}') {
    option->choices = Suggestions(option->type);
    return;
  }
  const std::string choices = text.substr(brace + 2, text.size() - brace - 3);
  for (absl::string_view choice : absl::StrSplit(choices, ',')) option->choices.emplace_back(choice);
}

CommandOption OptionOf(const CLI::Option& from) {
  CommandOption option;
  for (const std::string& name : from.get_snames()) option.names.push_back("-" + name);
  for (const std::string& name : from.get_lnames()) option.names.push_back("--" + name);
  if (from.get_positional()) option.positional = from.get_name(true);
  option.description = from.get_description();
  option.takes_value = from.get_items_expected_max() > 0;
  option.is_repeated = from.get_items_expected_max() > 1;
  option.is_required = from.get_required();
  if (option.takes_value) ReadType(from.get_type_name(), &option);
  return option;
}

CommandTree TreeBelow(const CLI::App& app, const std::string& above, const std::vector<CommandOption>& inherited) {
  CommandTree tree;
  tree.name = app.get_name();
  tree.path = above.empty() ? tree.name : above + " " + tree.name;
  tree.description = app.get_description();
  for (const CLI::Option* option : app.get_options()) tree.options.push_back(OptionOf(*option));
  tree.options.insert(tree.options.end(), inherited.begin(), inherited.end());
  std::vector<CommandOption> below = inherited;
  for (const CLI::Option* option : app.get_options()) {
    const bool is_answer = option == app.get_help_ptr() || option->check_name("--version");
    if (app.get_fallthrough() && !option->get_positional() && !is_answer) below.push_back(OptionOf(*option));
  }
  for (CommandOption& option : below) option.is_inherited = true;
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (child->get_name().empty()) {  // A group of options, which is the command's own.
      for (const CLI::Option* option : child->get_options()) tree.options.push_back(OptionOf(*option));
    } else if (!child->get_group().empty()) {
      tree.children.push_back(TreeBelow(*child, tree.path, below));
    }
  }
  return tree;
}

}  // namespace

CommandTree TreeOf(const CLI::App& app) { return TreeBelow(app, "", {}); }

const CLI::App& RootOf(const CLI::App& command) {
  const CLI::App* root = &command;
  while (root->get_parent() != nullptr) root = root->get_parent();
  return *root;
}

}  // namespace tuneonce::cli
