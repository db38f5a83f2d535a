// Counts the allocations of the whole program, libraries and all threads included.

#ifndef ALLOCATIONS_HPP
#define ALLOCATIONS_HPP

long allocations();

#endif
