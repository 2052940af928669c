// tuneonce hints show | set | clear
#include <memory>
#include <utility>

#include "commands.h"
#include "console/numbers.h"
#include "console/output.h"
#include "inspect/tile_ir_hints.h"
#include "records/output_check.h"
#include "source_arguments.h"

namespace tuneonce::cli {
namespace {

struct HintsArguments {
  SourceArguments source;             ///< Of `show`.
  std::string lowered_for = "sm_90";  ///< Of `show`.
  std::string file;                   ///< Of `set` and `clear`.
  std::string target = "default";
  std::string entry;
  std::vector<std::string> hints;
  std::string output;
  bool merge = false;
  bool json = false;
};

void Print(const TileIrHints& module, const std::string& file, bool is_json) {
  if (is_json) {
    nlohmann::ordered_json json;
    json["file"] = file;
    json["bytecode_version"] = std::to_string(module.major) + "." + std::to_string(module.minor);
    json["entries"] = nlohmann::ordered_json::array();
    for (const TileIrHints::Entry& entry : module.entries) {
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
  for (const TileIrHints::Entry& entry : module.entries) {
    std::string parameters;
    for (const std::string& parameter : entry.parameters) parameters += (parameters.empty() ? "" : ", ") + parameter;
    PrintLine("entry %s(%s)", entry.name.c_str(), parameters.c_str());
    PrintLine("  hints: %s", entry.text.c_str());
  }
}

/// The Tile IR in the file, or that NVRTC makes of its CUDA Tile C++.
Result<std::string> ReadBytecode(const HintsArguments& arguments) {
  const SourceArguments& source = arguments.source;
  if (!source.IsCpp()) {
    TUNEONCE_RETURN_IF_ERROR(source.CheckCppOptions());
    return ReadInput(source.file());
  }
  TUNEONCE_ASSIGN_OR_RETURN(KernelSource text, source.Read());
  if (text.kind != SourceKind::kTileCpp) {
    return InvalidArgumentError("'" + source.file() + "' is CUDA C++, which has no hints; add --tile for tile kernels");
  }
  TUNEONCE_ASSIGN_OR_RETURN(Target target, ParseGpuTarget(arguments.lowered_for));
  return TileIrOf(text, target);
}

Status Show(const HintsArguments& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string bytecode, ReadBytecode(arguments));
  Result<TileIrHints> module = TileIrHints::Of(bytecode);
  TUNEONCE_RETURN_IF_ERROR(module.status().WithPrefix(arguments.source.file()));
  Print(*module, arguments.source.file(), arguments.json);
  return Status();
}

/// Writes the file with `hints`, and shows it.
Status Patch(const HintsArguments& arguments, const Hints& hints) {
  TUNEONCE_RETURN_IF_ERROR(CheckOutput(arguments.output, /*inputs=*/{}));  // It may be the file itself.
  TUNEONCE_ASSIGN_OR_RETURN(std::string bytecode, ReadInput(arguments.file));
  Result<PatchedTileIr> patched = PatchHints(bytecode, hints, arguments.entry);
  TUNEONCE_RETURN_IF_ERROR(patched.status().WithPrefix(arguments.file));
  TUNEONCE_RETURN_IF_ERROR(WriteOutput(arguments.output, patched->bytecode));
  for (const std::string& note : patched->notes) PrintNote("note: " + note);
  TUNEONCE_ASSIGN_OR_RETURN(TileIrHints after, TileIrHints::Of(patched->bytecode));
  Print(after, arguments.output, arguments.json);
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
  CLI::App* show = hints->add_subcommand("show", "Show entries, their parameters and hints");
  arguments->source.AddTo(show);
  show->add_option("--target", arguments->lowered_for, "the GPU for which CUDA Tile C++ is lowered; default sm_90");
  show->callback([=] { *command = [=] { return Show(*arguments); }; });

  auto add = [&](const char* name, const char* what) {
    CLI::App* sub = hints->add_subcommand(name, what);
    sub->add_option("FILE", arguments->file, "Tile IR bytecode")->required();
    return sub;
  };
  CLI::App* set = add("set", "Replace all hints (with --merge: keep those not named)");
  set->add_option("HINT", arguments->hints, "like occupancy=4 num_cta_in_cga=2")->required();
  set->add_option("--target", arguments->target, "whose hints: default, sm_90, ...");
  set->add_flag("--merge", arguments->merge, "keep the hints of other names and targets");
  CLI::App* clear = add("clear", "Remove all hints");
  for (CLI::App* sub : {show, set, clear}) sub->add_flag("--json", arguments->json, "JSON instead of text");
  for (CLI::App* sub : {set, clear}) {
    sub->add_option("--entry", arguments->entry, "only this entry; default: all");
    sub->add_option("-o,--output", arguments->output, "where the changed file goes; may be FILE itself")->required();
  }
  set->callback([=] { *command = [=] { return Set(*arguments); }; });
  clear->callback([=] { *command = [=] { return Patch(*arguments, Hints()); }; });
}

}  // namespace tuneonce::cli
