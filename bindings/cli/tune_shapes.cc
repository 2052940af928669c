#include "tune_shapes.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "shared/shape_log.h"

namespace tuneonce::cli {
namespace {

constexpr std::size_t kMostShapesBytes = std::size_t{64} << 20;

/// `settings` as NAME=VALUE behind those of `all` that it does not name.
std::vector<std::string> Over(const std::vector<std::string>& all,
                              const std::vector<std::pair<std::string, std::string>>& settings) {
  std::vector<std::string> together;
  std::set<std::string> names;
  for (const auto& [name, value] : settings) {
    names.insert(name);
    together.push_back(name + "=" + value);
  }
  for (const std::string& setting : all) {
    if (names.count(setting.substr(0, setting.find('='))) == 0) together.push_back(setting);
  }
  return together;
}

/// The bundle of this name, loaded once.
Result<const Bundle*> BundleNamed(const std::string& name, const std::shared_ptr<Runtime>& runtime,
                                  std::map<std::string, Bundle>* bundles) {
  if (auto it = bundles->find(name); it != bundles->end()) return &it->second;
  TUNEONCE_ASSIGN_OR_RETURN(Bundle bundle, Bundle::Load(name, runtime));
  return &bundles->emplace(name, std::move(bundle)).first->second;
}

}  // namespace

Result<WantedShapes> ReadShapes(const std::string& path, const std::string& bundle, const Device& device,
                                const std::vector<std::string>& shape, const std::vector<std::string>& scalars,
                                const std::shared_ptr<Runtime>& runtime) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string content, ReadFile(path, kMostShapesBytes));
  WantedShapes wanted;
  if (!bundle.empty()) TUNEONCE_RETURN_IF_ERROR(BundleNamed(bundle, runtime, &wanted.bundles).status());
  std::set<std::string> seen;
  std::size_t number = 0;
  for (absl::string_view line : absl::StrSplit(content, '\n')) {
    ++number;
    Result<ShapeLine> parsed = ParseShapeLine({line.data(), line.size()});
    if (!parsed.ok()) return parsed.status().WithPrefix(absl::StrCat(path, ", line ", number));
    if (parsed->is_empty()) continue;
    if (bundle.empty() && parsed->kernel.empty()) {
      return InvalidArgumentError(absl::StrCat(path, ", line ", number,
                                               ": the line names no kernel, and no bundle is given: write 'matmul M=64 "
                                               "...', or tuneonce tune matmul --shapes ",
                                               path));
    }
    const std::string own_name = bundle.empty() ? "" : wanted.bundles.at(bundle).definition().name();
    const bool is_others =
        !bundle.empty() && !parsed->kernel.empty() && parsed->kernel != own_name && parsed->kernel != bundle;
    if (is_others) {
      ++wanted.num_of_others;
      continue;
    }
    WantedShape each;
    each.line = number;
    each.bundle = bundle.empty() ? parsed->kernel : bundle;
    parsed->kernel = each.bundle;
    if (!seen.insert(ShapeText(*parsed)).second) continue;
    Result<const Bundle*> named = BundleNamed(each.bundle, runtime, &wanted.bundles);
    each.wrong = named.status();
    if (named.ok()) {
      Result<TuneJob> job = MakeTuneJob(**named, device, Over(shape, parsed->values), scalars);
      each.wrong = job.status();
      if (job.ok()) each.job = *std::move(job);
    }
    wanted.shapes.push_back(std::move(each));
  }
  if (!wanted.shapes.empty()) return wanted;
  const std::string others = wanted.num_of_others > 0 ? " of '" + bundle + "'" : "";
  return InvalidArgumentError(path + " has no shape" + others + ": write one shape per line, such as M=64 N=4096");
}

}  // namespace tuneonce::cli
