#include "records/selections_file.h"

#include <optional>

#include "base/file.h"
#include "base/number_text.h"
#include "bundle/manifest.h"
#include "console/numbers.h"

namespace tuneonce {
inline namespace v0 {
Result<AxisValue> ReadAxisValue(const ManifestNode& node) {
  switch (node.kind()) {
    case ManifestNode::Kind::kTruth: {
      TUNEONCE_ASSIGN_OR_RETURN(bool value, node.Bool());
      return AxisValue(value);
    }
    case ManifestNode::Kind::kInt: {
      TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, node.Int());
      return AxisValue(value);
    }
    case ManifestNode::Kind::kDouble: {
      TUNEONCE_ASSIGN_OR_RETURN(double value, node.Number());
      return AxisValue(value);
    }
    case ManifestNode::Kind::kString: {
      TUNEONCE_ASSIGN_OR_RETURN(std::string value, node.String());
      return AxisValue(std::move(value));
    }
    default:
      return node.Error("expected a number, a boolean or a string");
  }
}

namespace {

Status ReadConfig(const ManifestNode& node, SelectionsFile::Selection* selection) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, node.Object());
  for (const ManifestNode& member : members) {
    TUNEONCE_ASSIGN_OR_RETURN(AxisValue value, ReadAxisValue(member));
    selection->config.emplace_back(member.name(), std::move(value));
  }
  return Status();
}

Status ReadExtents(const ManifestNode& node, SelectionsFile::Selection* selection) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, node.Object());
  for (const ManifestNode& member : members) {
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t extent, member.Int());
    if (extent < 1) return member.Error("expected a whole number of at least 1");
    selection->extents[std::string(member.name())] = extent;
  }
  return Status();
}

Result<SelectionsFile> ReadOwn(const ManifestNode& root) {
  SelectionsFile file;
  TUNEONCE_RETURN_IF_ERROR(root.CheckFields({"tuneonce_selections", "kernel", "device", "nearest", "selections"}));
  TUNEONCE_ASSIGN_OR_RETURN(std::int64_t version, root.Find("tuneonce_selections")->Int());
  if (version != 1) return root.Error("\"tuneonce_selections\" must be 1");
  for (auto [name, text] :
       {std::pair("kernel", &file.kernel), std::pair("device", &file.device), std::pair("nearest", &file.nearest)}) {
    const ManifestNode* node = root.Find(name);
    if (node == nullptr) continue;
    TUNEONCE_ASSIGN_OR_RETURN(*text, node->String());
  }
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* list, root.Get("selections"));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren elements, list->Array());
  if (elements.empty()) return list->Error("expected at least one selection");
  for (const ManifestNode& element : elements) {
    TUNEONCE_RETURN_IF_ERROR(element.CheckFields({"key", "config"}));
    SelectionsFile::Selection selection;
    selection.where = element.Place();
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* key, element.Get("key"));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* config, element.Get("config"));
    TUNEONCE_RETURN_IF_ERROR(ReadExtents(*key, &selection));
    TUNEONCE_RETURN_IF_ERROR(ReadConfig(*config, &selection));
    file.selections.push_back(std::move(selection));
  }
  return file;
}

/// "E=8,N=14336,device_name=NVIDIA_H200,block_shape=[128,128].json": names and values.
std::map<std::string, std::string> PartsOfName(const std::string& path) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  if (std::size_t end = name.rfind(".json"); end != std::string::npos) name.resize(end);
  std::map<std::string, std::string> parts;
  std::string last;
  for (std::size_t begin = 0; begin <= name.size();) {
    std::size_t end = std::min(name.find(',', begin), name.size());
    std::string part = name.substr(begin, end - begin);
    std::size_t equals = part.find('=');
    if (equals != std::string::npos) {
      last = part.substr(0, equals);
      parts[last] = part.substr(equals + 1);
    } else if (!last.empty()) {  // A value with a comma in it.
      parts[last] += "," + part;
    }
    begin = end + 1;
  }
  return parts;
}

}  // namespace

Result<SelectionsFile> ReadRowTable(const ManifestNode& root, const std::string& path) {
  SelectionsFile file;
  file.nearest = "M";
  std::map<std::string, std::int64_t> extents;
  for (const auto& [name, value] : PartsOfName(path)) {
    if (name == "device_name") {
      file.device = value;
    } else if (std::optional<std::int64_t> extent = ParseNumber<std::int64_t>(value)) {
      extents[name] = *extent;
    } else {
      file.about[name] = value;
    }
  }
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, root.Object());
  for (const ManifestNode& member : members) {
    const std::string name(member.name());
    if (name == "triton_version") {
      TUNEONCE_ASSIGN_OR_RETURN(std::string version, member.String());
      file.toolchain = "triton " + version;
      continue;
    }
    std::optional<std::int64_t> rows = ParseNumber<std::int64_t>(name);
    if (!rows || *rows < 1) {
      return member.Error(
          "the file is neither a file of selections (\"tuneonce_selections\": 1) nor a table whose keys are numbers of "
          "rows");
    }
    SelectionsFile::Selection selection;
    selection.where = member.Place();
    selection.extents = extents;
    selection.extents["M"] = *rows;
    TUNEONCE_RETURN_IF_ERROR(ReadConfig(member, &selection));
    file.selections.push_back(std::move(selection));
  }
  if (file.selections.empty()) return root.Error("the file contains no selection");
  return file;
}

Result<SelectionsFile> ReadSelections(const std::string& path) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  TUNEONCE_ASSIGN_OR_RETURN(auto document, ManifestDocument::Parse(text, path));
  const ManifestNode& root = document->root();
  return root.Find("tuneonce_selections") != nullptr ? ReadOwn(root) : ReadRowTable(root, path);
}

}  // namespace v0
}  // namespace tuneonce
