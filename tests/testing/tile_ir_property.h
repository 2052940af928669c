#ifndef TUNEONCE_TESTS_TESTING_TILE_IR_PROPERTY_H_
#define TUNEONCE_TESTS_TESTING_TILE_IR_PROPERTY_H_

#include <string>
#include <string_view>

#include "inspect/classification.h"
#include "tile_ir/tile_ir.h"

namespace tuneonce {

/// The part of it about evidence. What a damaged file names behind the last type or string may be there once patching
/// has added one: then there is something to see in the patched file alone.
inline std::string TileIrEvidenceViolation(std::string_view bytes, std::string_view patched, const std::string& entry) {
  Result<KernelEvidence> evidence = TileIrEvidence(bytes, entry);
  Result<KernelEvidence> after = TileIrEvidence(patched, entry);
  if (evidence.ok()) {
    const bool is_same = after.ok() && Classify(*evidence).reasons == Classify(*after).reasons;
    return is_same ? "" : "a patch changed what is seen";
  }
  if (evidence.status().message().find("offset ") == std::string::npos)
    return "no offset: " + evidence.status().message();
  return "";
}

/// The part of it about flags of operations: a patch keeps the length, and is its own fixed point.
inline std::string TileIrMathViolation(std::string_view bytes, const std::string& entry) {
  const TileIrMath math{true, true};
  Result<std::string> patched = PatchTileIrMath(bytes, math, entry);
  if (!patched.ok()) {
    return patched.status().message().find("offset ") == std::string::npos ? "no offset: " + patched.status().message()
                                                                           : "";
  }
  if (patched->size() != bytes.size()) return "flags changed the length";
  Result<std::string> again = PatchTileIrMath(*patched, math, entry);
  return again.ok() && *again == *patched ? "" : "patching flags again changed the file";
}

/// What must hold for any content, damaged or not: it is refused, or patching it gives a file that reads back with just
/// those hints and everything else as it was, and that does not change when patched again; and what its kernels do is
/// seen, the same in the patched file, or not, for a reason with its offset. Returns "" if it holds, else what does
/// not. `*accepted` says whether the content was taken. Used by the unit test and the fuzzer.
inline std::string TileIrPropertyViolation(std::string_view bytes, bool* accepted) {
  Result<TileIrModule> before = ReadTileIr(bytes);
  *accepted = before.ok();
  Hints hints(HintValues{{"occupancy", 4}, {"num_worker_warps", 8}});
  Result<std::string> patched = PatchTileIrHints(bytes, hints);
  if (!before.ok()) {
    if (before.status().code() != StatusCode::kInvalidArgument) return "refused with " + before.status().ToString();
    if (before.status().message().find("offset ") == std::string::npos)
      return "no offset: " + before.status().message();
    return "";  // Patching may still work: it does not read types.
  }
  if (before->entries.empty()) return patched.ok() ? "patched without an entry" : "";
  if (!patched.ok()) return "read, but not patched: " + patched.status().ToString();
  Result<TileIrModule> after = ReadTileIr(*patched);
  if (!after.ok()) return "the patched file: " + after.status().ToString();
  if (after->entries.size() != before->entries.size() || after->minor != before->minor) return "entries were lost";
  for (std::size_t i = 0; i < after->entries.size(); ++i) {
    const TileIrEntry& entry = after->entries[i];
    if (entry.name != before->entries[i].name) return "a name changed";
    if (entry.parameters != before->entries[i].parameters) return "a signature changed";
    std::map<std::string, HintValues> expected = {{"default", {{"occupancy", 4}, {"num_worker_warps_per_cta", 8}}}};
    if (entry.hints != expected) return "other hints than those asked for";
    Result<std::string> alone = ExtractTileIrEntry(*patched, entry.name);
    if (!alone.ok()) return "an entry cannot be extracted: " + alone.status().ToString();
    Result<TileIrModule> extracted = ReadTileIr(*alone);
    if (!extracted.ok()) return "an extracted entry: " + extracted.status().ToString();
    if (extracted->entries.empty() || extracted->entries[0].name != entry.name) return "another entry was extracted";
    if (extracted->entries[0].parameters != entry.parameters) return "extracting changed a signature";
    if (std::string wrong = TileIrEvidenceViolation(bytes, *patched, entry.name); !wrong.empty()) return wrong;
    if (std::string wrong = TileIrMathViolation(bytes, entry.name); !wrong.empty()) return wrong;
  }
  Result<std::string> again = PatchTileIrHints(*patched, hints);
  if (!again.ok() || *again != *patched) return "patching again changed the file";
  return "";
}

}  // namespace tuneonce

#endif  // TUNEONCE_TESTS_TESTING_TILE_IR_PROPERTY_H_
