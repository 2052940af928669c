#ifndef TUNEONCE_API_H_
#define TUNEONCE_API_H_

/// Marks what a shared libtuneonce exports (TUNEONCE_SHARED comes with its CMake target). A static one exports nothing,
/// so that several things that each hold a tuneonce, plugins say, can be in one process: compile them with
/// -fvisibility=hidden.
#ifdef TUNEONCE_SHARED
#define TUNEONCE_API [[gnu::visibility("default")]]
#else
#define TUNEONCE_API
#endif

#endif  // TUNEONCE_API_H_
