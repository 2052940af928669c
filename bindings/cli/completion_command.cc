// tuneonce completion bash|zsh|fish: what a shell needs to complete the command, made of the parser's own tree.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "command_tree.h"
#include "commands.h"
#include "console/output.h"

namespace tuneonce::cli {
namespace {

/// In single quotes of bash and zsh.
std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

/// A function name's part: "tuneonce records list" as "tuneonce__records__list".
std::string FunctionOf(const CommandTree& tree) { return "_" + absl::StrReplaceAll(tree.path, {{" ", "__"}}); }

/// Returns the possible next words: sub-commands, options, and likely positionals.
std::string WordsOf(const CommandTree& tree) {
  std::vector<std::string> words;
  for (const CommandTree& child : tree.children) words.push_back(child.name);
  for (const CommandOption& option : tree.options) {
    words.insert(words.end(), option.names.begin(), option.names.end());
    if (!option.positional.empty()) words.insert(words.end(), option.choices.begin(), option.choices.end());
  }
  return absl::StrJoin(words, " ");
}

void AppendBashCases(const CommandTree& tree, std::string* commands, std::string* values, std::string* words) {
  for (const CommandTree& child : tree.children) {
    absl::StrAppend(commands, "      ", Quoted(child.path), ") path=", Quoted(child.path), " ;;\n");
    AppendBashCases(child, commands, values, words);
  }
  for (const CommandOption& option : tree.options) {
    if (!option.takes_value) continue;
    for (const std::string& name : option.names) {
      absl::StrAppend(values, "    ", Quoted(tree.path + " " + name),
                      ") values=", Quoted(absl::StrJoin(option.choices, " ")), " ;;\n");
    }
  }
  absl::StrAppend(words, "    ", Quoted(tree.path), ") words=", Quoted(WordsOf(tree)), " ;;\n");
}

std::string BashText(const CommandTree& tree) {
  std::string commands, values, words;
  AppendBashCases(tree, &commands, &values, &words);
  // Where nothing is suggested bash completes file names (-o default). _tuneonce_values sets its caller's `values`, and
  // fails for what takes no value.
  return absl::StrCat(R"(# bash completion for tuneonce, by: tuneonce completion bash
_tuneonce_values() {
  case "$1" in
)",
                      values, R"(    *) return 1 ;;
  esac
}
_tuneonce() {
  local current=${COMP_WORDS[COMP_CWORD]} path=tuneonce words= values i
  for ((i = 1; i < COMP_CWORD; i++)); do
    if _tuneonce_values "$path ${COMP_WORDS[i]}"; then
      if ((i + 1 == COMP_CWORD)); then
        COMPREPLY=($(compgen -W "$values" -- "$current"))
        return
      fi
      ((i++))
      continue
    fi
    case "$path ${COMP_WORDS[i]}" in
)",
                      commands, R"(    esac
  done
  case "$path" in
)",
                      words, R"(  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _tuneonce tuneonce
)");
}

/// Within a specification of _arguments.
std::string ZshText(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}

std::string ZshAction(const CommandOption& option) {
  const std::string name = option.positional.empty() ? option.type : option.positional;
  const std::string values =
      option.choices.empty() ? "_files" : absl::StrCat("(", absl::StrJoin(option.choices, " "), ")");
  return absl::StrCat(":", ZshText(name), ":", values);
}

void AppendZsh(const CommandTree& tree, std::string* text) {
  for (const CommandTree& child : tree.children) AppendZsh(child, text);
  absl::StrAppend(text, FunctionOf(tree), "() {\n");
  std::string specifications;
  for (const CommandOption& option : tree.options) {
    for (const std::string& name : option.names) {
      absl::StrAppend(&specifications, " \\\n    ",
                      Quoted(absl::StrCat(option.is_repeated ? "*" : "", name, "[", ZshText(option.description), "]",
                                          option.takes_value ? ZshAction(option) : "")));
    }
    if (option.positional.empty()) continue;
    absl::StrAppend(&specifications, " \\\n    ", Quoted((option.is_repeated ? "*" : "") + ZshAction(option)));
  }
  if (tree.children.empty()) {
    absl::StrAppend(text, "  _arguments", specifications, "\n}\n");
    return;
  }
  absl::StrAppend(text, "  local curcontext=$curcontext state line\n  local -a commands=(");
  for (const CommandTree& child : tree.children) {
    absl::StrAppend(text, "\n    ", Quoted(absl::StrCat(child.name, ":", child.description)));
  }
  absl::StrAppend(text, ")\n  _arguments -C", specifications,
                  " \\\n    '1:command:->command' \\\n    '*::argument:->argument'\n"
                  "  case $state in\n    command) _describe command commands ;;\n    argument)\n"
                  "      case $words[1] in\n");
  for (const CommandTree& child : tree.children) {
    absl::StrAppend(text, "        ", child.name, ") ", FunctionOf(child), " ;;\n");
  }
  absl::StrAppend(text, "      esac ;;\n  esac\n}\n");
}

std::string ZshText(const CommandTree& tree) {
  std::string text = "#compdef tuneonce\n# zsh completion for tuneonce, by: tuneonce completion zsh\n";
  AppendZsh(tree, &text);
  // As a file of fpath it is the function's body. When sourced, it registers itself.
  return text +
         "if [[ $funcstack[1] == _tuneonce ]]; then\n  _tuneonce \"$@\"\nelse\n  compdef _tuneonce tuneonce\nfi\n";
}

std::string FishQuoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

/// `seen`: the sub-commands on the way to `tree`.
void AppendFish(const CommandTree& tree, const std::string& seen, std::string* text) {
  std::vector<std::string> names;
  for (const CommandTree& child : tree.children) names.push_back(child.name);
  std::string here = seen;
  if (!names.empty()) {
    absl::StrAppend(&here, here.empty() ? "" : "; and ", "not __fish_seen_subcommand_from ", absl::StrJoin(names, " "));
  }
  const std::string begin =
      absl::StrCat("complete -c tuneonce", here.empty() ? "" : absl::StrCat(" -n ", FishQuoted(here)));
  for (const CommandTree& child : tree.children) {
    absl::StrAppend(text, begin, " -f -a ", child.name, " -d ", FishQuoted(child.description), "\n");
  }
  for (const CommandOption& option : tree.options) {
    std::string line = begin;
    for (const std::string& name : option.names) {
      const bool is_long = name.compare(0, 2, "--") == 0;
      absl::StrAppend(&line, is_long ? " -l " : " -s ", name.substr(is_long ? 2 : 1));
    }
    const std::string values = FishQuoted(absl::StrJoin(option.choices, " "));
    const bool is_positional = option.names.empty();
    if (is_positional && option.choices.empty()) continue;  // Files, which fish completes by itself.
    if (option.takes_value && !is_positional) absl::StrAppend(&line, option.choices.empty() ? " -r -F" : " -x");
    if (!option.choices.empty()) absl::StrAppend(&line, " -a ", values);
    absl::StrAppend(text, line, " -d ", FishQuoted(option.description), "\n");
  }
  for (const CommandTree& child : tree.children) {
    AppendFish(child, absl::StrCat(seen, seen.empty() ? "" : "; and ", "__fish_seen_subcommand_from ", child.name),
               text);
  }
}

std::string FishText(const CommandTree& tree) {
  std::string text = "# fish completion for tuneonce, by: tuneonce completion fish\n";
  AppendFish(tree, "", &text);
  return text;
}

}  // namespace

void AddCompletion(CLI::App& app, Command* command) {
  CLI::App* completion = app.add_subcommand(
      "completion", "Print what a shell needs to complete this command: source <(tuneonce completion bash)");
  auto shell = std::make_shared<std::string>();
  completion->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([=] {
    *command = [=] {
      const CommandTree tree = TreeOf(RootOf(*completion));
      PrintText(*shell == "bash" ? BashText(tree) : *shell == "zsh" ? ZshText(tree) : FishText(tree));
      return Status();
    };
  });
}

}  // namespace tuneonce::cli
