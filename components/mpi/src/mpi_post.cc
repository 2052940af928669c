#include "mpi_post.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Size of one piece of a message. The smallest limit up to which a transport of Open MPI sends at once is 4 KiB
/// (shared memory). A longer piece would wait for the receiver, and then for the sender.
constexpr std::size_t kPieceBytes = 2048;
/// Identifies messages of this library among others on the same tag.
constexpr std::uint64_t kMark = 0x324f5430;

/// What precedes the bytes of each piece. Ranks have the same byte order (RankGroup).
struct PieceHeader {
  std::uint64_t mark = kMark;
  std::uint64_t attempt = 0;
  std::uint64_t number = 0;  // The message's, by its sender.
  std::uint64_t total = 0;   // Bytes of the message.
  std::uint64_t begin = 0;   // Where in the message the piece begins.
};
/// More than any record needs. A longer message is invalid.
constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;

Status StatusOf(int result, const char* what) {
  if (result == MPI_SUCCESS) return Status();
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(result, words, &length);
  return UnavailableError(absl::StrCat("MPI, ", what, ": ", std::string(words, static_cast<std::size_t>(length))));
}

}  // namespace

MpiPost::~MpiPost() {
  int is_over = 0;
  MPI_Finalized(&is_over);
  if (is_over != 0) return;
  for (std::list<Piece>* pieces : {&going_, &arriving_}) {
    for (Piece& piece : *pieces) {
      int is_done = 0;
      if (MPI_Test(&piece.request, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done != 0) continue;
      // MPI still reads or writes the bytes until a rank that hangs continues, so they are never freed.
      static auto* const abandoned = new std::list<Piece>;
      abandoned->push_back(std::move(piece));
    }
  }
}

Status MpiPost::Send(int to, std::string_view message) {
  ++sent_;
  std::size_t begin = 0;
  do {
    const PieceHeader header{kMark, attempt_, sent_, message.size(), begin};
    std::string piece(sizeof(header), '\0');
    std::memcpy(&piece[0], &header, sizeof(header));
    piece.append(message.substr(begin, kPieceBytes));
    TUNEONCE_RETURN_IF_ERROR(SendPiece(to, std::move(piece)));
    begin += kPieceBytes;
  } while (begin < message.size());
  return Status();
}

Status MpiPost::SendPiece(int to, std::string bytes) {
  going_.emplace_back();
  Piece& piece = going_.back();
  piece.bytes = std::move(bytes);
  return StatusOf(MPI_Isend(piece.bytes.data(), static_cast<int>(piece.bytes.size()), MPI_BYTE, to, tag_, communicator_,
                            &piece.request),
                  "sending");
}

Status MpiPost::Probe() {
  for (;;) {
    int is_there = 0;
    MPI_Message matched = MPI_MESSAGE_NULL;
    MPI_Status about;
    TUNEONCE_RETURN_IF_ERROR(
        StatusOf(MPI_Improbe(MPI_ANY_SOURCE, tag_, communicator_, &is_there, &matched, &about), "looking"));
    if (is_there == 0) return Status();
    int size = 0;
    MPI_Get_count(&about, MPI_BYTE, &size);
    arriving_.emplace_back();
    Piece& piece = arriving_.back();
    piece.from = about.MPI_SOURCE;
    piece.bytes.resize(static_cast<std::size_t>(std::max(size, 0)));
    TUNEONCE_RETURN_IF_ERROR(
        StatusOf(MPI_Imrecv(&piece.bytes[0], size, MPI_BYTE, &matched, &piece.request), "receiving"));
  }
}

Status MpiPost::Receive(const std::function<void(int from, const std::string& message)>& take) {
  TUNEONCE_RETURN_IF_ERROR(Probe());
  std::vector<bool> waits(1);  // By sender: whether an earlier piece has not arrived yet.
  for (auto piece = arriving_.begin(); piece != arriving_.end();) {
    const auto from = static_cast<std::size_t>(piece->from);
    if (from >= waits.size()) waits.resize(from + 1);
    int is_done = 0;
    if (!waits[from]) {
      TUNEONCE_RETURN_IF_ERROR(StatusOf(MPI_Test(&piece->request, &is_done, MPI_STATUS_IGNORE), "receiving"));
    }
    if (is_done == 0) {
      waits[from] = true;
      ++piece;
      continue;
    }
    Take(*piece, take);
    piece = arriving_.erase(piece);
  }
  for (auto piece = going_.begin(); piece != going_.end();) {
    int is_done = 0;
    TUNEONCE_RETURN_IF_ERROR(StatusOf(MPI_Test(&piece->request, &is_done, MPI_STATUS_IGNORE), "sending"));
    piece = is_done != 0 ? going_.erase(piece) : std::next(piece);
  }
  return Status();
}

void MpiPost::Take(const Piece& piece, const std::function<void(int from, const std::string& message)>& take) {
  PieceHeader header;
  if (piece.bytes.size() < sizeof(header)) return;
  std::memcpy(&header, piece.bytes.data(), sizeof(header));
  if (header.mark != kMark || header.attempt != attempt_ || header.total > kMostBytes) return;
  Coming& coming = coming_[piece.from];
  if (header.begin == 0) coming = {header.number, ""};
  if (coming.number != header.number || coming.bytes.size() != header.begin) return;
  coming.bytes.append(piece.bytes, sizeof(header));
  if (coming.bytes.size() > header.total) {
    coming.bytes.clear();
    return;
  }
  if (coming.bytes.size() == header.total) take(piece.from, std::exchange(coming.bytes, ""));
}

}  // namespace v0
}  // namespace tuneonce
