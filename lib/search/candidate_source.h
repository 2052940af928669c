#ifndef TUNEONCE_LIB_SEARCH_CANDIDATE_SOURCE_H_
#define TUNEONCE_LIB_SEARCH_CANDIDATE_SOURCE_H_

#include <cstddef>
#include <vector>

namespace tuneonce {
inline namespace v0 {

/// Which of the planned candidates a search takes, where it takes a part of them. Used on the searching thread.
class CandidateSource {
 public:
  virtual ~CandidateSource() = default;

  /// Places of those that are compiled next, none twice; empty: there are no more. Asked once more while those of
  /// before are compiled and tried, so that compilers have work.
  virtual std::vector<std::size_t> Next() = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_CANDIDATE_SOURCE_H_
