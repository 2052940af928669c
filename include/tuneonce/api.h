#ifndef TUNEONCE_API_H_
#define TUNEONCE_API_H_

/// Marks what a shared libtuneonce exports. The CMake target of the shared library defines TUNEONCE_SHARED. A static
/// libtuneonce exports nothing, so that one process can load several plugins that each contain a copy: compile those
/// with -fvisibility=hidden.
#ifdef TUNEONCE_SHARED
#define TUNEONCE_API [[gnu::visibility("default")]]
#else
#define TUNEONCE_API
#endif

#endif  // TUNEONCE_API_H_
