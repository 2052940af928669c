#include "bundle/manifest.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/short_list.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::size_t kMaxDepth = 32;
/// Bytes of an error's text: what it quotes may be as long as the document.
constexpr std::size_t kMaxErrorBytes = 1000;
constexpr std::size_t kMaxPathBytes = 200;

std::string OneLine(std::string_view text) {
  bool is_whole = text.size() <= kMaxErrorBytes;
  return Printable(text.substr(0, kMaxErrorBytes)) + (is_whole ? "" : " ...");
}

/// Reads a text and counts what was read, so that the parser's events can be placed.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** read) : at_(at), read_(read) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *read_ = ++at_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** read_;
};

}  // namespace

/// Appends the values of a text to a document, from the parser's events.
class ManifestReader : public nlohmann::json::json_sax_t {
 public:
  ManifestReader(ManifestDocument* document, std::string_view text)
      : document_(document), text_(text), read_(text.data()), counted_(text.data()) {
    constexpr std::size_t kBytesPerValue = 16;  // In manifests as the exporters write them.
    document_->nodes_.reserve(std::min(text.size() / kBytesPerValue + 1, ManifestDocument::kMostValues));
    document_->strings_.reserve(text.size());  // No string is longer than it is in the text, so that none moves.
  }

  Status Read() {
    // The parser throws nothing with its own handler; running out of memory apart, which is an exception everywhere.
    const bool is_whole = nlohmann::json::sax_parse(CountingIterator(text_.data(), &read_),
                                                    CountingIterator(text_.data() + text_.size(), &read_), this);
    if (status_.ok() && !is_whole) Fail("this is not JSON");
    return status_;
  }

  bool null() override { return Add(ManifestNode::Kind::kNull) != nullptr; }
  bool boolean(bool value) override {
    ManifestNode* node = Add(ManifestNode::Kind::kTruth);
    if (node != nullptr) node->truth_ = value;
    return node != nullptr;
  }
  bool number_integer(number_integer_t value) override {
    ManifestNode* node = Add(ManifestNode::Kind::kInt);
    if (node != nullptr) node->int_ = value;
    return node != nullptr;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      return Fail("a number is too large");
    }
    return number_integer(static_cast<number_integer_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override {
    ManifestNode* node = Add(ManifestNode::Kind::kDouble);
    if (node != nullptr) node->double_ = value;
    return node != nullptr;
  }
  bool string(string_t& value) override {
    ManifestNode* node = Add(ManifestNode::Kind::kString);
    if (node == nullptr) return false;
    const std::string_view kept = Keep(value);
    node->text_ = kept.data();
    node->size_ = static_cast<std::uint32_t>(kept.size());
    return true;
  }
  bool binary(binary_t&) override { return Fail("the manifest has a binary value, which JSON has not"); }
  bool start_object(std::size_t) override { return Open(ManifestNode::Kind::kObject); }
  bool start_array(std::size_t) override { return Open(ManifestNode::Kind::kArray); }
  bool key(string_t& name) override {
    name_ = Keep(name);
    return IsNew(name_) || Fail("the key '" + name + "' appears twice in one object");
  }
  bool end_object() override {
    ManifestNode& node = document_->nodes_[open_.back().index];
    node.num_nodes_ = static_cast<std::uint32_t>(document_->nodes_.size() - open_.back().index);
    open_.pop_back();
    return true;
  }
  bool end_array() override { return end_object(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
    // "[json.exception.parse_error.101] parse error at line 3, column 7: ...": the line is ours already.
    // For a number that double cannot hold it is "[json.exception.out_of_range.406] number overflow parsing '1e400'".
    const std::string what = e.what();
    const std::size_t colon = what.find(": "), bracket = what.find("] ");
    const std::size_t start = colon != std::string::npos ? colon : bracket;
    return Fail("this is not JSON: " + (start == std::string::npos ? what : what.substr(start + 2)));
  }

 private:
  /// A list or an object that has not ended.
  struct OpenNode {
    std::size_t index;
    std::unordered_set<std::string_view> names;  // The names in an object with many members.
  };

  /// The line of what was read last. All calls together read the text once.
  std::int32_t Line() {
    // The last character read may be one that only ended a number.
    for (; counted_ + 1 < read_; ++counted_) line_ += *counted_ == '\n' ? 1 : 0;
    return line_;
  }
  bool Fail(const std::string& what) {
    if (status_.ok()) status_ = InvalidArgumentError(OneLine(absl::StrCat(document_->file_, ":", Line(), ": ", what)));
    return false;
  }
  std::string_view Keep(const std::string& text) {
    const std::size_t begin = document_->strings_.size();
    document_->strings_ += text;
    return std::string_view(document_->strings_).substr(begin);
  }
  /// Returns the value that comes now, or null if there were too many. It stays where it is until the next one comes.
  ManifestNode* Add(ManifestNode::Kind kind) {
    std::vector<ManifestNode>& nodes = document_->nodes_;
    if (nodes.size() == ManifestDocument::kMostValues) {
      Fail(absl::StrCat("the file has more than ", ManifestDocument::kMostValues, " values"));
      return nullptr;
    }
    ManifestNode node(document_);
    node.kind_ = kind;
    node.line_ = Line();
    if (!open_.empty()) {
      const std::size_t parent = open_.back().index;
      ++nodes[parent].size_;
      node.to_parent_ = static_cast<std::uint32_t>(nodes.size() - parent);
      if (nodes[parent].kind_ == ManifestNode::Kind::kObject) node.name_ = name_;
    }
    nodes.push_back(std::move(node));
    return &nodes.back();
  }
  bool Open(ManifestNode::Kind kind) {
    if (open_.size() == kMaxDepth) return Fail("the values are nested too deep");
    if (Add(kind) == nullptr) return false;
    open_.push_back(OpenNode{document_->nodes_.size() - 1, {}});
    return true;
  }
  /// Whether the open object has no member `name`: few are compared, many are hashed.
  bool IsNew(std::string_view name) {
    constexpr std::uint32_t kFew = 32;
    const ManifestNode& object = document_->nodes_[open_.back().index];
    const ManifestNode* end = document_->nodes_.data() + document_->nodes_.size();
    const ManifestChildren members(&object + 1, end, object.size_);
    std::unordered_set<std::string_view>& names = open_.back().names;
    if (object.size_ < kFew) {
      return std::none_of(members.begin(), members.end(), [&](const auto& each) { return each.name() == name; });
    }
    if (names.empty()) {
      for (const ManifestNode& each : members) names.insert(each.name());
    }
    return names.insert(name).second;
  }

  ManifestDocument* document_;
  std::string_view text_;
  const char* read_;     // The end of what the parser read.
  const char* counted_;  // The end of what is in `line_`.
  std::int32_t line_ = 1;
  std::string_view name_;  // The name of the member that comes next.
  Status status_;
  std::vector<OpenNode> open_;
};

Result<std::unique_ptr<const ManifestDocument>> ManifestDocument::Parse(std::string_view text, std::string file) {
  if (text.size() > kMostBytes) {
    return InvalidArgumentError(
        absl::StrCat(file, ": the file has ", text.size(), " bytes; at most ", kMostBytes, " are possible"));
  }
  std::unique_ptr<ManifestDocument> document(new ManifestDocument(std::move(file)));
  TUNEONCE_RETURN_IF_ERROR(ManifestReader(document.get(), text).Read());
  return std::unique_ptr<const ManifestDocument>(std::move(document));
}

std::string ManifestNode::FileAndLine() const { return absl::StrCat(document_->file(), ":", line_); }

std::string ManifestNode::Path() const {
  std::vector<const ManifestNode*> way;  // From below.
  for (const ManifestNode* node = this; node->Parent() != nullptr; node = node->Parent()) way.push_back(node);
  std::string path;
  for (auto node = way.rbegin(); node != way.rend(); ++node) {
    const ManifestNode& parent = *(*node)->Parent();
    if (parent.kind_ == Kind::kObject) {
      absl::StrAppend(&path, path.empty() ? "" : ".", std::string((*node)->name_));
    } else {
      const ManifestChildren elements = parent.Children();
      absl::StrAppend(&path, "[", std::distance(elements.begin(), ManifestChildren::Iterator(*node)), "]");
    }
    if (path.size() > kMaxPathBytes) return path.substr(0, kMaxPathBytes) + "...";
  }
  return path;
}

std::string ManifestNode::Place() const {
  std::string path = Path();
  return OneLine(absl::StrCat(FileAndLine(), path.empty() ? "" : ": ", path));
}

Status ManifestNode::Error(std::string_view what) const {
  std::string path = Path();
  std::string place = absl::StrCat(FileAndLine(), ": ", path, path.empty() ? "" : ": ");
  return InvalidArgumentError(OneLine(place.append(what.data(), what.size())));
}

Result<std::int64_t> ManifestNode::Int() const {
  if (kind_ != Kind::kInt) return Error("expected a whole number");
  return int_;
}

Result<double> ManifestNode::Number() const {
  if (kind_ == Kind::kInt) {
    // Beyond 2^53 not every whole number is a double.
    constexpr std::int64_t kExact = std::int64_t{1} << 53;
    if (int_ < -kExact || int_ > kExact)
      return Error(absl::StrCat(int_, " is not exact as a double: use a number of at most 2^53"));
    return static_cast<double>(int_);
  }
  if (kind_ != Kind::kDouble) return Error("expected a number");
  return double_;
}

Result<bool> ManifestNode::Bool() const {
  if (kind_ != Kind::kTruth) return Error("expected true or false");
  return truth_;
}

Result<std::string_view> ManifestNode::Text() const {
  if (kind_ != Kind::kString) return Error("expected a string");
  return std::string_view(text_, size_);
}

Result<std::string> ManifestNode::String() const {
  TUNEONCE_ASSIGN_OR_RETURN(std::string_view text, Text());
  return std::string(text);
}

Result<ManifestChildren> ManifestNode::Array(std::size_t most) const {
  if (kind_ != Kind::kArray) return Error("expected a list");
  if (size_ > most) {
    return Error(absl::StrCat("the list has ", size_, " values; at most ", most, " are possible"));
  }
  return Children();
}

Result<std::vector<std::string>> ManifestNode::Strings(std::size_t most) const {
  return ReadList(*this, most, [](const ManifestNode& each) { return each.String(); });
}

Result<ManifestChildren> ManifestNode::Object() const {
  if (kind_ != Kind::kObject) return Error("expected an object");
  return Children();
}

const ManifestNode* ManifestNode::Find(std::string_view name) const {
  if (kind_ != Kind::kObject) return nullptr;
  for (const ManifestNode& member : Children()) {
    if (member.name_ == name) return &member;
  }
  return nullptr;
}

Result<const ManifestNode*> ManifestNode::Get(std::string_view name) const {
  if (kind_ != Kind::kObject) return Error("expected an object");
  if (const ManifestNode* found = Find(name)) return found;
  return Error(absl::StrCat("the field '", std::string(name), "' is missing"));
}

Result<std::string> ManifestNode::GetString(std::string_view name) const {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* member, Get(name));
  return member->String();
}

Status ManifestNode::CheckFields(const std::string_view* known, const std::string_view* end) const {
  if (kind_ != Kind::kObject) return Error("expected an object");
  for (const ManifestNode& member : Children()) {
    if (std::find(known, end, member.name_) != end) continue;
    return member.Error(
        absl::StrCat("unknown field; the fields are: ", ShortList(std::vector<std::string>(known, end), member.name_)));
  }
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
