#ifndef TUNEONCE_COMPONENTS_MPI_MPI_POST_H_
#define TUNEONCE_COMPONENTS_MPI_MPI_POST_H_

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Sends messages of any length to ranks and delivers received ones without ever waiting. It splits them into pieces
/// that are so small that MPI sends each at once, whatever sender and receiver do then. Messages of one sender arrive
/// whole and in order. Invalid messages, and those of an earlier attempt, are dropped. Thread rule: one thread at a
/// time.
class MpiPost {
 public:
  MpiPost(MPI_Comm communicator, int tag, std::uint64_t attempt)
      : communicator_(communicator), tag_(tag), attempt_(attempt) {}
  ~MpiPost();
  MpiPost(const MpiPost&) = delete;
  MpiPost& operator=(const MpiPost&) = delete;

  Status Send(int to, std::string_view message);
  /// Calls `take` for each message that has arrived completely, and frees what was sent.
  Status Receive(const std::function<void(int from, const std::string& message)>& take);

 private:
  struct Piece {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
    int from = 0;
  };
  struct Coming {
    std::uint64_t number = 0;  // Number of the message whose pieces are arriving.
    std::string bytes;
  };

  Status SendPiece(int to, std::string bytes);
  Status Probe();
  void Take(const Piece& piece, const std::function<void(int from, const std::string& message)>& take);

  const MPI_Comm communicator_;
  const int tag_;
  const std::uint64_t attempt_;
  std::uint64_t sent_ = 0;        // Messages.
  std::list<Piece> going_;        // Until MPI has let go of their bytes.
  std::list<Piece> arriving_;     // In the order in which they were matched.
  std::map<int, Coming> coming_;  // By sender.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPONENTS_MPI_MPI_POST_H_
