#include "compile/nvrtc_messages.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/encoding.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Changes with any field of the messages.
constexpr std::uint32_t kNvrtcMessagesVersion = 1;
/// A text takes at least its length.
constexpr std::size_t kLeastTextBytes = sizeof(std::uint64_t);

void ReadVersion(Decoder* reader) {
  const std::uint32_t version = reader->U32();
  if (version != kNvrtcMessagesVersion) {
    reader->Refuse(absl::StrCat("a message of NVRTC has version ", version, " instead of ", kNvrtcMessagesVersion,
                                ": install the library and its tuneonce_worker together"));
  }
}

template <typename Pairs>
void WritePairs(const Pairs& pairs, Encoder* writer) {
  writer->Count(pairs.size());
  for (const auto& [first, second] : pairs) writer->Text(first).Text(second);
}

std::vector<std::pair<std::string, std::string>> ReadPairs(Decoder* reader) {
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
  Encoder writer;
  writer.U32(kNvrtcMessagesVersion).Text(request.library).Text(request.text).Text(request.file);
  WritePairs(request.headers, &writer);
  writer.Texts(request.expressions);
  writer.Texts(request.options);
  return writer.Bool(request.wants_headers).Take();
}

Result<NvrtcRequest> DecodeNvrtcRequest(std::string_view bytes) {
  Decoder reader(bytes);
  ReadVersion(&reader);
  NvrtcRequest request;
  request.library = reader.Text();
  request.text = reader.Text();
  request.file = reader.Text();
  request.headers = ReadPairs(&reader);
  request.expressions = reader.Texts();
  request.options = reader.Texts();
  request.wants_headers = reader.Bool();
  TUNEONCE_RETURN_IF_ERROR(reader.Done());
  return request;
}

std::string EncodeNvrtcOutput(const NvrtcOutput& output) {
  Encoder writer;
  writer.U32(kNvrtcMessagesVersion).I64(output.result).Text(output.log);
  WritePairs(output.lowered_names, &writer);
  writer.Bytes(output.cubin).Bytes(output.tile_ir).Bool(output.headers.has_value());
  if (output.headers) writer.Texts(*output.headers);
  return writer.Take();
}

Result<NvrtcOutput> DecodeNvrtcOutput(std::string_view bytes) {
  Decoder reader(bytes);
  ReadVersion(&reader);
  NvrtcOutput output;
  output.result = static_cast<int>(reader.I64());
  output.log = reader.Text();
  for (auto& [expression, name] : ReadPairs(&reader)) output.lowered_names.emplace(expression, name);
  output.cubin = reader.Bytes();
  output.tile_ir = reader.Bytes();
  if (reader.Bool()) output.headers = reader.Texts();
  TUNEONCE_RETURN_IF_ERROR(reader.Done());
  return output;
}

}  // namespace v0
}  // namespace tuneonce
