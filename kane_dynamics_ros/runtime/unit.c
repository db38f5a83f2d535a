/* Some functions of a generated module as a library that extension.c calls. Of those that they call in other libraries
   the command line makes pointers: -DNAME_gravity=(*NAME_gravity_elsewhere) turns each declaration and each call. */
#include KD_SOURCE
#include "wrappers.h"
