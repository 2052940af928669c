// tuneonce hints show | set | clear
#include <memory>

#include "commands.h"
#include "files.h"
#include "hint_arguments.h"
#include "output.h"
#include "tile_ir/tile_ir.h"

namespace tuneonce::cli {
namespace {

struct HintsArguments {
  std::string file;
  std::string target = "default";
  std::string entry;
  std::vector<std::string> hints;
  std::string output;
  bool merge = false;
  bool json = false;
};

void Print(const TileIrModule& module, const HintsArguments& arguments) {
  if (arguments.json) {
    nlohmann::ordered_json json;
    json["file"] = arguments.output.empty() ? arguments.file : arguments.output;
    json["bytecode_version"] = std::to_string(module.major) + "." + std::to_string(module.minor);
    json["entries"] = nlohmann::ordered_json::array();
    for (const TileIrEntry& entry : module.entries) {
      nlohmann::ordered_json hints = nlohmann::ordered_json::object();
      for (const auto& [target, values] : entry.hints) {
        hints[target] = nlohmann::ordered_json::object();
        for (const auto& [name, value] : values) hints[target][name] = std::int64_t{value};
      }
      json["entries"].push_back({{"name", entry.name}, {"parameters", entry.parameters}, {"hints", hints}});
    }
    return PrintJson(json);
  }
  PrintLine("Tile IR bytecode %d.%d", module.major, module.minor);
  for (const TileIrEntry& entry : module.entries) {
    std::string parameters;
    for (const std::string& parameter : entry.parameters) parameters += (parameters.empty() ? "" : ", ") + parameter;
    PrintLine("entry %s(%s)", entry.name.c_str(), parameters.c_str());
    PrintLine("  hints: %s", HintsByTargetString(entry.hints).c_str());
  }
}

Status Show(const HintsArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string bytecode, ReadFile(arguments.file));
  Result<TileIrModule> module = ReadTileIr(bytecode);
  TUNEONCE_RETURN_IF_ERROR(module.status().WithPrefix(arguments.file));
  Print(*module, arguments);
  return Status();
}

/// Writes the file with `hints`, and shows it.
Status Patch(const HintsArguments& arguments, const Hints& hints) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string bytecode, ReadFile(arguments.file));
  Result<TileIrModule> before = ReadTileIr(bytecode);
  TUNEONCE_RETURN_IF_ERROR(before.status().WithPrefix(arguments.file));
  Result<std::string> patched = PatchTileIrHints(bytecode, hints, arguments.entry);
  TUNEONCE_RETURN_IF_ERROR(patched.status().WithPrefix(arguments.file));
  TUNEONCE_RETURN_IF_ERROR(WriteFile(arguments.output, *patched));
  for (const TileIrEntry& entry : before->entries) {
    std::string note = hints.empty() ? "" : BakedHintsNote(entry, hints);
    if (!note.empty()) PrintNote("note: " + note);
  }
  TUNEONCE_ASSIGN_OR_RETURN(TileIrModule after, ReadTileIr(*patched));
  Print(after, arguments);
  return Status();
}

Status Set(const HintsArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(HintValues values, ParseHints(arguments.hints));
  Hints hints(ByTarget<HintValues>({{arguments.target, std::move(values)}}));
  return Patch(arguments, hints.Set(arguments.merge ? Hints::Update::kMerge : Hints::Update::kReplace));
}

}  // namespace

void AddHints(CLI::App& app, Command* command) {
  CLI::App* hints = app.add_subcommand("hints", "Show or change the compiler hints in Tile IR bytecode");
  hints->require_subcommand(1);
  auto arguments = std::make_shared<HintsArguments>();
  auto add = [&](const char* name, const char* what) {
    CLI::App* sub = hints->add_subcommand(name, what);
    sub->add_option("FILE", arguments->file, "Tile IR bytecode")->required();
    sub->add_flag("--json", arguments->json, "Print JSON instead of text");
    return sub;
  };
  CLI::App* show = add("show", "Show entries with their parameters and hints");
  show->callback([=] { *command = [=] { return Show(*arguments); }; });

  CLI::App* set = add("set", "Replace all hints (with --merge: keep hints that are not named)");
  set->add_option("HINT", arguments->hints, "like occupancy=4 num_cta_in_cga=2")->required();
  set->add_option("--target", arguments->target, "whose hints: default, sm_90, ...");
  set->add_flag("--merge", arguments->merge, "keep the hints of other names and targets");
  CLI::App* clear = add("clear", "Remove all hints");
  for (CLI::App* sub : {set, clear}) {
    sub->add_option("--entry", arguments->entry, "only this entry; default: all");
    sub->add_option("-o,--output", arguments->output, "where the changed file goes; may be FILE itself")->required();
  }
  set->callback([=] { *command = [=] { return Set(*arguments); }; });
  clear->callback([=] { *command = [=] { return Patch(*arguments, Hints()); }; });
}

}  // namespace tuneonce::cli
