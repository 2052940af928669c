// tuneonce man: manual pages, made of the parser's own tree.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "command_tree.h"
#include "commands.h"
#include "console/output.h"
#include "records/output_check.h"

namespace tuneonce::cli {
namespace {

/// Text in roff: nothing of it is a request, and what looks like a minus is one.
std::string Roff(const std::string& text) {
  std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}, {"\n", " "}});
  if (!escaped.empty() && (escaped.front() == '.' || escaped.front() == '\'')) escaped.insert(0, "\\&");
  return escaped;
}

/// "\fB\-\-store\fR \fIFILE\fR"
std::string Head(const CommandOption& option) {
  std::string names = absl::StrJoin(option.names, ", ", [](std::string* out, const std::string& name) {
    absl::StrAppend(out, "\\fB", Roff(name), "\\fR");
  });
  if (option.names.empty()) return absl::StrCat("\\fI", Roff(absl::AsciiStrToUpper(option.positional)), "\\fR");
  return option.takes_value ? absl::StrCat(names, " \\fI", Roff(option.type), "\\fR") : names;
}

std::string Synopsis(const CommandTree& tree) {
  std::string text = absl::StrCat(".B ", Roff(tree.path), "\n");
  if (!tree.children.empty()) absl::StrAppend(&text, "\\fICOMMAND\\fR\n");
  for (const CommandOption& option : tree.options) {
    if (option.names.empty()) {
      absl::StrAppend(&text, option.is_required ? "" : "[", Head(option), option.is_required ? "" : "]",
                      option.is_repeated ? "...\n" : "\n");
    }
  }
  return absl::StrCat(text, "[\\fIOPTION\\fR]...\n");
}

std::string Options(const CommandTree& tree) {
  std::string text;
  for (const CommandOption& option : tree.options) {
    if (option.is_inherited) continue;  // The whole command's page has it.
    absl::StrAppend(&text, ".TP\n", Head(option), option.is_repeated ? " (may be repeated)" : "", "\n",
                    option.description.empty() ? "\\&" : Roff(option.description), "\n");
    if (!option.choices.empty() && !option.names.empty()) {
      absl::StrAppend(&text, "(", Roff(absl::StrJoin(option.choices, ", ")), ")\n");
    }
  }
  return text;
}

/// Sub-commands, those below them too.
void AppendCommands(const CommandTree& tree, std::string* text) {
  for (const CommandTree& child : tree.children) {
    absl::StrAppend(text, ".SS ", Roff(child.path), "\n", Roff(child.description), "\n.PP\n", Synopsis(child),
                    Options(child));
    AppendCommands(child, text);
  }
}

std::string PageName(const CommandTree& tree) { return absl::StrReplaceAll(tree.path, {{" ", "-"}}); }

/// The page of a command; the whole command's lists the others.
std::string Page(const CommandTree& tree, bool is_root) {
  std::string text =
      absl::StrCat(".TH \"", absl::AsciiStrToUpper(Roff(PageName(tree))), "\" 1 \"\" \"tuneonce ", TUNEONCE_VERSION,
                   "\" \"User Commands\"\n.SH NAME\n", Roff(PageName(tree)), " \\- ", Roff(tree.description),
                   "\n.SH SYNOPSIS\n", Synopsis(tree), ".SH OPTIONS\n", Options(tree));
  if (is_root) {
    absl::StrAppend(&text, ".SH COMMANDS\n");
    for (const CommandTree& child : tree.children) {
      absl::StrAppend(&text, ".TP\n\\fB", Roff(PageName(child)), "\\fR(1)\n", Roff(child.description), "\n");
    }
  } else if (!tree.children.empty()) {
    absl::StrAppend(&text, ".SH COMMANDS\n");
    AppendCommands(tree, &text);
  }
  absl::StrAppend(
      &text,
      ".SH EXIT STATUS\n0 on success, 1 when a command failed, 2 when the command line was not understood, 3 when "
      "tuneonce compare finds that B should not take the place of A; a command that a signal ended dies of it.\n");
  if (!is_root) absl::StrAppend(&text, ".SH SEE ALSO\n\\fBtuneonce\\fR(1)\n");
  return text;
}

Status WritePages(const CommandTree& tree, const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> pages;  // By path.
  pages.emplace_back(folder + "/" + PageName(tree) + ".1", Page(tree, /*is_root=*/true));
  for (const CommandTree& child : tree.children) {
    pages.emplace_back(folder + "/" + PageName(child) + ".1", Page(child, /*is_root=*/false));
  }
  for (const auto& [path, page] : pages) TUNEONCE_RETURN_IF_ERROR(CheckOutput(path, /*inputs=*/{}));
  for (const auto& [path, page] : pages) TUNEONCE_RETURN_IF_ERROR(WriteOutput(path, page));
  return Status();
}

Status Man(const CommandTree& tree, const std::string& name, const std::string& folder) {
  if (!folder.empty()) return WritePages(tree, folder);
  if (name.empty()) {
    PrintText(Page(tree, /*is_root=*/true));
    return Status();
  }
  std::vector<std::string> names;
  for (const CommandTree& child : tree.children) {
    if (child.name != name) {
      names.push_back(child.name);
      continue;
    }
    PrintText(Page(child, /*is_root=*/false));
    return Status();
  }
  return NotFoundError(absl::StrCat("unknown command '", name, "'; the commands are: ", NamesLike(names, name)));
}

}  // namespace

void AddMan(CLI::App& app, Command* command) {
  CLI::App* man = app.add_subcommand("man", "Print a manual page (tuneonce man | man -l -), or write all of them");
  struct Arguments {
    std::string name;
    std::string folder;
  };
  auto arguments = std::make_shared<Arguments>();
  man->add_option("command", arguments->name, "The command whose page is printed (default: tuneonce)");
  man->add_option("--folder", arguments->folder, "Write all pages into this folder instead")->type_name("FOLDER");
  man->callback([=] { *command = [=] { return Man(TreeOf(RootOf(*man)), arguments->name, arguments->folder); }; });
}

}  // namespace tuneonce::cli
