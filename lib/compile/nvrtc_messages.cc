#include "compile/nvrtc_messages.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/message.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Changes with any field of the messages.
constexpr std::uint32_t kNvrtcMessagesVersion = 1;
/// A text takes at least its length.
constexpr std::size_t kLeastTextBytes = sizeof(std::uint64_t);

void ReadVersion(MessageReader* reader) {
  const std::uint32_t version = reader->U32();
  if (version != kNvrtcMessagesVersion) {
    reader->Refuse(absl::StrCat("a message of NVRTC has version ", version, " instead of ", kNvrtcMessagesVersion,
                                ": install the library and its tuneonce_worker together"));
  }
}

void WriteTexts(const std::vector<std::string>& texts, MessageWriter* writer) {
  writer->Count(texts.size());
  for (const std::string& text : texts) writer->Text(text);
}

std::vector<std::string> ReadTexts(MessageReader* reader) {
  std::vector<std::string> texts(reader->Count(kLeastTextBytes));
  for (std::string& text : texts) text = reader->Text();
  return texts;
}

template <typename Pairs>
void WritePairs(const Pairs& pairs, MessageWriter* writer) {
  writer->Count(pairs.size());
  for (const auto& [first, second] : pairs) writer->Text(first).Text(second);
}

std::vector<std::pair<std::string, std::string>> ReadPairs(MessageReader* reader) {
  std::vector<std::pair<std::string, std::string>> pairs(reader->Count(2 * kLeastTextBytes));
  for (auto& [first, second] : pairs) {
    first = reader->Text();
    second = reader->Text();
  }
  return pairs;
}

}  // namespace

Result<std::string> NvrtcOutput::LoweredName(const std::string& expression) const {
  if (auto found = lowered_names.find(expression); found != lowered_names.end()) return found->second;
  return InternalError(absl::StrCat("NVRTC does not return the lowered name of '", expression, "'"));
}

std::string EncodeNvrtcRequest(const NvrtcRequest& request) {
  MessageWriter writer;
  writer.U32(kNvrtcMessagesVersion).Text(request.library).Text(request.text).Text(request.file);
  WritePairs(request.headers, &writer);
  WriteTexts(request.expressions, &writer);
  WriteTexts(request.options, &writer);
  return writer.Bool(request.wants_headers).Take();
}

Result<NvrtcRequest> DecodeNvrtcRequest(std::string_view bytes) {
  MessageReader reader(bytes);
  ReadVersion(&reader);
  NvrtcRequest request;
  request.library = reader.Text();
  request.text = reader.Text();
  request.file = reader.Text();
  request.headers = ReadPairs(&reader);
  request.expressions = ReadTexts(&reader);
  request.options = ReadTexts(&reader);
  request.wants_headers = reader.Bool();
  TUNEONCE_RETURN_IF_ERROR(reader.Done());
  return request;
}

std::string EncodeNvrtcOutput(const NvrtcOutput& output) {
  MessageWriter writer;
  writer.U32(kNvrtcMessagesVersion).I64(output.result).Text(output.log);
  WritePairs(output.lowered_names, &writer);
  writer.Bytes(output.cubin).Bytes(output.tile_ir).Bool(output.headers.has_value());
  if (output.headers) WriteTexts(*output.headers, &writer);
  return writer.Take();
}

Result<NvrtcOutput> DecodeNvrtcOutput(std::string_view bytes) {
  MessageReader reader(bytes);
  ReadVersion(&reader);
  NvrtcOutput output;
  output.result = static_cast<int>(reader.I64());
  output.log = reader.Text();
  for (auto& [expression, name] : ReadPairs(&reader)) output.lowered_names.emplace(expression, name);
  output.cubin = reader.Bytes();
  output.tile_ir = reader.Bytes();
  if (reader.Bool()) output.headers = ReadTexts(&reader);
  TUNEONCE_RETURN_IF_ERROR(reader.Done());
  return output;
}

}  // namespace v0
}  // namespace tuneonce
