#include "authoring/bundle_writer.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "console/output.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Json = nlohmann::ordered_json;

Fingerprint ChecksumOf(const std::string& bytes) { return Fingerprinter().Add(bytes).Finish(); }

/// Returns the characters of a variant's name that are safe in a file name.
std::string FileWord(std::string name) {
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_') c = '_';
  }
  return name.substr(0, 64);
}

/// Returns the minimal name of a toolchain, for a source that was refused.
std::string KindText(const BundleWay& way) { return std::string(SourceKindName(way.source.kind())); }

Status CannotWriteBundle(const std::string& path, const std::string& why) {
  return UnavailableError("cannot write '" + path + "': " + why);
}

}  // namespace

Status BundleWriter::Check(const std::string& output) const {
  for (const auto& variant : folder_.manifest.at("variants")) {
    for (const auto& option : variant.value("options", Json::array())) {
      if (option.get<std::string>().rfind("-I", 0) != 0) continue;
      return FailedPreconditionError("variant '" + variant.at("name").get<std::string>() + "' has the option " +
                                     option.get<std::string>() +
                                     ": headers found in a folder are not part of the kernel's identity: list them in "
                                     "`headers`, or put them into the source");
    }
  }
  if (folder_.precompiled != nullptr && !folder_.precompiled->withheld().empty()) {
    return FailedPreconditionError(folder_.path + " has no sources: compile the original bundle");
  }
  std::error_code error;
  auto status = std::filesystem::symlink_status(output, error);
  if (output.empty()) return InvalidArgumentError("-o needs the name of a folder");
  if (!std::filesystem::exists(status)) return Status();
  if (!std::filesystem::is_directory(status)) {
    return CannotWriteBundle(output, "a file or a link of this name exists already: use a new folder");
  }
  bool is_empty = std::filesystem::is_empty(output, error) && !error;
  return is_empty ? Status() : CannotWriteBundle(output, "the folder exists already: use a new folder");
}

void BundleWriter::AddTarget(const std::string& name, const std::string& cpu) {
  Json target = {{"name", name}};
  if (!cpu.empty()) target["cpu"] = cpu;
  targets_.push_back(std::move(target));
}

Json BundleWriter::Entry(const BundleWay& way, const std::string& target, const std::string& toolchain) const {
  return {{"key", way.key.ToString()},
          {"target", target},
          {"variant", way.variant->name},
          {"config", way.config.ToString()},
          {"toolchain", toolchain}};
}

void BundleWriter::AddImage(const BundleWay& way, const std::string& target, const Artifact& artifact) {
  std::string checksum = ChecksumOf(artifact.image).ToString();
  std::string file = "precompiled/" + target + "/" + FileWord(way.variant->name) + "-" + checksum.substr(0, 16) +
                     (target == "cpu" ? ".so" : ".cubin");
  files_.emplace(file, artifact.image);
  Json entry = Entry(way, target, artifact.toolchain);
  entry["file"] = file;
  entry["checksum"] = checksum;
  entry["symbol"] = artifact.symbol;
  if (!artifact.parameters.empty()) entry["parameters"] = artifact.parameters;
  for (const CodeAssumption& each : artifact.assumptions) {
    entry["assumptions"].push_back({{"parameter", each.parameter}, {CodeAssumptionName(each.kind), each.value}});
  }
  code_.push_back(std::move(entry));
}

void BundleWriter::AddRefusal(const BundleWay& way, const std::string& target, const std::string& why) {
  Json entry = Entry(way, target, KindText(way));
  constexpr std::size_t kMostWords = 2000;
  entry["refusal"] = why.substr(0, kMostWords);
  code_.push_back(std::move(entry));
}

void BundleWriter::AddSelections(std::string records) {
  const std::string file = "precompiled/selections";
  selections_ = {{"file", file}, {"checksum", ChecksumOf(records).ToString()}};
  files_[file] = std::move(records);
}

Status BundleWriter::AddBundlesFiles(bool with_sources) {
  BundleFiles files = folder_.files;
  TUNEONCE_ASSIGN_OR_RETURN(files_["manifest.json"], files.ReadNow("manifest.json"));
  for (const NamedFile& each : NamedFiles(folder_.manifest)) {
    if (with_sources || each.source == "cubin") {
      TUNEONCE_ASSIGN_OR_RETURN(files_[each.file], files.ReadNow(each.file));
    } else if (!each.is_header) {
      TUNEONCE_RETURN_IF_ERROR(AddWithheld(each));
    }
  }
  return Status();
}

Status BundleWriter::AddWithheld(const NamedFile& file) {
  KernelSource source;
  source.kind = *SourceKindNamed(file.source);
  TUNEONCE_ASSIGN_OR_RETURN(source.content, folder_.files.ReadNow(file.file));
  if (file.of->contains("headers")) {
    for (const auto& [name, header] : file.of->at("headers").items()) {
      TUNEONCE_ASSIGN_OR_RETURN(std::string text, folder_.files.ReadNow(header.get<std::string>()));
      source.Header(name, std::move(text));
    }
  }
  withheld_.push_back(
      {{"variant", file.variant}, {"source", file.file}, {"text", source.TextFingerprint().ToString()}});
  return Status();
}

std::int64_t BundleWriter::BytesOf(const std::string& target) const {
  std::int64_t bytes = 0;
  for (const auto& [name, content] : files_) {
    if (name.rfind("precompiled/" + target + "/", 0) == 0) bytes += static_cast<std::int64_t>(content.size());
  }
  return bytes;
}

std::vector<std::string> BundleWriter::ToolchainsOf(const std::string& target) const {
  std::set<std::string> toolchains;
  for (const Json& entry : code_) {
    if (entry.at("target") == target && entry.contains("file")) toolchains.insert(entry.at("toolchain"));
  }
  return {toolchains.begin(), toolchains.end()};
}

std::string BundleWriter::FirstRefusal(const std::string& target) const {
  for (const Json& entry : code_) {
    if (entry.at("target") == target && entry.contains("refusal")) return entry.at("refusal");
  }
  return "";
}

Status BundleWriter::WriteInto(const std::string& folder) const {
  Json json = {{"tuneonce_precompiled", PrecompiledBundle::kFormat}, {"targets", targets_}, {"code", code_}};
  if (!withheld_.empty()) json["withheld"] = withheld_;
  if (!selections_.is_null()) json["selections"] = selections_;
  std::map<std::string, std::string> files = files_;
  files[PrecompiledBundle::kFile] = json.dump(1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
  for (const auto& [name, content] : files) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) return CannotWriteBundle(path.parent_path().string(), error.message());
    TUNEONCE_RETURN_IF_ERROR(WriteOutput(path.string(), content));
  }
  return Status();
}

Status BundleWriter::Write(const std::string& output) const {
  std::filesystem::path target = std::filesystem::path(output).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // "out/"
  std::error_code error;
  if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), error);
  std::string temporary = target.string() + ".XXXXXX";
  if (mkdtemp(temporary.data()) == nullptr) return CannotWriteBundle(output, std::strerror(errno));
  mode_t mask = umask(0);
  umask(mask);
  Status written = WriteInto(temporary);
  if (written.ok() && chmod(temporary.c_str(), 0777 & ~mask) != 0) {
    written = CannotWriteBundle(output, std::strerror(errno));
  }
  if (written.ok() && std::rename(temporary.c_str(), target.c_str()) != 0) {
    written = CannotWriteBundle(output, std::strerror(errno));
  }
  if (!written.ok()) std::filesystem::remove_all(temporary, error);
  return written;
}

}  // namespace v0
}  // namespace tuneonce
