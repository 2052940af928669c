#include "bundle/bundle_artifacts.h"

#include <algorithm>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "definition/source_identity.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Most different sets of axes that a variant's artifacts are for: each is one look-up per config.
constexpr std::size_t kMostAxisSets = 64;

std::vector<AxisValue> ValuesAt(const Config& config, const std::vector<std::size_t>& axes) {
  std::vector<AxisValue> values;
  values.reserve(axes.size());
  for (std::size_t axis : axes) values.push_back(config.values()[axis]);
  return values;
}

}  // namespace

Status BundleArtifacts::Add(BundleArtifact artifact) {
  const std::vector<std::size_t> axes = artifact.pattern.Axes();
  // From the end, since artifacts of one group mostly follow each other.
  auto group = std::find_if(groups_.rbegin(), groups_.rend(), [&](const Group& each) { return each.axes == axes; });
  if (group == groups_.rend()) {
    if (groups_.size() == kMostAxisSets) {
      return InvalidArgumentError(
          absl::StrCat("the artifacts use more than ", kMostAxisSets,
                       " different sets of axes in \"config\": name the same axes in every artifact"));
    }
    groups_.push_back(Group{axes, {}});
    group = groups_.rbegin();
  }
  group->by_values.emplace(artifact.pattern.Values(), list_.size());
  list_.push_back(std::move(artifact));
  return Status();
}

const BundleArtifact* BundleArtifacts::Find(const Config& config) const {
  for (const Group& group : groups_) {
    auto it = group.by_values.find(ValuesAt(config, group.axes));
    if (it != group.by_values.end()) return &list_[it->second];
  }
  return nullptr;
}

std::size_t BundleArtifacts::Count(const Config& config) const {
  std::size_t count = 0;
  for (const Group& group : groups_) count += group.by_values.count(ValuesAt(config, group.axes));
  return count;
}

bool BundleArtifacts::HasLaunchFields() const {
  return std::any_of(list_.begin(), list_.end(), [](const BundleArtifact& artifact) {
    const CodeGeometry& launch = artifact.launch;
    return launch.block || launch.shared_memory_bytes || launch.cluster;
  });
}

KernelSource BundleArtifacts::SourceOf(const BundleArtifact& artifact) const {
  KernelSource source;
  source.kind = kind;
  source.content = artifact.content.text;
  source.symbol = artifact.symbol;
  source.options = options;
  source.file = artifact.file;
  source.precompiled = precompiled;
  source.withheld = artifact.withheld;
  for (const auto& [name, content] : headers) source.Header(name, std::string(content.text));
  return source;
}

KernelSource BundleArtifacts::SourceOf(const Config& config) const {
  const BundleArtifact* artifact = Find(config);
  if (artifact == nullptr)
    throw std::runtime_error("the bundle has no artifact for this config");  // Checked when it was read.
  return WithDefines(SourceOf(*artifact), config);
}

Fingerprint BundleArtifacts::FindIdentity() const {
  Fingerprinter fingerprinter;
  fingerprinter.Add(static_cast<std::uint64_t>(kind)).Add(options.size());
  for (const std::string& option : options) fingerprinter.Add(option);
  fingerprinter.Add(defines.size());
  for (const auto& [name, axis] : defines) fingerprinter.Add(name).Add(axis);
  std::vector<std::pair<std::string_view, std::string_view>> of_headers;
  for (const auto& [name, content] : headers) of_headers.emplace_back(name, content.text);
  fingerprinter.Add(list_.size());
  for (const BundleArtifact& artifact : list_) {
    fingerprinter.Add(artifact.pattern.values.size());
    for (const auto& [axis, value] : artifact.pattern.values) {
      fingerprinter.Add(axis).Add(value.index()).Add(AxisValueString(value));
    }
    fingerprinter.Add(artifact.symbol);
    fingerprinter.Add(artifact.withheld != nullptr ? *artifact.withheld
                                                   : TextFingerprint(artifact.content.text, of_headers));
  }
  return fingerprinter.Finish();
}

Fingerprint BundleArtifacts::Identity() const {
  std::call_once(identity_once_, [&] { identity_ = FindIdentity(); });
  return identity_;
}

KernelSource BundleArtifacts::WithDefines(KernelSource source, const Config& config) const {
  for (const auto& [name, axis] : defines) source.Define(name, config.values()[axis]);
  return source;
}

}  // namespace v0
}  // namespace tuneonce
