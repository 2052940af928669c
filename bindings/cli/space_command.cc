// tuneonce space show
#include <map>
#include <memory>

#include "commands.h"
#include "inspect/shown_family.h"
#include "numbers.h"
#include "output.h"
#include "source_arguments.h"

namespace tuneonce::cli {
namespace {

struct SpaceArguments {
  std::string family;
  std::vector<std::string> targets;
  std::vector<std::string> shape;
  std::vector<std::string> where;
  bool json = false;
};

/// `in_full`: each config on a line, too.
void PrintTarget(const ShownFamily::OnTarget& shown, bool in_full) {
  const std::string target = shown.target.name();
  if (!shown.status.ok()) return PrintLine("%s: no configs: %s", target.c_str(), shown.status.message().c_str());
  PrintLine("%s: %zu configs, baseline {%s}", target.c_str(), shown.configs.size(),
            shown.baseline ? shown.baseline->ToString().c_str() : "");
  for (const Config& config : shown.configs) {
    if (!in_full) return;
    const bool is_baseline = shown.baseline && shown.baseline->IsSame(config);
    PrintLine("  %s %s", is_baseline ? "*" : " ", config.ToString().c_str());
  }
}

Status Show(const SpaceArguments& arguments) {
  std::vector<Target> targets;
  for (const std::string& name : arguments.targets) {
    TUNEONCE_ASSIGN_OR_RETURN(Target target, Target::Named(name));
    targets.push_back(target);
  }
  TUNEONCE_ASSIGN_OR_RETURN(auto extents, ParseIntegers(arguments.shape, "extent"));
  TUNEONCE_ASSIGN_OR_RETURN(ShownFamily shown,
                            ShownFamily::Of(arguments.family, std::move(targets), extents, arguments.where));
  if (arguments.json) {
    PrintJson(nlohmann::ordered_json::parse(shown.Json()));
    return Status();
  }
  PrintLine("%s: %s", shown.family->name, shown.family->summary);
  for (const ShownFamily::OnTarget& each : shown.targets) PrintTarget(each, !arguments.targets.empty());
  for (const NamedCondition& each : shown.space.conditions()) PrintLine("%s", each.ToString().c_str());
  return Status();
}

}  // namespace

void AddSpace(CLI::App& app, Command* command) {
  CLI::App* space = app.add_subcommand("space", "Show the search space of a family of kernels");
  space->require_subcommand(1);
  auto arguments = std::make_shared<SpaceArguments>();
  CLI::App* show = space->add_subcommand("show", "Show configs by target, the baseline and the conditions");
  show->add_option("FAMILY", arguments->family,
                   "dense_matmul, attention, norm_like, ... (an unknown name lists the most similar ones)")
      ->required();
  show->add_option("--target", arguments->targets,
                   "sm_90, ..., or cpu: its configs in full (repeatable); default: all");
  show->add_option("--shape", arguments->shape, "NAME=NUMBER for checking conditions, such as M=64; may be repeated");
  show->add_option("--where", arguments->where,
                   "A further condition, such as \"TILE_M <= 128 || occupancy == 1\"; may be repeated");
  show->add_flag("--json", arguments->json, "Print JSON instead of text");
  show->callback([=] { *command = [=] { return Show(*arguments); }; });
}

}  // namespace tuneonce::cli
